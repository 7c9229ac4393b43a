package review_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/review"
	"junction/router/static"
	"junction/state"
)

var yes, no = true, false

// bounds are those of a client as it is.
func bounds(t *testing.T) mcp.Policy {
	t.Helper()
	c := mcp.New(nil)
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return c.Policy()
}

// shop is a server with one tool that nothing can be said against.
func shop(change func(*router.Inspection, *router.Terms)) *router.Inspection {
	tool := &router.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object","properties":{"sku":{}}}`), OutputSchema: json.RawMessage(`{"type":"object"}`)}
	in := &router.Inspection{
		ServerStatus: router.ServerStatus{
			Server:      &router.Server{ID: "shop", Name: "shop", Source: "file", Dial: router.Dial{Command: "shop"}},
			Description: &router.Description{Name: "Shop", Version: "1.2", ProtocolVersion: "2025-11-25", Tools: []router.Tool{*tool}},
		},
		Terms: []router.Terms{{Capability: "stock", Name: "look", Tool: tool, Effect: state.Safe, From: router.Declared, MaxConcurrent: 4,
			Offer: router.Offer{Capability: "stock", Tool: "look", Effect: state.Safe}}},
		Policy: router.Policy{Idle: 30 * time.Second, Max: 5 * time.Minute, Attempts: 3, RetryShare: 0.2, RetryFloor: 3, Saturation: 30 * time.Second,
			Backoff: 250 * time.Millisecond, BackoffCap: 8 * time.Second, RetryQueue: 100},
	}
	if change != nil {
		change(in, &in.Terms[0])
	}
	return in
}

