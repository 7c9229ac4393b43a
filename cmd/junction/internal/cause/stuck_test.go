package cause

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/state"
	"junction/state/memory"
)

// round is a checkpoint whose next superstep runs these nodes.
func round(seq int64, n string, log []string, next ...string) state.Snapshot {
	s := state.Snapshot{
		Checkpoint: state.Checkpoint{Thread: "t", Seq: seq, Step: int(seq) - 1, Created: noon},
		Values:     map[string]json.RawMessage{"n": json.RawMessage(n)}, Logs: map[string][]json.RawMessage{},
	}
	for _, item := range log {
		s.Logs["log"] = append(s.Logs["log"], json.RawMessage(item))
	}
	for _, node := range next {
		s.Next = append(s.Next, state.Task{ID: node + "-task", Node: node})
	}
	return s
}

func running() state.Thread {
	return state.Thread{ID: "t", Status: state.StatusRunning, Created: noon.Add(-time.Hour), Updated: noon}
}

// suspects are the names of the checks that say so.
func suspects(t *testing.T, e Evidence) (names []string, says string) {
	t.Helper()
	checks := Stuck(e)
	if len(checks) != 5 {
		t.Fatalf("%d checks: %+v", len(checks), checks)
	}
	for _, c := range checks {
		if c.Says == "" || c.Suspect != (c.Try != "") {
			t.Errorf("check: %+v", c)
		}
		if c.Suspect {
			names, says = append(names, c.Name), says+c.Says
		}
	}
	return names, says
}

func TestEachReasonOfAStuckRunIsFound(t *testing.T) {
	t.Parallel()
	now := noon.Add(5 * time.Minute)
	waiting := round(3, "1", nil, "a", "b")
	waiting.Pending = map[string]state.TaskWrites{"a-task": {}, "b-task": {}}
	half := round(3, "1", nil, "a", "b")
	half.Pending = map[string]state.TaskWrites{"a-task": {}}
	open := call("srv", 0, state.CallOpen, "", "", "")
	open.Session = "s"
	stale := answered("srv", 0)
	stale.Decision = decision(t, router.Decision{Stale: true})
	fresh := answered("srv", time.Minute)
	fresh.Decision = decision(t, router.Decision{})
	for _, c := range []struct {
		name string
		e    Evidence
		want string
		says string
	}{
		{"a loop that changes nothing", Evidence{Rounds: []state.Snapshot{
			round(7, "1", nil, "route"), round(6, "1", nil, "check"), round(5, "1", nil, "route"), round(4, "1", nil, "check"), round(3, "1", nil, "route"),
		}, Now: noon}, "[router_loop]", "route → check"},
		{"a loop that says the same each time", Evidence{Rounds: []state.Snapshot{
			round(5, "1", []string{`"no"`, `"no"`, `"no"`}, "route"), round(4, "1", []string{`"no"`, `"no"`}, "route"), round(3, "1", []string{`"no"`}, "route"),
		}, Now: noon}, "[router_loop]", "route"},
		{"a loop that gets on", Evidence{Rounds: []state.Snapshot{round(5, "3", nil, "page"), round(4, "2", nil, "page"), round(3, "1", nil, "page")}, Now: noon}, "[]", ""},
		{"a loop that gathers", Evidence{Rounds: []state.Snapshot{
			round(5, "1", []string{`1`, `2`, `3`}, "page"), round(4, "1", []string{`1`, `2`}, "page"), round(3, "1", []string{`1`}, "page"),
		}, Now: noon}, "[]", ""},
		{"a session that has run out beneath a call", Evidence{Rounds: []state.Snapshot{half}, Records: []state.Record{open}, Now: now,
			Sessions: []state.Session{{ID: "s", Server: "srv", Opened: noon.Add(-time.Hour), Expires: noon}}}, "[session_or_clock]", "ran out 5m0s ago"},
		{"a session that has run out and that nobody needs", Evidence{Rounds: []state.Snapshot{half}, Records: []state.Record{open}, Now: now,
			Sessions: []state.Session{{ID: "other", Server: "srv", Opened: noon.Add(-time.Hour), Expires: noon}}}, "[]", ""},
		{"clocks that differ", Evidence{Rounds: []state.Snapshot{half}, Records: []state.Record{call("srv", 2*time.Hour, state.CallOpen, "", "", "")}, Now: now}, "[session_or_clock]", "1h0m0s"},
		{"discovery that is away", Evidence{Rounds: []state.Snapshot{half}, Records: []state.Record{fresh, stale}, Now: noon}, "[stale_discovery]", "node review"},
		{"the newest decision counts, wherever it stands", Evidence{Rounds: []state.Snapshot{half}, Records: []state.Record{stale, fresh, open}, Now: noon}, "[stale_discovery]", ""},
		{"a checkpoint that does not follow", Evidence{Rounds: []state.Snapshot{waiting}, Now: now}, "[blocked_checkpoint]", "all of superstep 3"},
		{"a worker that is gone", Evidence{Rounds: []state.Snapshot{half}, Now: now}, "[blocked_checkpoint]", "1 of 2 tasks"},
		{"a call that takes long", Evidence{Rounds: []state.Snapshot{half}, Records: []state.Record{open}, Now: now}, "[]", ""},
		{"a context that is too large", Evidence{Rounds: []state.Snapshot{round(2, `"`+strings.Repeat("x", 2<<20)+`"`, nil, "a")}, Now: noon}, "[oversized_context]", "of which n is 2.0 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.e.Thread = running()
			names, says := suspects(t, c.e)
			if fmt.Sprint(names) != c.want || !strings.Contains(says, c.says) {
				t.Errorf("suspects %v, want %s: %s", names, c.want, says)
			}
		})
	}
}

