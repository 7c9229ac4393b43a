package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"junction/router/bridge"
	"junction/router/mcp"
)

// FuzzFront: whatever comes in, what leaves are messages, a line each, and no request
// has more answers than there are requests of its id.
func FuzzFront(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"a","method":"x","params":{"a":[1,{"b":"\\\""}]}}` + "\r\n\r\n[]\n[{}]\nnull\n1",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n{",
		`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"id":1,"error":{}}`,
		`{"jsonrpc":"2.0","\u0069d":1.0,"m\u0065thod":"x\n","id":2}` + "\n" + `{"":"","":""}`,
		"\ufeff{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"\xff\"}\n\x00\n",
		`{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"` + strings.Repeat("a", 600) + `"}}`,
		`{"params":{"a":"` + strings.Repeat("a", 600) + `"},"id":"\"7"}`,
		`{"jsonrpc" : "2.0" , "id" : -1e+2 , "method" : "" , "params" : null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		asked := map[string]int{}
		var out bytes.Buffer
		h := frontHandler{begin: func(ctx context.Context, method string, params json.RawMessage) func() mcp.Reply {
			if method == "" || params != nil && (!json.Valid(params) || params[0] != '{') {
				t.Errorf("%q %q", method, params)
			}
			asked[string(bridge.RequestID(ctx))]++
			return func() mcp.Reply { return mcp.Reply{Result: json.RawMessage("{\n\"ok\":true}")} }
		}, notified: func(n mcp.Notification) {
			if n.Method == "" || n.Params != nil && !json.Valid(n.Params) {
				t.Errorf("%q %q", n.Method, n.Params)
			}
		}}
		if err := bridge.NewFront(bytes.NewReader(in), &out, h, &bridge.FrontOptions{MaxMessage: 512}).Serve(context.Background()); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(out.String(), "\n")
		if lines[len(lines)-1] != "" {
			t.Fatalf("%q ends within a line", out.String())
		}
		if len(lines) > bytes.Count(in, []byte("\n"))+2 {
			t.Fatalf("%d lines for %d", len(lines), bytes.Count(in, []byte("\n")))
		}
		for _, line := range lines[:len(lines)-1] {
			var m struct {
				JSONRPC string
				ID      json.RawMessage
				Result  json.RawMessage
				Error   *mcp.RPCError
			}
			d := json.NewDecoder(strings.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(&m); err != nil || m.JSONRPC != "2.0" || m.ID == nil || (m.Result == nil) == (m.Error == nil) {
				t.Fatalf("%q: %v", line, err)
			}
			if m.Result != nil {
				asked[string(m.ID)]--
			}
			if asked[string(m.ID)] < 0 {
				t.Fatalf("%s is answered more than once", m.ID)
			}
		}
	})
}