// does makes a term one with an effect.
func does(m *router.Terms, e state.Effect, key string) {
	m.Effect, m.Offer.Effect, m.Offer.Key = e, e, key
	if e == state.Conditional {
		m.Key, m.Ledger = key, router.Ledger{Name: "till", Keeps: 24 * time.Hour}
		m.Tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"id":{},"sku":{}}}`)
	}
}

func TestAServerThatNothingCanBeSaidAgainstHasNoFinding(t *testing.T) {
	t.Parallel()
	if rv := review.New(shop(nil), review.Settings{Client: bounds(t)}); len(rv.Findings) != 0 || rv.Findings == nil {
		t.Errorf("%+v, want an empty list", rv.Findings)
	}
}

func TestEachRiskIsFoundAndItsRemedyIsAFileThatLoads(t *testing.T) {
	t.Parallel()
	pin := func(in *router.Inspection) { in.Server.Approval = "pinned" }
	for _, c := range []struct {
		rule   string
		level  review.Level
		change func(*router.Inspection, *router.Terms)
		paste  string // part of what can be pasted; "": nothing can
	}{
		{"tool-missing", review.Risk, func(_ *router.Inspection, m *router.Terms) { m.Name, m.Tool = "lok", nil }, "tool: look"},
		{"safe-but-writes", review.Note, func(_ *router.Inspection, m *router.Terms) { m.Tool.ReadOnly = &no }, "effect: unsafe"},
		{"hint-not-trusted", review.Note, func(in *router.Inspection, m *router.Terms) {
			m.Effect, m.Offer.Effect, m.From, m.Tool.ReadOnly = state.Unsafe, "", router.Unsaid, &yes
			pin(in)
		}, "effect: safe"},
		{"unsafe-without-verify", review.Risk, func(in *router.Inspection, m *router.Terms) {
			does(m, state.Unsafe, "")
			pin(in)
		}, "verify: NAME_OF_A_TOOL_THAT_LOOKS"},
		{"unsafe-without-verify", review.Risk, func(in *router.Inspection, m *router.Terms) {
			does(m, state.Unsafe, "")
			m.Tool.InputSchema = json.RawMessage(`{"properties":{"idempotency_key":{}}}`)
			pin(in)
		}, "key: idempotency_key"},
		{"verify-unusable", review.Risk, func(in *router.Inspection, m *router.Terms) {
			does(m, state.Unsafe, "")
			m.Offer.Verify = &router.Verify{Tool: "find"}
			pin(in)
		}, ""},
		{"conditional-without-key", review.Risk, func(in *router.Inspection, m *router.Terms) {
			does(m, state.Conditional, "")
			m.Key, m.From = "_meta.dev.junction/idempotency-key", router.Hinted
			pin(in)
		}, "key: _meta.idempotencyKey"},
		{"key-not-taken", review.Risk, func(in *router.Inspection, m *router.Terms) {
			does(m, state.Conditional, "other")
			pin(in)
		}, "effect: unsafe"},
		{"ledger-unsaid", review.Note, func(in *router.Inspection, m *router.Terms) {
			does(m, state.Conditional, "id")
			m.Ledger.Name = "host/shop"
			pin(in)
		}, "ledger: {name: shop, keeps: 24h}"},
		{"ledger-forgets", review.Risk, func(in *router.Inspection, m *router.Terms) {
			does(m, state.Conditional, "id")
			m.Ledger.Keeps = time.Minute
			pin(in)
		}, ""},
		{"no-output-schema", review.Note, func(_ *router.Inspection, m *router.Terms) { m.Tool.OutputSchema = nil }, "stock:\n    output: "},
		{"slower-than-idle", review.Note, func(_ *router.Inspection, m *router.Terms) { m.LatencyP95 = time.Minute }, ""},
		{"unreachable", review.Risk, func(in *router.Inspection, m *router.Terms) {
			in.Err, in.Description, m.Tool = errors.New("it is off"), nil, nil
		}, ""},
		{"credential-in-the-clear", review.Risk, func(in *router.Inspection, _ *router.Terms) {
			in.Server.Dial = router.Dial{URL: "http://10.0.0.1/mcp", Headers: map[string]string{"X-Api-Key": "hunter2"}}
		}, ""},
		{"tool-held-back", review.Note, func(in *router.Inspection, _ *router.Terms) {
			in.Held = map[string]string{"look": "it changed"}
			pin(in)
		}, ""},
		{"credential-missing", review.Risk, func(in *router.Inspection, _ *router.Terms) {
			in.Server.Dial, in.Description.Routing.RequiresAuth = router.Dial{URL: "https://shop.example/mcp"}, true
		}, ""},
		{"concurrency-undeclared", review.Note, func(_ *router.Inspection, m *router.Terms) { m.MaxConcurrent = 0 }, "max_concurrent: 8"},
		{"tools-without-offer", review.Note, func(in *router.Inspection, m *router.Terms) {
			in.Terms = append(in.Terms, router.Terms{Name: "a {b}: true", Tool: m.Tool, Effect: state.Unsafe, From: router.Unsaid})
		}, `tool: "a {b}: true"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			for _, source := range []string{"file", "consul"} {
				in := shop(c.change)
				in.Server.Source = source
				rv := review.New(in, review.Settings{Client: bounds(t)})
				if len(rv.Findings) != 1 || rv.Findings[0].Rule != c.rule || rv.Findings[0].Level != c.level {
					t.Fatalf("found %+v, want one %s", rv.Findings, c.level)
				}
				f := rv.Findings[0]
				if f.Says == "" || f.Then == "" || f.Fix == "" || !strings.Contains(f.Paste, c.paste) || (f.Paste == "") != (c.paste == "") {
					t.Errorf("%+v", f)
				}
				if text, err := json.Marshal(rv); err != nil || strings.Contains(string(text), "hunter2") {
					t.Errorf("a secret is printed, or nothing: %v %s", err, text)
				}
				loads(t, f.Paste)
			}
		})
	}
}

