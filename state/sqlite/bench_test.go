package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"junction/state"
	"junction/state/sqlite"
)

// item is a JSON value of 1 KiB.
var item = json.RawMessage(`"` + strings.Repeat("x", 1022) + `"`)

// appending is a thread whose supersteps each append item.
type appending struct {
	s      *sqlite.Store
	lease  state.Lease
	parent int64
}

func newAppending(t testing.TB, s *sqlite.Store, id string) *appending {
	t.Helper()
	if _, err := s.CreateThread(t.Context(), state.NewThread{
		ID: id, Workflow: "growth", Lineage: "01234567-89ab-cdef-0123-456789abcdef",
		Set: map[string]json.RawMessage{"round": json.RawMessage(`0`)}, Append: map[string][]json.RawMessage{"log": nil},
	}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), id, "bench", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &appending{s: s, lease: l, parent: 1}
}

func (a *appending) step(ctx context.Context) error {
	cp, err := a.s.Commit(ctx, state.Commit{
		Lease: a.lease, Parent: a.parent, WriteID: fmt.Sprintf("01234567-89ab-cdef-0123-%012d", a.parent), Step: int(a.parent), Status: state.StatusRunning,
		Set: map[string]json.RawMessage{"round": json.RawMessage(fmt.Sprint(a.parent))}, Append: map[string][]json.RawMessage{"log": {item}},
		Next: []state.Task{{ID: "0123456789abcdef0123456789abcdef", Node: "work", From: []string{"work"}}},
	})
	a.parent = cp.Seq
	return err
}

func (a *appending) steps(t testing.TB, n int) {
	t.Helper()
	for range n {
		if err := a.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// grown is the size of a database in which one thread ran so many supersteps.
func grown(t testing.TB, steps int) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := newAppending(t, s, "t")
	a.steps(t, steps)
	if err := s.Close(); err != nil { // moves the write-ahead log into the file
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestGrowthIsLinear(t *testing.T) {
	empty, hundred, thousand := grown(t, 0), grown(t, 100), grown(t, 1000)
	early, all := float64(hundred-empty)/100, float64(thousand-empty)/1000
	t.Logf("%.0f bytes a superstep over 100, %.0f over 1,000, of 1,024 appended", early, all)
	if all > 1.5*1024 {
		t.Errorf("1,000 supersteps of 1 KiB take %.0f bytes each, more than 1.5 times what they append", all)
	}
	if all > 1.1*early {
		t.Errorf("a superstep takes %.0f bytes over 1,000 supersteps and %.0f over 100: growth is not linear", all, early)
	}
}

func BenchmarkAppendGrowth(b *testing.B) {
	for _, steps := range []int{100, 1000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			empty := grown(b, 0)
			var size int64
			for b.Loop() {
				size = grown(b, steps)
			}
			b.ReportMetric(float64(size-empty)/float64(steps), "B/step")
			b.ReportMetric(float64(size-empty)/float64(steps)/float64(len(item)), "B/payload-B")
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "state.db"))
			work := make(chan struct{})
			done := make(chan struct{})
			for i := range callers {
				a := newAppending(b, s, fmt.Sprint("t", i))
				go func() {
					for range work {
						if err := a.step(b.Context()); err != nil {
							b.Error(err)
						}
					}
					done <- struct{}{}
				}()
			}
			b.ReportAllocs()
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			for range callers {
				<-done
			}
		})
	}
}
