package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"

	"junction/router/review"
)

// row is what one experiment showed.
type row struct {
	way  way
	race review.Race
	want review.Race // of the race table
}

// run runs every lab and prints its table. Its error says which rows are not as
// the race table says.
func run(ctx context.Context, w io.Writer) error {
	var faults []error
	for _, l := range labs {
		rows, err := l.run(ctx)
		if err != nil {
			return fmt.Errorf("lab %q: %w", l.title, err)
		}
		for _, r := range rows {
			if r.race != r.want {
				faults = append(faults, fmt.Errorf("%s, %s: observed %+v, and the race table says %+v", r.way, r.race.Order, r.race, r.want))
			}
		}
		if err := printRows(w, l.title, rows); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	_, err := fmt.Fprintln(w, "Every row is as the race table of `junction review` says.")
	return err
}

// run makes each experiment in every way, all ways at once.
func (l lab) run(ctx context.Context) ([]row, error) {
	var rows []row
	for _, e := range l.experiments {
		seen, faults := make([]row, len(ways)), make([]error, len(ways))
		var all sync.WaitGroup
		for i, w := range ways {
			all.Go(func() {
				if seen[i], faults[i] = e.run(ctx, w); faults[i] != nil {
					faults[i] = fmt.Errorf("%s, %s: %w", w, e.order, faults[i])
				}
			})
		}
		all.Wait()
		if err := errors.Join(faults...); err != nil {
			return nil, err
		}
		rows = append(rows, seen...)
	}
	return rows, nil
}

func (e experiment) run(ctx context.Context, w way) (r row, err error) {
	b, err := newBench(ctx, w)
	if err != nil {
		return r, err
	}
	o, err := e.do(ctx, b)
	if err == nil && e.order != review.LostCancel {
		_, err = b.works(ctx)
	}
	if o.scene != nil {
		close(o.scene.done)
	}
	// Nothing more is said once the client is closed: what was not posted by now
	// never is.
	if err = errors.Join(err, b.close(ctx)); err != nil {
		return r, err
	}
	r.way, r.race.Order = w, e.order
	terminal(&r.race, o.ending)
	r.race.Wire = wireSignal(b.stage.noticed(o.scene.id), o.closed, w.kind)
	r.race.Ignored = o.late
	if o.kind != "" {
		if b.counted(o.kind) > o.before {
			r.race.Counted = o.kind
		} else {
			r.race.Ignored += review.NoStream
		}
	}
	r.want = raceOf(w.kind, e.order)
	return r, nil
}

// raceOf is the race table's row; the zero Race where it has none.
func raceOf(k review.Kind, order string) (want review.Race) {
	for _, r := range review.Races(k) {
		if r.Order == order {
			want = r
		}
	}
	return want
}

func printRows(w io.Writer, title string, rows []row) error {
	if _, err := fmt.Fprintf(w, "%s\n\n", title); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	lines := [][]string{{"order", "transport", "terminal state", "final response", "wire signal", "ignored event"}}
	for _, r := range rows {
		lines = append(lines, []string{r.race.Order, r.way.String(), r.race.Terminal(), r.race.Final, string(r.race.Wire), r.race.Loser()})
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(tw, "  %s\n", strings.Join(l, "\t")); err != nil {
			return err
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
