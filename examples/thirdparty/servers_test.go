package thirdparty_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestToolsOfServersByOthersAreListed(t *testing.T) {
	installed(t)
	config, c := servers(t, overHTTP(t)), client(t)
	for _, want := range []struct {
		server, name string
		tools        []string
		output       bool // the last tool declares an output schema
	}{
		{"eslint", "ESLint", []string{"lint-files"}, false},
		{"files", "secure-filesystem-server", []string{"write_file", "read_text_file"}, true},
		{"everything", "mcp-servers/everything", []string{"echo", "get-structured-content"}, true},
		{"everything-http", "mcp-servers/everything", []string{"echo", "get-structured-content"}, true},
	} {
		t.Run(want.server, func(t *testing.T) {
			d, err := c.Describe(t.Context(), named(t, config, want.server))
			if err != nil {
				t.Fatal(err)
			}
			if d.Name != want.name || d.Modern || d.ProtocolVersion != "2025-11-25" {
				t.Errorf("%s speaks %s (modern %v)", d.Name, d.ProtocolVersion, d.Modern)
			}
			for i, tool := range want.tools {
				at := slices.IndexFunc(d.Tools, func(have router.Tool) bool { return have.Name == tool })
				if at < 0 {
					t.Fatalf("no tool %s", tool)
				}
				if len(d.Tools[at].InputSchema) == 0 {
					t.Errorf("%s has no input schema", tool)
				}
				if last := i == len(want.tools)-1; last && (d.Tools[at].OutputSchema != nil) != want.output {
					t.Errorf("%s: output schema %s", tool, d.Tools[at].OutputSchema)
				}
			}
		})
	}
}

// bothWays runs a test against the same program over stdio and over HTTP.
func bothWays(t *testing.T, test func(t *testing.T, s *router.Server)) {
	installed(t)
	config := servers(t, overHTTP(t))
	for _, id := range []string{"everything", "everything-http"} {
		t.Run(id, func(t *testing.T) { test(t, named(t, config, id)) })
	}
}

func TestTextAndStructuredContentArrive(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		c := client(t)
		text, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Arguments: map[string]any{"message": "grüße"}, Max: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if text.Text != "Echo: grüße" || text.Structured != nil || text.IsError {
			t.Errorf("echo answers %+v", text)
		}
		data, err := c.Call(t.Context(), s, router.ToolCall{Tool: "get-structured-content", Arguments: map[string]any{"location": "Chicago"}, Max: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		weather, ok := data.Structured.(map[string]any)
		if _, number := weather["temperature"].(int64); !ok || !number {
			t.Errorf("structured content is %#v", data.Structured)
		}
	})
}

func TestProgressArrivesWhileTheToolWorks(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		var mu sync.Mutex
		var seen []float64
		var first time.Time
		r, err := client(t).Call(t.Context(), s, router.ToolCall{
			Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": int64(1), "steps": int64(4)},
			Idle: 30 * time.Second, Max: time.Minute,
			Progress: func(progress, _ float64, _ string) {
				mu.Lock()
				defer mu.Unlock()
				if len(seen) == 0 {
					first = time.Now()
				}
				seen = append(seen, progress)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Text, "completed") {
			t.Errorf("answer %q", r.Text)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(seen) == 0 || !slices.IsSorted(seen) || seen[0] > 2 {
			t.Fatalf("progress %v", seen)
		}
		if early := time.Since(first); early < 200*time.Millisecond {
			t.Errorf("the first of %v came only %v before the end", seen, early)
		}
	})
}

// Progress keeps the idle clock from running out and not the maximum.
func TestTheMaximumEndsWhatProgressKeepsAlive(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		c := client(t)
		if _, err := c.Describe(t.Context(), s); err != nil { // the start of the process is not what is timed
			t.Fatal(err)
		}
		_, err := c.Call(t.Context(), s, router.ToolCall{
			Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": int64(20), "steps": int64(80)},
			Idle: 5 * time.Second, Max: 1500 * time.Millisecond, Progress: func(float64, float64, string) {},
		})
		var e *router.CallError
		if !errors.As(err, &e) || e.Code != router.Timeout || e.Clock != "maximum" || e.Execution != state.Unknown {
			t.Errorf("error %v (%+v)", err, e)
		}
	})
}

