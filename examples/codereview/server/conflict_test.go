package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"junction/router"
	mcpcaller "junction/router/mcp"
	"junction/router/static"
	"junction/state"
)

func TestARouterIsToldThatAKeyStandsForAnotherText(t *testing.T) {
	dir := t.TempDir()
	scope := state.Scope{Thread: "t", Lineage: "l", Task: "k", Node: "publish"}
	hop, err := state.NewJournal(scope, state.JournalOptions{}).Begin("", "any")
	if err != nil {
		t.Fatal(err)
	}
	key := hop.Key()
	args := []string{"--reviewer", "ledger", "--dir", dir, "--ledger", "l.db"}
	if r, err := call(t.Context(), serveStdio(t, args...), "publish", map[string]any{"idempotencyKey": key, "text": "first"}); err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, err := static.Parse("j.yaml", fmt.Appendf(nil, `
mcpServers:
  ledger:
    command: %q
    args: [--reviewer, ledger, --dir, %q, --ledger, l.db]
    env: {EXAMPLE_SERVER: "1", GORACE: atexit_sleep_ms=0}
    offers: [{capability: publish, tool: publish, effect: conditional, key: idempotencyKey}]
`, self, dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	caller := mcpcaller.New(nil)
	r := router.New(config.Discovery(), caller, nil)
	t.Cleanup(func() {
		r.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := caller.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	// The conflict comes first: whichever text the router sends first must not
	// be what the key stands for.
	for _, c := range []struct{ text, want string }{{"second", string(router.IdempotencyConflict)}, {"first", ""}} {
		ctx := state.WithJournal(t.Context(), state.NewJournal(scope, state.JournalOptions{}))
		_, err := r.Do(ctx, state.Call{Capability: "publish", With: map[string]any{"text": c.text}})
		failed, ok := errors.AsType[*router.AttemptsError](err)
		if ok && (failed.Code() != c.want || len(failed.Attempts) != 1) || !ok && (err != nil || c.want != "") {
			t.Errorf("text %q: %v, want code %q after one attempt", c.text, err, c.want)
		}
	}
}
