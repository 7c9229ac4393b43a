package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// doubling is a schema of a few lines that asks for 2^60 evaluations.
func doubling() string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	b.WriteString(`"d60":{"type":"object"}},"$ref":"#/$defs/d0"}`)
	return b.String()
}

func TestASchemaThatMultipliesEndsItsOwnCallOnly(t *testing.T) {
	for name, c := range map[string]struct {
		tools     string
		code      router.Code
		execution state.Execution
	}{
		"of the arguments": {`{"tools":[{"name":"echo","inputSchema":` + doubling() + `}]}`, router.CapabilityMismatch, state.NotExecuted},
		"of the answer":    {`{"tools":[{"name":"echo","inputSchema":{"type":"object"},"outputSchema":` + doubling() + `}]}`, router.OutputInvalid, state.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := raw(t, &scripted{tools: c.tools, call: status(200, `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{}}}`)})
			begun := time.Now()
			_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
			if e := callError(t, err); e.Code != c.code || e.Execution != c.execution || !strings.Contains(e.Message, "multiply") {
				t.Errorf("%v, %s", e, e.Execution)
			}
			if d := time.Since(begun); d > 10*time.Second {
				t.Errorf("it took %s", d)
			}
		})
	}
}

func TestAToolListIsBoundedOverAllOfItsPages(t *testing.T) {
	pages := 0
	page := strings.Repeat(`{"name":"x","inputSchema":{"type":"object"}},`, 1000)
	h := &scripted{}
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages++
		h.mu.Lock()
		h.tools = fmt.Sprintf(`{"tools":[%s{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, page, pages)
		h.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	_, err := newClient(t, &mcp.Options{MaxResponseBytes: 1 << 20}).Describe(t.Context(), s)
	if e := callError(t, err); e.Code != router.OutputInvalid || !strings.Contains(e.Message, "larger than allowed") || pages > 40 {
		t.Errorf("%v after %d requests", e, pages)
	}
}

func TestAToolWhoseNameCannotBeShownIsLeftOut(t *testing.T) {
	s, _ := raw(t, &scripted{tools: `{"tools":[{"name":"\u001b[2Jecho"},{"name":"two\nlines"},{"name":"\u202eohce"},{"name":"` +
		strings.Repeat("x", 1000) + `"},{"name":"echo","inputSchema":{"type":"object"}},{"name":"café.Δ"}]}`})
	d, err := newClient(t, nil).Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Tools) != 2 || d.Tools[0].Name != "café.Δ" || d.Tools[1].Name != "echo" {
		t.Errorf("%+v", d.Tools)
	}
}