func TestOnlyARunThatShouldGoOnIsChecked(t *testing.T) {
	t.Parallel()
	for status, want := range map[state.Status]int{
		state.StatusRunning: 5, state.StatusPending: 5, state.StatusCompleted: 0, state.StatusInterrupted: 0, state.StatusFailed: 0, state.StatusCancelled: 0,
	} {
		if got := Stuck(Evidence{Thread: state.Thread{Status: status}, Now: noon}); len(got) != want {
			t.Errorf("%s: %d checks", status, len(got))
		}
	}
	endless := state.Thread{Status: state.StatusFailed, Failure: &state.Failure{Code: recursionLimit}}
	if got := Stuck(Evidence{Thread: endless, Now: noon}); len(got) != 5 {
		t.Errorf("a run that went round until its limit: %d checks", len(got))
	}
}

func TestEvidenceIsReadOutOfTheStore(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), memory.New(nil)
	_, err := store.CreateThread(ctx, state.NewThread{
		ID: "t", Workflow: "w", Lineage: "main", Set: map[string]json.RawMessage{"n": json.RawMessage(`1`)}, Next: []state.Task{{ID: "x", Node: "review"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Acquire(ctx, "t", "w", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for seq := int64(1); seq <= 3; seq++ { // three rounds that leave n as it is
		if _, err := store.Commit(ctx, state.Commit{Lease: l, Parent: seq, WriteID: fmt.Sprint(seq), Step: int(seq), Next: []state.Task{{ID: fmt.Sprint("x", seq), Node: "review"}}, Status: state.StatusRunning}); err != nil {
			t.Fatal(err)
		}
	}
	r := call("a", 0, state.CallTimeout, router.Timeout, state.Unknown, "")
	r.Started, r.Seq = time.Now(), 4
	if err := store.PutRecords(ctx, l, []state.Record{r}); err != nil {
		t.Fatal(err)
	}
	if err := store.PutHealth(ctx, []state.HealthSample{{Server: "a", Worker: "other", Minute: time.Now().UTC().Truncate(time.Minute), Calls: 9, Failures: 9, Codes: map[string]int{"MCP_TIMEOUT": 9}}}); err != nil {
		t.Fatal(err)
	}
	th, err := store.Thread(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Gather(ctx, store, th, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if names, says := suspects(t, e); fmt.Sprint(names) != "[router_loop]" || !strings.Contains(says, "review") {
		t.Errorf("suspects %v: %s", names, says)
	}
	if err := store.SetStatus(ctx, l, state.StatusFailed, failure("MCP_TIMEOUT"), nil); err != nil {
		t.Fatal(err)
	}
	if th, err = store.Thread(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if e, err = Gather(ctx, store, th, time.Now()); err != nil {
		t.Fatal(err)
	}
	if c := Find(e); c.Kind != Hangs || c.Before.Calls != 9 {
		t.Errorf("cause %+v, before %+v", c, c.Before)
	}
}
