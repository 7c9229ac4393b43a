package diagnose_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router/diagnose"
	"junction/router/diagnose/debug"
	"junction/router/mcp/sse"
	"junction/router/mcp/sse/nginxtest"
)

// behind is the URL of a server behind an nginx with directives.
func behind(t *testing.T, h http.Handler, directives string) string {
	t.Helper()
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	return nginxtest.Start(t, ts.URL, directives) + "/mcp"
}

func TestAnNginxThatBuffersIsAMiddlebox(t *testing.T) {
	t.Parallel()
	plain := debug.Handler(mcpserver.NewStreamableHTTPServer(reviewer()))
	r := diagnosed(t, at(behind(t, plain, "proxy_buffering on;")), nil)
	blames(t, r, diagnose.Middleboxes, "event streams are held back", "proxy_buffering off;")
	has(t, r, "ppppppf")
}

func TestAnNginxThatObeysTheServersHeaderPasses(t *testing.T) {
	t.Parallel()
	helped := sse.Handler(debug.Handler(mcpserver.NewStreamableHTTPServer(reviewer())), nil)
	has(t, diagnosed(t, at(behind(t, helped, "proxy_buffering on;")), nil), "ppppppp")
}

func TestAnNginxThatRemovesHeadersIsAMiddlebox(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		legacy     bool
		directives string
		says       []string
		want       string
	}{
		{"ours", false, `proxy_set_header X-MCP-Debug ""; proxy_set_header X-MCP-Timeout-Seconds "";`,
			[]string{"headers are removed on the way: X-Mcp-Debug, X-Mcp-Timeout-Seconds"}, "ppppppf"},
		{"those that the server needs", false, `proxy_set_header Mcp-Method ""; proxy_set_header Mcp-Name "";`,
			[]string{"headers are removed on the way: Mcp-Method, Mcp-Name"}, "pprprrf"},
		{"the session's", true, `proxy_set_header Mcp-Session-Id "";`,
			[]string{"headers are removed on the way: Mcp-Session-Id"}, "pprprrf"},
		{"one that says another thing", false, `proxy_set_header X-MCP-Timeout-Seconds "1";`,
			[]string{"headers are changed on the way: X-Mcp-Timeout-Seconds"}, "ppppppf"},
		{"of answers", false, `proxy_hide_header X-MCP-Debug-Arrived;`,
			[]string{"removed on the way back"}, "ppppppf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var inner http.Handler = mcpserver.NewStreamableHTTPServer(reviewer())
			if tt.legacy {
				inner = &scripted{legacy: true, first: func(w http.ResponseWriter, r *http.Request, method string) bool {
					if r.Header.Get("Mcp-Session-Id") != "" || method == "initialize" || method == "server/discover" {
						return false
					}
					http.Error(w, "no session", http.StatusBadRequest)
					return true
				}}
			}
			r := diagnosed(t, at(behind(t, sse.Handler(debug.Handler(inner), nil), tt.directives)), nil)
			blames(t, r, diagnose.Middleboxes, tt.says...)
			has(t, r, tt.want)
		})
	}
}

func TestAQuietStreamThatIsCutIsAMiddleboxs(t *testing.T) {
	t.Parallel()
	h := debug.Handler(&scripted{})
	r := diagnosed(t, at(behind(t, h, "proxy_buffering off; proxy_read_timeout 1s;")), &diagnose.Options{Idle: 4 * time.Second})
	blames(t, r, diagnose.Middleboxes, "a quiet stream is cut after", "4s was asked for", "proxy_read_timeout")
	r = diagnosed(t, at(behind(t, h, "proxy_buffering off;")), &diagnose.Options{Idle: time.Second})
	if l := r.Layer(diagnose.Middleboxes); l.Status != diagnose.Passed || !strings.Contains(l.Saw, "quiet for 1s") {
		t.Errorf("%+v", l)
	}
}

func TestAServerThatKnowsTheHeaderAloneTellsOfHeaders(t *testing.T) {
	t.Parallel()
	h := &scripted{first: func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Header.Get("X-MCP-Debug") != "" {
			w.Header().Set("X-MCP-Debug-Arrived", "mcp-method, mcp-name, mcp-param-probe, mcp-protocol-version, x-mcp-debug")
		}
		return false
	}}
	r := diagnosed(t, at(serve(t, h)), nil)
	blames(t, r, diagnose.Middleboxes, "headers are removed on the way: X-Mcp-Timeout-Seconds")
}