// These servers do not stop for a cancel: the call ends at once all the same, what
// still comes is counted, and the connection stays good.
func TestACancelledCallEndsAtOnceAndLeavesTheServerUsable(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		c := client(t)
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		_, err := c.Call(ctx, s, router.ToolCall{
			Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": int64(20), "steps": int64(40)}, Max: time.Minute,
			Progress: func(float64, float64, string) { cancel() },
		})
		var e *router.CallError
		if !errors.As(err, &e) || e.Code != router.Cancelled || e.Execution != state.Unknown {
			t.Errorf("error %v (%+v)", err, e)
		}
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("ended only after %v", took)
		}
		r, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Arguments: map[string]any{"message": "still here"}, Max: time.Minute})
		if err != nil || r.Text != "Echo: still here" {
			t.Errorf("after the cancel: %+v, %v", r, err)
		}
		if s.Dial.Command == "" {
			return // over HTTP its reports go nowhere
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for end := time.After(15 * time.Second); c.Strays(s.ID)[mcp.LateProgress] < 3; {
			select {
			case <-tick.C:
			case <-end:
				t.Fatalf("late messages are not counted: %v", c.Strays(s.ID))
			}
		}
	})
}

func TestAToolsOwnRefusalIsAResult(t *testing.T) {
	installed(t)
	config, c := servers(t, nowhere(t)), client(t)
	r, err := c.Call(t.Context(), named(t, config, "files"), router.ToolCall{Tool: "read_text_file", Arguments: map[string]any{"path": "../package.json"}, Max: time.Minute})
	if err != nil || !r.IsError || !strings.Contains(r.Text, "Access denied") {
		t.Errorf("reading outside of sample: %+v, %v", r, err)
	}
	r, err = c.Call(t.Context(), named(t, config, "eslint"), router.ToolCall{Tool: "lint-files", Arguments: map[string]any{"filePaths": []any{"absent.js"}}, Max: time.Minute})
	if err != nil || !r.IsError || !strings.Contains(r.Text, "No files matching") {
		t.Errorf("linting an absent file: %+v, %v", r, err)
	}
}

func TestEveryKindOfContentArrives(t *testing.T) {
	bothWays(t, func(t *testing.T, s *router.Server) {
		c := client(t)
		for _, want := range []struct {
			tool  string
			kinds []string
		}{
			{"get-tiny-image", []string{"text", "image", "text"}},
			{"get-resource-links", []string{"text", "resource_link", "resource_link", "resource_link"}},
			{"get-resource-reference", []string{"text", "resource", "text"}},
		} {
			r, err := c.Call(t.Context(), s, router.ToolCall{Tool: want.tool, Arguments: map[string]any{}, Max: time.Minute})
			if err != nil {
				t.Fatalf("%s: %v", want.tool, err)
			}
			var kinds []string
			for _, block := range r.Content {
				kind, _ := block.(map[string]any)["type"].(string)
				kinds = append(kinds, kind)
			}
			if !slices.Equal(kinds, want.kinds) {
				t.Errorf("%s: content %v, want %v", want.tool, kinds, want.kinds)
			}
		}
	})
}

// A server run as a child sees what the servers file gives it, not what this
// process holds.
func TestAChildDoesNotSeeOurEnvironment(t *testing.T) {
	installed(t)
	t.Setenv("JUNCTION_TEST_SECRET", "hunter2")
	s := *named(t, servers(t, nowhere(t)), "everything")
	s.Dial.Env = map[string]string{"GIVEN": "by the file"}
	r, err := client(t).Call(t.Context(), &s, router.ToolCall{Tool: "get-env", Arguments: map[string]any{}, Max: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Text, "by the file") || !strings.Contains(r.Text, "PATH") {
		t.Errorf("the child lacks what it should have: %s", r.Text)
	}
	if strings.Contains(r.Text, "hunter2") {
		t.Errorf("the child has what is ours: %s", r.Text)
	}
}
