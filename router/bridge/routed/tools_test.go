package routed

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
	"junction/state/expr"
)

type toolList struct {
	Tools []struct {
		Name, Description         string
		InputSchema, OutputSchema json.RawMessage
	}
	ResultType string
	TTLMs      int
}

func TestAToolsSchemasAreTheContractsElseThoseOfTheBestOffer(t *testing.T) {
	const own = `{"properties":{"file":{"type":"string"},"key":{"type":"string"}},"required":["file","key"],"type":"object"}`
	const described = `{"type":"object","description":"Reviews code.","required":["code"]}`
	mapping, err := expr.CompileValue(map[string]any{"file": "${with.path}"}, "with")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		arrange       func(f *fleet)
		description   string
		input, output string
	}{
		"no server": {func(*fleet) {}, "The capability work, done by whichever server fits best.", `{"type":"object"}`, ""},
		"a contract": {func(f *fleet) {
			f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Input: json.RawMessage(described), Output: json.RawMessage(`{"type":"object"}`)}
		}, "Reviews code.", described, `{"type":"object"}`},
		"a tool":        {func(f *fleet) { f.server("a", state.Safe) }, "Does it.", own, ""},
		"a mapped tool": {func(f *fleet) { f.server("a", state.Safe).Offers[0].With = mapping }, "Does it.", `{"type":"object"}`, ""},
		"a tool with a key": {func(f *fleet) {
			f.server("a", state.Conditional).Offers[0].Key = "key"
		}, "Does it.", `{"properties":{"file":{"type":"string"}},"required":["file"],"type":"object"}`, ""},
		"a contract and a tool": {func(f *fleet) {
			f.server("a", state.Safe)
			f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Input: json.RawMessage(`{"type":"object"}`)}
		}, "Does it.", `{"type":"object"}`, ""},
		"an output that is no object": {func(f *fleet) {
			f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Output: json.RawMessage(`{"type":"array"}`)}
		}, "The capability work, done by whichever server fits best.", `{"type":"object"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet()
			c.arrange(f)
			for id := range f.tools {
				f.tools[id][0].InputSchema = json.RawMessage(own)
			}
			within(t, f, nil, func(t *testing.T, w *world) {
				list := result[toolList](t, w.does(t.Context(), "tools/list", `{}`))
				got := list.Tools[0]
				if len(list.Tools) != 1 || got.Name != "work" || got.Description != c.description || string(got.InputSchema) != c.input || string(got.OutputSchema) != c.output {
					t.Errorf("%+v\n%s\n%s", list, got.InputSchema, got.OutputSchema)
				}
				later := result[toolList](t, w.does(t.Context(), "tools/list", `{"_meta":{`+modernMeta+`}}`))
				if later.ResultType != "complete" || later.TTLMs != 15000 {
					t.Errorf("%+v", later)
				}
			})
		})
	}
}

func TestTheListWaitsForNoServerAndTheClientHearsWhenOneComes(t *testing.T) {
	f := newFleet()
	f.server("a", state.Safe)
	up := make(chan struct{})
	within(t, f, nil, func(t *testing.T, w *world) {
		up = make(chan struct{})
		f.describe = func(ctx context.Context, s *router.Server) (*router.Description, error) {
			select {
			case <-up:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return &router.Description{Name: s.ID, Tools: f.tools[s.ID]}, nil
		}
		begun := time.Now()
		list := result[toolList](t, w.does(t.Context(), "tools/list", `{}`))
		if took := time.Since(begun); took > 2*time.Second || list.Tools[0].Description == "Does it." {
			t.Errorf("after %s: %+v", took, list)
		}
		if n := len(w.client.told()); n != 0 {
			t.Fatalf("told %d times of nothing new", n)
		}
		close(up)
		synctest.Wait()
		<-time.After(16 * time.Second)
		synctest.Wait()
		told := w.client.told()
		if len(told) != 1 || told[0].Method != protocol.MethodNotificationToolsListChanged {
			t.Fatalf("told %+v", told)
		}
		if list = result[toolList](t, w.does(t.Context(), "tools/list", `{}`)); list.Tools[0].Description != "Does it." {
			t.Errorf("%+v", list)
		}
		<-time.After(time.Minute)
		if n := len(w.client.told()); n != 1 {
			t.Errorf("told %d times of one change", n)
		}
	})
}

func TestNeedsAreNamedInOrder(t *testing.T) {
	h := New(newFleet(), nil, nil)
	defer h.Close()
	got := h.plain(Capability{Name: "review", Need: map[string]any{"language": "go", "depth": []any{"a", "b"}}}).Description
	if got != "The capability review, done by whichever server fits best (depth [a b], language go)." {
		t.Error(got)
	}
}