// loads holds what can be pasted against the reader of servers files, with how
// the server is reached beside it.
func loads(t *testing.T, paste string) {
	t.Helper()
	if paste == "" {
		return
	}
	file := strings.NewReplacer("  shop:\n    ", "  shop:\n    command: x\n    ", "discovery:\n", "discovery:\n  consul: http://127.0.0.1:8500\n").Replace(paste)
	if strings.HasPrefix(paste, "discovery:") {
		file = strings.Replace(file, "    command: x\n", "", 1)
	}
	if _, err := static.Parse("/etc/junction/junction.yaml", []byte(file), nil); err != nil {
		t.Errorf("does not load:\n%s\n%v", file, err)
	}
}

func TestAServerThatTellsItsToolsApartIsBelieved(t *testing.T) {
	t.Parallel()
	rv := review.New(shop(func(in *router.Inspection, m *router.Terms) {
		m.Tool.ReadOnly = &no
		other := *m
		other.Name, other.Tool = "read", &router.Tool{Name: "read", ReadOnly: &yes, OutputSchema: m.Tool.OutputSchema}
		in.Terms = append(in.Terms, other)
	}), review.Settings{Client: bounds(t)})
	if len(rv.Findings) != 1 || rv.Findings[0].Rule != "safe-but-writes" || rv.Findings[0].Level != review.Risk {
		t.Errorf("%+v, want a risk", rv.Findings)
	}
	if a, b := rv.Tools[0].Hints, rv.Tools[1].Hints; !slices.Equal(a, []string{"writes"}) || !slices.Equal(b, []string{"reads"}) {
		t.Errorf("hints %v and %v", a, b)
	}
}

func TestAToolThatVerifiesNeedsNoOffer(t *testing.T) {
	t.Parallel()
	rv := review.New(shop(func(in *router.Inspection, m *router.Terms) {
		does(m, state.Unsafe, "")
		in.Server.Approval, m.Offer.Verify = router.Pinned, &router.Verify{Tool: "find"}
		in.Terms = append(in.Terms, router.Terms{Name: "find", Tool: m.Tool, Effect: state.Unsafe, From: router.Unsaid})
	}), review.Settings{Client: bounds(t)})
	if len(rv.Findings) != 0 || rv.Tools[0].Boundary != "one attempt; find says whether it took effect" {
		t.Errorf("%+v of %+v", rv.Findings, rv.Tools[0])
	}
}

func TestRisksComeBeforeNotes(t *testing.T) {
	t.Parallel()
	rv := review.New(shop(func(_ *router.Inspection, m *router.Terms) {
		does(m, state.Unsafe, "")
		m.Tool.OutputSchema, m.MaxConcurrent = nil, 0
	}), review.Settings{Client: bounds(t), Idle: time.Minute, Max: 10 * time.Second})
	var rules []string
	for _, f := range rv.Findings {
		rules = append(rules, f.Rule)
	}
	want := []string{"idle-above-maximum", "unsafe-without-verify", "tools-not-pinned", "concurrency-undeclared", "no-output-schema"}
	if !slices.Equal(rules, want) {
		t.Errorf("found %v, want %v", rules, want)
	}
	if rv.Clocks != (review.Clocks{IdleMS: 60_000, MaxMS: 10_000}) {
		t.Errorf("clocks %+v", rv.Clocks)
	}
}

func TestEveryToolHasARowForEachCode(t *testing.T) {
	t.Parallel()
	rv := review.New(shop(func(_ *router.Inspection, m *router.Terms) { does(m, state.Conditional, "id") }), review.Settings{Client: bounds(t)})
	tool := rv.Tools[0]
	if len(tool.Retry) != len(router.RetryTable()) {
		t.Fatalf("%d rows", len(tool.Retry))
	}
	for i, row := range router.RetryTable() {
		if tool.Retry[i] != (review.Next{Code: row.Code, Execution: row.Execution, Next: row.Conditional}) {
			t.Errorf("%+v, want %+v", tool.Retry[i], row)
		}
	}
	if tool.Boundary != "the ledger till, for 24h after the first attempt; no other server shares it" || tool.From != "the servers file" || tool.Key != "id" {
		t.Errorf("%+v", tool)
	}
}

func TestWhoSaidAnEffectIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		origin router.Origin
		source string
		inFile bool
		offer  bool
		want   string
	}{
		{router.Declared, "file", false, true, "the servers file"},
		{router.Declared, "consul", true, true, "the servers file"},
		{router.Declared, "consul", false, true, "Consul, which is trusted"},
		{router.Hinted, "consul", false, true, "the server's hint, which is trusted"},
		{router.Unsaid, "file", false, true, "nobody, so it is unsafe"},
		{router.Unsaid, "file", false, false, "nobody (called by name)"},
	} {
		rv := review.New(shop(func(in *router.Inspection, m *router.Terms) {
			in.Server.Source, m.From = c.source, c.origin
			if !c.offer {
				m.Capability = ""
			}
		}), review.Settings{Client: bounds(t), InFile: c.inFile})
		if got := rv.Tools[0].From; got != c.want {
			t.Errorf("%s at %s: %q, want %q", c.origin, c.source, got, c.want)
		}
	}
}

func TestAServerThatIsTrustedWithEffectsIsToBePinned(t *testing.T) {
	t.Parallel()
	for source, paste := range map[string]bool{"file": true, "consul": false} {
		rv := review.New(shop(func(in *router.Inspection, m *router.Terms) {
			does(m, state.Conditional, "id")
			in.Server.Source = source
		}), review.Settings{Client: bounds(t)})
		if len(rv.Findings) != 1 || rv.Findings[0].Rule != "tools-not-pinned" || (rv.Findings[0].Paste != "") != paste {
			t.Fatalf("%s: %+v", source, rv.Findings)
		}
		loads(t, rv.Findings[0].Paste)
	}
}

func TestWhatAServerSentUnaskedIsToldByKind(t *testing.T) {
	t.Parallel()
	rv := review.New(shop(nil), review.Settings{Client: bounds(t), Strays: map[mcp.Stray]uint64{mcp.WrongID: 2, mcp.LateAnswer: 1}})
	if len(rv.Findings) != 1 || !strings.Contains(rv.Findings[0].Says, "1 late_answer, 2 wrong_id") {
		t.Errorf("%+v", rv.Findings)
	}
}

func TestOfCredentialsOnlyTheirSchemesAreTold(t *testing.T) {
	t.Parallel()
	rv := review.New(shop(func(in *router.Inspection, _ *router.Terms) {
		in.Server.Dial = router.Dial{
			URL: "https://user:hunter2@shop.example/mcp?key=hunter2", Headers: map[string]string{"X-Tenant": "hunter2"},
			Auth: []router.Credential{{Scheme: "bearer", Token: "hunter2"}, {Scheme: "oauth", OAuth: &router.OAuthClient{ClientSecret: "hunter2"}}},
		}
	}), review.Settings{Client: bounds(t)})
	text, err := json.Marshal(rv)
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret is told: %v %s", err, text)
	}
	if want := []string{"bearer", "oauth", "header X-Tenant", "url"}; !slices.Equal(rv.Transport.Credentials, want) {
		t.Errorf("%v, want %v", rv.Transport.Credentials, want)
	}
}

func TestAHedgeIsToldOfWhereThereIsOne(t *testing.T) {
	for _, c := range []struct {
		hedge router.Hedge
		want  string // "": no word of it
	}{
		{router.Hedge{}, ""},
		{router.Hedge{P95: true}, "the candidates' P95"},
		{router.Hedge{After: 250 * time.Millisecond}, "250ms"},
	} {
		got := ""
		in := shop(nil)
		in.Policy.Hedge = c.hedge
		for _, b := range review.New(in, review.Settings{Client: bounds(t)}).Queue {
			if strings.Contains(b.What, "second server") {
				got = b.Limit
			}
		}
		if got != c.want {
			t.Errorf("%+v: told %q, want %q", c.hedge, got, c.want)
		}
	}
}
