package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
	"junction/state"
)

// known is a discovery of these servers.
type known []*router.Server

func (k known) Snapshot() *router.Snapshot    { return &router.Snapshot{Servers: k} }
func (k known) Refresh(context.Context) error { return nil }

func offering(id, name string, offers ...router.Offer) *router.Server {
	return &router.Server{ID: id, Name: name, Offers: offers}
}

// coming is a server of a service whose instances come and go.
func coming(s *router.Server) *router.Server {
	s.Source = "consul"
	return s
}

func trusted(s *router.Server) *router.Server {
	s.Trusted = true
	return s
}

// listing is a session with a server that lists one tool, which it says is idempotent,
// and another, of which it says that it only reads.
type listing struct{ bridge.Session }

func (listing) Do(context.Context, *mcp.Request) (mcp.Reply, *router.CallError) {
	return mcp.Reply{Result: []byte(`{"tools":[{"name":"put","annotations":{"idempotentHint":true}},{"name":"get","annotations":{"readOnlyHint":true}}]}`)}, nil
}

func TestHintsCountWhereAllOfAServiceAreTrusted(t *testing.T) {
	t.Parallel()
	hints := &bridge.Hints{}
	hints.Learn(listing{}).Do(t.Context(), &mcp.Request{Method: "tools/list"})
	one, other := trusted(offering("1", "a")), trusted(offering("2", "a"))
	for name, c := range map[string]struct {
		servers  known
		get, put state.Effect
	}{
		"one that is trusted":      {known{one}, state.Safe, state.Safe},
		"one of two is trusted":    {known{one, offering("2", "a")}, state.Unsafe, state.Unsafe},
		"both are":                 {known{one, other}, state.Safe, state.Unsafe},
		"one that may be replaced": {known{coming(trusted(offering("1", "a")))}, state.Safe, state.Unsafe},
		"nobody is":                {known{offering("1", "a")}, state.Unsafe, state.Unsafe},
	} {
		f := &fronted{discovery: c.servers}
		get, _ := f.effect("a", "get", hints)
		put, _ := f.effect("a", "put", hints)
		if get != c.get || put != c.put {
			t.Errorf("%s: %s and %s", name, get, put)
		}
	}
}

func TestWhatAToolDoesIsWhatTheOperatorSays(t *testing.T) {
	t.Parallel()
	pay := func(ledger string) router.Offer {
		return router.Offer{Capability: "pay", Tool: "pay", Effect: state.Conditional, Key: "id", Ledger: router.Ledger{Name: ledger}}
	}
	brief := pay("billing")
	brief.Ledger.Keeps = time.Minute
	for name, c := range map[string]struct {
		servers known
		tool    string
		effect  state.Effect
		key     string
	}{
		"under a key that is soon forgotten":       {known{offering("a", "a", brief)}, "pay", state.Unsafe, ""},
		"nothing said":                             {known{offering("a", "a")}, "pay", state.Unsafe, ""},
		"safe":                                     {known{offering("a", "a", router.Offer{Tool: "pay", Effect: state.Safe})}, "pay", state.Safe, "_meta.dev.junction/idempotency-key"},
		"by the capability's name":                 {known{offering("a", "a", router.Offer{Capability: "pay", Effect: state.Safe})}, "pay", state.Safe, "_meta.dev.junction/idempotency-key"},
		"under a key":                              {known{offering("a", "a", pay(""))}, "pay", state.Conditional, "id"},
		"another tool":                             {known{offering("a", "a", pay(""))}, "refund", state.Unsafe, ""},
		"instances with their own ledger":          {known{offering("1", "a", pay("")), offering("2", "a", pay(""))}, "pay", state.Unsafe, ""},
		"instances that share one":                 {known{offering("1", "a", pay("billing")), offering("2", "a", pay("billing"))}, "pay", state.Conditional, "id"},
		"gone":                                     {known{}, "pay", state.Unsafe, ""},
		"instances of which one shares none":       {known{offering("1", "a", pay("billing")), offering("2", "a", pay(""))}, "pay", state.Unsafe, ""},
		"instances of which one says nothing":      {known{offering("1", "a", router.Offer{Tool: "pay", Effect: state.Safe}), offering("2", "a")}, "pay", state.Unsafe, ""},
		"an instance that another may replace":     {known{coming(offering("1", "a", pay("")))}, "pay", state.Unsafe, ""},
		"an instance with a ledger of its own":     {known{coming(offering("1", "a", pay("1@node")))}, "pay", state.Unsafe, ""},
		"one that may be replaced by its own kind": {known{coming(offering("1", "a", pay("billing")))}, "pay", state.Conditional, "id"},
	} {
		f := &fronted{discovery: c.servers}
		effect, key := f.effect("a", c.tool, &bridge.Hints{})
		if effect != c.effect || key != c.key {
			t.Errorf("%s: %s under %q", name, effect, key)
		}
	}
}

func TestTheInstancesOfAServiceAreOneServerReachedInTurn(t *testing.T) {
	t.Parallel()
	var tried []string
	f := &fronted{
		discovery: known{offering("docs-1", "docs"), offering("docs-2", "docs"), offering("search", "search")},
		open: func(_ context.Context, s *router.Server, _ mcp.Greeting, _ mcp.Events) (*mcp.Wire, *router.CallError) {
			tried = append(tried, s.ID)
			return nil, &router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "refused"}
		},
	}
	if got := f.names(nil); !slices.Equal(got, []string{"docs", "search"}) {
		t.Errorf("all: %q", got)
	}
	if got := f.names([]string{"docs", "none"}); !slices.Equal(got, []string{"docs"}) {
		t.Errorf("one of them: %q", got)
	}
	docs := f.server("docs")
	for range 3 {
		s, fail := docs.Open(t.Context(), mcp.Greeting{}, mcp.Events{})
		if s != nil || fail == nil {
			t.Fatalf("%v, %v", s, fail)
		}
	}
	if !slices.Equal(tried, []string{"docs-1", "docs-2", "docs-1"}) {
		t.Errorf("tried %q", tried)
	}
	f.discovery = known{}
	if _, fail := docs.Open(t.Context(), mcp.Greeting{}, mcp.Events{}); fail == nil || fail.Execution != state.NotExecuted {
		t.Errorf("none is known any more: %v", fail)
	}
}

func TestAServersNameIsMadeOfItsAddress(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://127.0.0.1:8080/mcp": "127.0.0.1-8080", "https://docs.example.com/mcp": "docs.example.com", "http://[::1]:80/": "1-80",
	} {
		s, err := (&proxyCmd{URL: url}).single(proxyURL)
		if err != nil || s.ID != want || s.Dial.URL != url {
			t.Errorf("%s: %+v, %v", url, s, err)
		}
	}
	s, err := (&proxyCmd{Command: []string{"/opt/bin/files", "${HOME}", "-x"}, Env: []string{"A=${B}", "PATH"}}).single(proxyCommand)
	if err != nil || s.ID != "files" || !slices.Equal(s.Dial.Args, []string{"${HOME}", "-x"}) || s.Dial.Env["A"] != "${B}" || s.Dial.Env["PATH"] == "" {
		t.Errorf("%+v, %v", s, err)
	}
}
