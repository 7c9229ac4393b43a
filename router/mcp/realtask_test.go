package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/state"
)

// newRealTasks is a real server with tasks of the earlier era, and with tools that
// ask: with a request of their own in the earlier era, with a result that is none
// in the later one. stop ends what hangs.
func newRealTasks(stop <-chan struct{}) *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("real", "1", mcpserver.WithTaskCapabilities(true, true, true), mcpserver.WithToolCapabilities(true), mcpserver.WithElicitation())
	slow := protocol.NewToolWithRawSchema("slow", "", json.RawMessage(`{"type":"object"}`))
	slow.Execution = &protocol.ToolExecution{TaskSupport: protocol.TaskSupportRequired}
	s.AddTaskTool(slow, func(_ context.Context, r protocol.CallToolRequest) (*protocol.CreateTaskResult, error) {
		// Its context ends with the request that began the task, so that it is of no use.
		switch r.GetArguments()["how"] {
		case "fails":
			return nil, fmt.Errorf("out of ideas")
		case "hangs":
			<-stop
			return nil, fmt.Errorf("stopped")
		}
		<-time.After(300 * time.Millisecond)
		return &protocol.CreateTaskResult{Content: []protocol.Content{protocol.NewTextContent("slowly done")}}, nil
	})
	asks := protocol.NewToolWithRawSchema("asks", "", json.RawMessage(`{"type":"object"}`))
	form := protocol.ElicitationParams{Message: "Where to?", RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{"to": map[string]any{"type": "string"}}}}
	s.AddTool(asks, func(ctx context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		if r.Params.InputResponses == nil { // for the earlier era the server asks by itself
			return mcpserver.NewInputRequestBuilder("s-1").Elicit("where", form).ToolResult(), nil
		}
		answer := r.Params.InputResponses["where"]
		if err := answer.DecodeFor(protocol.MethodElicitationCreate); err != nil {
			return nil, err
		}
		return protocol.NewToolResultText(fmt.Sprint(r.Params.RequestState, " ", answer.Elicitation.Action, " ", answer.Elicitation.Content)), nil
	})
	return s
}

// eachRealTasks runs a test over both transports in one era.
func eachRealTasks(t *testing.T, modern bool, test func(t *testing.T, s *router.Server)) {
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		test(t, stdioServer(t, map[bool]string{true: "real tasks, modern", false: "real tasks, legacy"}[modern]))
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		stop := make(chan struct{})
		t.Cleanup(func() { close(stop) })
		var h http.Handler = mcpserver.NewStreamableHTTPServer(newRealTasks(stop))
		if !modern {
			h = legacyOnly(h)
		}
		s, _ := raw(t, h)
		test(t, s)
	})
}

func serveRealTasks(modern bool) int {
	in := io.Reader(os.Stdin)
	if !modern {
		in = withoutDiscover(in, os.Stdout)
	}
	if err := mcpserver.NewStdioServer(newRealTasks(nil)).Listen(context.Background(), in, os.Stdout); err != nil && err != io.EOF {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestATaskOfARealServerOfTheEarlierEra(t *testing.T) {
	eachRealTasks(t, false, func(t *testing.T, s *router.Server) {
		c := newClient(t, nil)
		recorded := make(chan state.RemoteTask, 1)
		slow := long(recorded)
		slow.Tool = "slow"
		task, over := begin(t.Context(), t, c, s, slow, recorded)
		if task.ID == "" || task.TTL == 0 {
			t.Errorf("recorded as %+v", task)
		}
		if r, err := wait(t, over); err != nil || r.Text != "slowly done" {
			t.Errorf("%+v, %v", r, err)
		}
		slow.Attach = &task // it has ended, and the server still knows how
		if r, err := c.Call(t.Context(), s, slow); err != nil || r.Text != "slowly done" {
			t.Errorf("attached: %+v, %v", r, err)
		}
		slow.Attach, slow.Arguments = nil, map[string]any{"how": "fails"}
		_, err := c.Call(t.Context(), s, slow)
		if e := callError(t, err); e.Code != router.ServerError || e.Execution != state.Unknown || !strings.Contains(e.Message, "out of ideas") {
			t.Errorf("%v %s", e, e.Execution)
		}
		<-recorded
		slow.Arguments, slow.Max = map[string]any{"how": "hangs"}, 500*time.Millisecond
		_, err = c.Call(t.Context(), s, slow)
		if e := callError(t, err); e.Code != router.Timeout || e.Clock != "maximum" {
			t.Errorf("%v, clock %s", e, e.Clock)
		}
		hung := <-recorded
		slow.Attach, slow.Max = &hung, within
		_, err = c.Call(t.Context(), s, slow) // until the server has heard the cancel
		if e := callError(t, err); e.Code != router.ServerError || e.Execution != state.Unknown {
			t.Errorf("the hung task: %v %s", e, e.Execution)
		}
	})
}

func TestAQuestionOfARealServer(t *testing.T) {
	t.Run("modern", func(t *testing.T) {
		eachRealTasks(t, true, func(t *testing.T, s *router.Server) {
			c := newClient(t, nil)
			ask := call("asks", nil)
			ask.MayAsk = true
			r, err := c.Call(t.Context(), s, ask)
			if err != nil || r.Input == nil || r.Input.Requests["where"] == nil || r.Input.State == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			ask.Input = &router.InputAnswers{State: r.Input.State, Responses: map[string]json.RawMessage{
				"where": json.RawMessage(`{"action":"accept","content":{"to":"Rome"}}`)}}
			if r, err = c.Call(t.Context(), s, ask); err != nil || r.Text != "s-1 accept map[to:Rome]" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	})
	t.Run("legacy", func(t *testing.T) {
		eachRealTasks(t, false, func(t *testing.T, s *router.Server) {
			c := newClient(t, asking())
			ask := call("asks", nil)
			ask.Ask = accepts(`{"to":"Rome"}`)
			if r, err := c.Call(t.Context(), s, ask); err != nil || r.Text != "s-1 accept map[to:Rome]" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	})
}
