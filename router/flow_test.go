package router_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"junction/router"
)

func drain(f *router.Flow[string]) (all []string) {
	for {
		v, ok := f.Next()
		if !ok {
			return all
		}
		all = append(all, v)
	}
}

func TestTheBufferStaysInItsBoundAndKeepsFinals(t *testing.T) {
	f := router.NewFlow[string](4)
	for i := range 1000 {
		f.Report("a", fmt.Sprint("a", i)) // neighbours become one
	}
	if lost := f.Reread(); lost != 0 {
		t.Errorf("%d lost, though the newest of a token stands for all", lost)
	}
	f.Report("b", "b0")
	f.Report("a", "a1000") // no neighbour of the first
	if err := f.Final("first"); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // the oldest reports give way
		if err := f.Final(fmt.Sprint("more", i)); err != nil {
			t.Fatal(err)
		}
	}
	if lost := f.Reread(); lost != 2 {
		t.Errorf("%d reports were dropped, want 2", lost)
	}
	f.Report("c", "c0") // so does a1000
	if err := f.Final("last"); err != nil {
		t.Fatal(err)
	}
	f.Report("c", "c1") // nothing left to give way but itself
	if err := f.Final("one too many"); !errors.Is(err, router.ErrFlowFull) {
		t.Errorf("a final that would drop another: %v", err)
	}
	if lost := f.Reread(); lost != 3 || f.Reread() != 0 {
		t.Errorf("%d reports were dropped, want 3, told once", lost)
	}
	if got, want := drain(f), []string{"first", "more0", "more1", "last"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}

// Whatever comes in whatever order: the bound holds, finals arrive in order and
// none is missing that was taken, reports of a token never go back, and each that
// is missing without a newer one of its token is marked.
func TestAFlowKeepsItsPromisesWhateverComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 6).Draw(t, "capacity")
		f := router.NewFlow[int](capacity)
		var finals, got []int
		token, newest := map[int]string{}, map[string]int{}
		var held, lost int
		for i := range rapid.IntRange(0, 60).Draw(t, "events") {
			switch what := rapid.SampledFrom([]string{"a", "b", "final", "next"}).Draw(t, "what"); what {
			case "final":
				if err := f.Final(i); err == nil {
					finals = append(finals, i)
				} else if held = countFinals(finals, got); held != capacity {
					t.Fatalf("refused with %d finals of %d", held, capacity)
				}
			case "next":
				if v, ok := f.Next(); ok {
					got = append(got, v)
				}
			default:
				f.Report(what, i)
				token[i], newest[what] = what, i
			}
		}
		lost += f.Reread()
		for n := 0; ; n++ {
			v, ok := f.Next()
			if !ok {
				break
			}
			if n == capacity {
				t.Fatalf("more than %d entries", capacity)
			}
			got = append(got, v)
		}
		if !slices.IsSorted(got) {
			t.Fatalf("out of order: %v", got)
		}
		arrived := slices.DeleteFunc(slices.Clone(got), func(v int) bool { return token[v] != "" })
		if !slices.Equal(arrived, finals) {
			t.Fatalf("finals %v, taken %v", arrived, finals)
		}
		for name, v := range newest {
			if !slices.Contains(got, v) && lost == 0 {
				t.Fatalf("%s's newest report is missing, and nothing says so", name)
			}
		}
	})
}

func countFinals(finals, got []int) int {
	n := 0
	for _, v := range finals {
		if !slices.Contains(got, v) {
			n++
		}
	}
	return n
}
