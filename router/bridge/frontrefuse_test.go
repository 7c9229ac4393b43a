package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"junction/router/bridge"
	"junction/router/mcp"
)

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	t.Parallel()
	const prefix = `{"jsonrpc":"2.0",`
	for name, test := range map[string]struct{ line, id, code, says string }{
		"no JSON":               {`{"jsonrpc":`, `null`, `-32700`, "no JSON"},
		"text of a log":         {`hello`, `null`, `-32700`, "no JSON"},
		"too deep":              {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), `null`, `-32700`, "10,000"},
		"a batch":               {`[` + prefix + `"id":1,"method":"ping"}]`, `null`, `-32600`, "batches are not part of the protocol"},
		"an empty batch":        {`[]`, `null`, `-32600`, "batches are not part of the protocol"},
		"a number":              {`17`, `null`, `-32600`, "no message"},
		"null":                  {`null`, `null`, `-32600`, "no message"},
		"an empty object":       {`{}`, `null`, `-32600`, "neither"},
		"an id alone":           {prefix + `"id":7}`, `7`, `-32600`, "neither"},
		"null for an id":        {prefix + `"id":null,"method":"ping"}`, `null`, `-32600`, "id must be"},
		"an object for an id":   {prefix + `"id":{"a":1},"method":"ping"}`, `null`, `-32600`, "id must be"},
		"true for an id":        {prefix + `"id":true,"method":"ping"}`, `null`, `-32600`, "id must be"},
		"an endless id":         {prefix + `"id":"` + strings.Repeat("a", 5000) + `","method":"ping"}`, `null`, `-32600`, "id must be"},
		"two ids":               {prefix + `"id":1,"id":2,"method":"ping"}`, `null`, `-32600`, "twice"},
		"no version":            {`{"id":7,"method":"ping"}`, `7`, `-32600`, "jsonrpc"},
		"version 1":             {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `7`, `-32600`, "jsonrpc"},
		"a number for a method": {prefix + `"id":7,"method":3}`, `7`, `-32600`, "method"},
		"no name for a method":  {prefix + `"id":7,"method":""}`, `7`, `-32600`, "method"},
		"request and answer":    {prefix + `"id":7,"method":"ping","result":{}}`, `7`, `-32600`, "at once"},
		"a list of parameters":  {prefix + `"id":7,"method":"ping","params":[1]}`, `7`, `-32602`, "object"},
		"no UTF-8":              {prefix + `"id":7,"method":"ping","params":{"a":"` + "\xff" + `"}}`, `7`, `-32600`, "UTF-8"},
		"no UTF-8 in its id":    {prefix + `"id":"` + "\xff" + `","method":"ping"}`, `null`, `-32600`, "id must be"},
		"too long":              {prefix + `"id":7,"method":"ping","params":{"a":"` + strings.Repeat("a", 70_000) + `"}}`, `7`, `-32600`, "skipped"},
		"too long, id at the end": {`{"params":{"a":"` + strings.Repeat("a", 70_000) + `"},"method":"ping","jsonrpc":"2.0","id":"seven"}`,
			`"seven"`, `-32600`, "skipped"},
		"too long, id in the middle": {`{"params":{"a":"` + strings.Repeat("a", 70_000) + `"},"id":7,"x":"` + strings.Repeat("a", 3000) + `"}`,
			`null`, `-32600`, "skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, frontHandler{}, &bridge.FrontOptions{MaxMessage: 64 << 10})
			p.send(test.line + "\n")
			line := p.line()
			var got struct {
				ID    json.RawMessage
				Error struct {
					Code    json.RawMessage
					Message string
				}
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err)
			}
			if string(got.ID) != test.id || string(got.Error.Code) != test.code || !strings.Contains(got.Error.Message, test.says) {
				t.Error(line)
			}
			p.send(prefix + `"id":8,"method":"ping"}` + "\n") // and it goes on
			p.expect(prefix + `"id":8,"result":{}}`)
		})
	}
}

func TestWhatCanBeUnderstoodIsTaken(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"plain":             `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
		"CR LF":             `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r\n",
		"blank lines":       "\n\r\n  \n\t\r\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
		"space all over":    "\t{ \"id\" :\t1 , \"jsonrpc\" : \"2.0\"\r, \"method\" : \"ping\" } \n",
		"escapes in names":  `{"jsonrpc":"2.0","\u0069d":1,"meth\u006fd":"p\u0069ng"}` + "\n",
		"null parameters":   `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}` + "\n",
		"members of others": `{"jsonrpc":"2.0","ID":2,"x":{"id":[3,"}\\\""]},"id":1,"method":"ping"}` + "\n",
		"a byte order mark": "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			methods := make(chan string, 1)
			p := newPeer(t, frontHandler{begin: func(_ context.Context, method string, params json.RawMessage) func() mcp.Reply {
				if params != nil {
					t.Errorf("parameters %s, though there are none", params)
				}
				methods <- method
				return result(`{}`)
			}}, nil)
			p.send(line)
			p.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			if method := <-methods; method != "ping" {
				t.Error(method)
			}
		})
	}
}
