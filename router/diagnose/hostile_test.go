package diagnose

import (
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzAnswer reads what a server may answer, whole and as a stream of events.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "{", `{"jsonrpc":"2.0","id":1,"result":{}}`, "data: {\"id\":1,\"result\":1}\n\n", "data:\n\ndata: x\ndata: y\n\n",
		":\n\nid: 1\nretry: 5\ndata: {\"method\":\"m\"}\r\n\r\n", "\ufeffdata: [1,2]\n\n", "<html>", "null", "[]", "1", `{"id":1,"error":{"code":"x"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(*reply){
			func(r *reply) { r.readWhole(strings.NewReader(text)) },
			func(r *reply) { r.readEvents(strings.NewReader(text)) },
			func(r *reply) { r.readEvents(iotest.TimeoutReader(strings.NewReader(text))) },
			func(r *reply) { r.readWhole(iotest.DataErrReader(strings.NewReader(text))) },
		} {
			r := &reply{id: "1", status: http.StatusOK}
			read(r)
			if r.message == nil && r.why == "" && r.err == nil {
				t.Errorf("neither an answer nor why there is none: %q", text)
			}
			if r.message != nil && r.message.Error == nil && len(r.message.Result) == 0 {
				t.Errorf("an answer without a result: %q", text)
			}
		}
	})
}

// FuzzToken reads what may be a JWT.
func FuzzToken(f *testing.F) {
	for _, seed := range []string{"", "a.b.c", "..", "e30.e30.e30", "e30.eyJleHAiOjFlOTl9.x", "e30.eyJleHAiOiJ4In0.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if _, to, ok := validity(token); !ok && !to.IsZero() {
			t.Errorf("%q is no token, and ends at %v", token, to)
		}
	})
}
