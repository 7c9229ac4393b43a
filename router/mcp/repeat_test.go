package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestAServerThatRepeatsItsTokenGivesNoneOfItAway(t *testing.T) {
	const token = "hunter2hunter2hunter2"
	long := strings.Repeat("x", 290) + token
	for name, reply := range map[string]func(http.ResponseWriter, *http.Request, string){
		"in an error's message": status(200, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"`+long+`","data":{"`+token+`":"`+token+`"}}}`),
		"in a refusal":          status(500, long),
		"escaped in a refusal":  status(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"`+strings.ReplaceAll(long, "h", "\\u0068")+`"}}`),
		"in a header":           status(503, "no", "X-MCP-Error-Details", long),
		"as a result's type":    status(200, `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"`+long+`"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := raw(t, &scripted{call: reply})
			s.Dial.Headers = map[string]string{"Authorization": "Bearer " + token}
			_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
			e := callError(t, err)
			if shown := fmt.Sprintf("%v %+v", err, *e); strings.Contains(shown, token[:5]) {
				t.Errorf("%s", shown)
			}
		})
	}
	t.Run("in its progress", func(t *testing.T) {
		s, _ := raw(t, &scripted{call: func(w http.ResponseWriter, r *http.Request, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1,\"message\":%q}}\n\n", id, long)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, fine)
		}})
		s.Dial.Headers = map[string]string{"Authorization": "Bearer " + token}
		var mu sync.Mutex
		var told []string
		c := call("echo", nil)
		c.Progress = func(_, _ float64, message string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, message)
		}
		if _, err := newClient(t, nil).Call(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || strings.Contains(told[0], token[:5]) {
			t.Errorf("told %q", told)
		}
	})
	t.Run("at the end of a long line of stderr", func(t *testing.T) {
		s := stdioServer(t, "says a long line")
		s.Dial.Env["API_TOKEN"] = token
		_, err := newClient(t, nil).Describe(t.Context(), s)
		e := callError(t, err)
		if shown := fmt.Sprint(e.Stderr); len(e.Stderr) == 0 || strings.Contains(shown, token[:5]) {
			t.Errorf("%q", shown)
		}
	})
}
