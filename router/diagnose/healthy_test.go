package diagnose_test

import (
	"net/http"
	"testing"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router/diagnose"
	"junction/router/diagnose/debug"
	"junction/router/mcp/sse"
)

func TestAHealthyServerPassesAllLayers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		handler http.Handler
		want    string
	}{
		{"with the wrapper", sse.Handler(debug.Handler(mcpserver.NewStreamableHTTPServer(reviewer())), nil), "ppppppp"},
		{"with the wrapper, in the earlier era", debug.Handler(&scripted{legacy: true}), "ppppppp"},
		{"of a library that has no wrapper", mcpserver.NewStreamableHTTPServer(reviewer()), "ppppppm"},
		{"scripted", &scripted{}, "ppppppm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := diagnosed(t, at(serve(t, tt.handler)), nil)
			has(t, r, tt.want)
			if r.Status != diagnose.Passed || r.Failed != 0 {
				t.Errorf("%s, layer %d", r.Status, r.Failed)
			}
			if r.TookMS > 3000 {
				t.Errorf("it took %g ms", r.TookMS)
			}
			t.Logf("%g ms", r.TookMS)
		})
	}
}

func TestASessionThatWasBegunIsEnded(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}, 100), make(chan struct{}, 100)
	s := &scripted{legacy: true, first: func(_ http.ResponseWriter, r *http.Request, method string) bool {
		switch {
		case method == "initialize":
			begun <- struct{}{}
		case r.Method == http.MethodDelete && r.Header.Get("Mcp-Session-Id") == "hunter-session":
			ended <- struct{}{}
		}
		return false
	}}
	diagnosed(t, at(serve(t, s)), nil)
	if len(begun) == 0 || len(begun) != len(ended) {
		t.Errorf("%d begun, %d ended", len(begun), len(ended))
	}
}
