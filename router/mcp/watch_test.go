package mcp

import (
	"strings"
	"testing"
)

func TestTheEventThatHoldsTheAnswerIsFoundWhateverTheStreamIsCutInto(t *testing.T) {
	t.Parallel()
	const (
		notice  = `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"id":7,"result":1}}` + "\n\n"
		request = `data: {"id":"a","jsonrpc":"2.0","params":{"x":"\"}{"},"method":"ping"}` + "\n\n"
		late    = `data: {"result":{"method":"x","list":[{"method":1},"method"]},"jsonrpc":"2.0","id":7}` + "\n\n"
	)
	for name, c := range map[string]struct{ before, answer string }{
		"alone":                      {"", `data: {"jsonrpc":"2.0","id":7,"result":{}}` + "\n\n"},
		"with its id last":           {notice, late},
		"an error":                   {request, `data: {"id":7,"error":{"code":-1,"message":"method"}}` + "\n\n"},
		"after others":               {notice + ": a comment\n\n" + request + "event: message\nretry: 5\n\n", late},
		"in lines of its own":        {request, "event: message\r\nid: 3\r\ndata: {\"id\":7,\r\ndata: \"result\":{}}\r\n\r\n"},
		"under another name":         {notice, `data: {"ID":7,"result":{}}` + "\n\n"},
		"under a name in disguise":   {notice, `data: {"\u0069d":7,"result":{}}` + "\n\n"},
		"with a method in disguise":  {notice, `data: {"id":7,"result":{},"meth\u006fd":1}` + "\n\n"},
		"where id has no member":     {`data: {"jsonrpc":"2.0","result":{"id":7}}` + "\n\n", late},
		"after a list":               {`data: [{"id":7}]` + "\n\n", late},
		"with quotes and backslash":  {`data: {"method":"\\\"","id":7}` + "\n\n", `data: {"id":7,"result":"\\"}` + "\n\n"},
		"half of it":                 {notice, `data: {"jsonrpc":"2.0","id":7,"result":{"conte` + "\n\n"},
		"after data that is no JSON": {"data: }}]]\"\n\n", late},
	} {
		stream := c.before + c.answer + late + late
		want := len(c.before) + len(c.answer)
		for size := 1; size <= len(stream); size++ {
			var w watch
			got := -1
			for at := 0; at < len(stream) && got < 0; at += size {
				if n := w.answer([]byte(stream[at:min(at+size, len(stream))])); n >= 0 {
					got = at + n
				}
			}
			if got != want {
				t.Fatalf("%s, in pieces of %d: the answer ends at %d, want %d", name, size, got, want)
			}
		}
	}
}

func TestAStreamWithoutAnAnswerHasNone(t *testing.T) {
	t.Parallel()
	var w watch
	if n := w.answer([]byte(strings.Repeat("data: {\"method\":\"x\"}\n\n: {\"id\":1}\n\ndatax: {\"id\":1}\n\n", 100))); n >= 0 {
		t.Errorf("found at %d", n)
	}
}
