package view

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/review"
	"junction/state"
)

var update = flag.Bool("update", false, "write what is printed into testdata")

// till is a server with one tool of each effect, one of them found wanting.
func till() *review.Review {
	object := json.RawMessage(`{"type":"object","properties":{"id":{}}}`)
	tool := func(name string) *router.Tool {
		return &router.Tool{Name: name, InputSchema: object, OutputSchema: object}
	}
	in := &router.Inspection{
		ServerStatus: router.ServerStatus{
			Server: &router.Server{ID: "till", Name: "till", Source: "file", Approval: "pinned", Dial: router.Dial{URL: "https://user:hunter2@till.example/mcp?key=hunter2"}},
			Description: &router.Description{
				Name: "Till\x1b[2J", Version: "2.0\n", ProtocolVersion: "2025-11-25",
				Tools: []router.Tool{*tool("look"), *tool("charge"), *tool("refund")},
			},
		},
		Terms: []router.Terms{
			{Capability: "balance", Name: "look", Tool: tool("look"), Effect: state.Safe, From: router.Declared, MaxConcurrent: 4},
			{
				Capability: "charge", Name: "charge", Tool: tool("charge"), Effect: state.Conditional, From: router.Declared, Key: "id",
				Offer: router.Offer{Key: "id"}, Ledger: router.Ledger{Name: "billing", Keeps: 36 * time.Hour}, MaxConcurrent: 4,
			},
			{Capability: "refund", Name: "refund", Tool: tool("refund"), Effect: state.Unsafe, From: router.Declared, MaxConcurrent: 4},
		},
		Policy: router.Policy{
			Idle: 30 * time.Second, Max: 5 * time.Minute, Attempts: 3, RetryShare: 0.2, RetryFloor: 3, RetryQueue: 100,
			Saturation: 30 * time.Second, Backoff: 250 * time.Millisecond, BackoffCap: 8 * time.Second,
		},
	}
	in.Terms = append(in.Terms, router.Terms{Capability: "turn\u202e", Name: "turn\u202e", Tool: tool("turn\u202e"), Effect: state.Unsafe, From: router.Unsaid, MaxConcurrent: 4})
	reads := true
	in.Terms[0].Tool.ReadOnly = &reads
	rv := review.New(in, review.Settings{Client: mcp.Policy{
		ConnectTimeout: time.Minute, AnswerBytes: 16 << 20, ListPages: 1000, Told: 100 * time.Millisecond, Outgoing: 16, Connections: 100,
		Farewell: 5 * time.Second, Rejection: 64 << 10, StderrLines: 20, Backoff: mcp.Backoff{Base: 250 * time.Millisecond, Cap: 8 * time.Second},
	}})
	rv.Faults = []review.Fault{{Name: "a fault", Symptom: "what is seen", Response: "what is right", Fixture: "pkg.TestIt"}, {Name: "another", Symptom: "seen", Response: "right"}}
	return NewReview(rv)
}

func TestAReviewIsPrintedForPeople(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := Review(&out, till(), Style{}); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/review.golden"
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	if strings.Contains(out.String(), "hunter2") || strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Error("a credential or an escape sequence is printed")
	}
}

func TestAReviewIsColouredOnlyWhereItMayBe(t *testing.T) {
	t.Parallel()
	var plain, colored strings.Builder
	if err := Review(&plain, till(), Style{}); err != nil {
		t.Fatal(err)
	}
	if err := Review(&colored, till(), Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	text := colored.String()
	for _, code := range []string{good, bad, warn, faint, bold} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
	}
	if text = strings.ReplaceAll(text, "\x1b[0m", ""); text != plain.String() {
		t.Errorf("colour changes more than colour:\n%s", text)
	}
	if colored.String() == plain.String() {
		t.Error("nothing is coloured")
	}
}

func TestAReviewIsOneDocument(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := JSON(&out, till()); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"server", "findings", "tools", "retry", "clocks", "transport", "races", "queue", "flow", "recovery", "faults"} {
		if doc[key] == nil {
			t.Errorf("no %s", key)
		}
	}
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "\\u001b") || strings.Contains(out.String(), "\u202e") {
		t.Error("a credential or an escape sequence is printed")
	}
}
