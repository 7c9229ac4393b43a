package inventory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"junction/graph/workflow"
	"junction/router"
	mcpcaller "junction/router/mcp"
	"junction/router/static"
	"junction/state"
)

// route returns a router over the servers that a file of them describes.
func route(t *testing.T, text string) *router.Router {
	t.Helper()
	config, err := static.Parse("j.yaml", []byte(text), nil)
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
	return r
}

func scope(task string) state.Scope {
	return state.Scope{Thread: "t", Lineage: "l", Task: task, Node: "reserve"}
}

// do makes a hop of a task of its own.
func do(t *testing.T, r *router.Router, task string, with map[string]any) (state.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx = state.WithJournal(ctx, state.NewJournal(scope(task), state.JournalOptions{}))
	return r.Do(ctx, state.Call{Capability: "reservation", With: with})
}

func entry(name, file, calls, effect string, flags ...string) string {
	args := append([]string{"example-server", "--reviewer", "inventory", "--ledger", file, "--calls", calls}, flags...)
	quoted := ""
	for _, a := range args {
		quoted += fmt.Sprintf("%q, ", a)
	}
	return fmt.Sprintf(`
  %s:
    command: %q
    env: {GORACE: atexit_sleep_ms=0}
    args: [%s]
    offers: [{capability: reservation, tool: reserve_inventory, %s}]`, name, os.Args[0], quoted, effect)
}

// begun counts the calls that servers noted.
func begun(t *testing.T, calls string) int {
	t.Helper()
	data, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func TestCondition6WithoutAKeyAutomaticRetryIsOff(t *testing.T) {
	t.Parallel()
	file, calls := newFile(t), filepath.Join(t.TempDir(), "calls")
	keyless := order("")
	delete(keyless, "idempotencyKey")
	refused(t, stdio(t, file), keyless, "idempotency_key_missing")
	reservedIs(t, file, 0)

	// An offer without a key is unsafe: what becomes of a call whose server died is
	// unknown, and the other server is not asked.
	r := route(t, "mcpServers:"+entry("a", file, calls, "effect: unsafe", "--die-after", "0")+entry("b", file, calls, "effect: unsafe", "--die-after", "0"))
	_, err := do(t, r, "k", keyless)
	if _, ok := errors.AsType[*router.UnknownOutcomeError](err); !ok {
		t.Errorf("%v, want an unknown outcome", err)
	}
	if n := begun(t, calls); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

func TestARouterWhoseAnswersAreLostReservesOnceForEachHop(t *testing.T) {
	t.Parallel()
	file, dir := newFile(t), t.TempDir()
	const effect = "effect: conditional, key: idempotencyKey, ledger: {name: inventory, keeps: 24h}, verify: {tool: find_reservation, with: {idempotencyKey: '${key}'}}"
	lost := filepath.Join(dir, "lost")
	r := route(t, "mcpServers:"+entry("a", file, lost, effect, "--lose-after", "0")+entry("b", file, filepath.Join(dir, "calls"), effect))
	with := order("")
	delete(with, "idempotencyKey")
	hops := 0
	for ; hops < 40 && (hops < 5 || begun(t, lost) == 0); hops++ {
		a, err := do(t, r, fmt.Sprint("task ", hops), with)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Value.(map[string]any); got["quantity"] != int64(2) || got["reservation"] == "" {
			t.Errorf("answer %v", got)
		}
	}
	if begun(t, lost) == 0 {
		t.Fatalf("in %d hops no answer was lost", hops)
	}
	reservedIs(t, file, int64(2*hops))
}

func TestARouterIsToldThatAKeyStandsForAnotherOrder(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	hop, err := state.NewJournal(scope("task"), state.JournalOptions{}).Begin("", "any")
	if err != nil {
		t.Fatal(err)
	}
	reserve(t, stdio(t, file), order(hop.Key()))
	r := route(t, "mcpServers:"+entry("a", file, filepath.Join(t.TempDir(), "calls"), "effect: conditional, key: idempotencyKey"))
	with := order("", "quantity", 3)
	delete(with, "idempotencyKey")
	_, err = do(t, r, "task", with)
	if failed, ok := errors.AsType[*router.AttemptsError](err); !ok || failed.Code() != string(router.IdempotencyConflict) || len(failed.Attempts) != 1 {
		t.Errorf("%v, want a conflict after one attempt", err)
	}
	reservedIs(t, file, 2)
}

func TestTheWorkflowAndItsServersFit(t *testing.T) {
	t.Parallel()
	w, err := workflow.Load("reserve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := static.Load("junction.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range w.Uses() {
		effect := map[string]state.Effect{"inventory": state.Safe, "reservation": state.Conditional}[use.Capability]
		for _, s := range c.Servers {
			fits := false
			for _, o := range s.Offers {
				fits = fits || o.Capability == use.Capability && o.Effect == effect && o.Ledger.Name == map[bool]string{true: "inventory"}[effect == state.Conditional]
			}
			if !fits {
				t.Errorf("node %s: %s does not offer %q as %s", use.Node, s.ID, use.Capability, effect)
			}
		}
	}
}
