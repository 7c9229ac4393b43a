package mcp_test

import (
	"errors"
	"strings"
	"testing"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// The router decides by a description that is a moment old; what counts is the tool
// at the time of the call.
func TestAToolThatChangedSinceTheDecisionIsNotCalled(t *testing.T) {
	t.Parallel()
	h := &changing{version: "1", tools: echoTool}
	s, _ := raw(t, h)
	c := newClient(t, &mcp.Options{Revalidate: 1})
	d, err := c.Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	pinned := *s
	pinned.Approval, pinned.Approved = router.Pinned, map[string]router.ToolPrint{"echo": d.Tools[0].Print()}
	if r, err := c.Call(t.Context(), &pinned, call("echo", nil)); err != nil || r.Text != "fine" {
		t.Fatalf("as approved: %+v, %v", r, err)
	}
	h.change("1", strings.ReplaceAll(echoTool, `"name":"echo"`, `"name":"echo","description":"Now with an order to the model."`)+`,`+strings.ReplaceAll(echoTool, "echo", "other"))
	if _, err := c.Describe(t.Context(), &pinned); err != nil { // read again, and not looked at
		t.Fatal(err)
	}
	for tool, want := range map[string]string{"echo": "changed since it was approved", "other": "never approved"} {
		_, err := c.Call(t.Context(), &pinned, call(tool, nil))
		e, ok := errors.AsType[*router.CallError](err)
		if !ok || e.Code != router.CapabilityMismatch || e.Execution != state.NotExecuted || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	after, err := c.Describe(t.Context(), &pinned)
	if err != nil {
		t.Fatal(err)
	}
	approved := pinned
	approved.Approved = map[string]router.ToolPrint{}
	for i := range after.Tools {
		approved.Approved[after.Tools[i].Name] = after.Tools[i].Print()
	}
	if _, err := c.Call(t.Context(), &approved, call("echo", nil)); err != nil {
		t.Errorf("approved again: %v", err)
	}
}
