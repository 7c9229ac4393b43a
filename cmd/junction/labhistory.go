package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"junction/cmd/junction/internal/past"
	"junction/cmd/junction/internal/view"
	"junction/router/lab"
	"junction/state"
)

// mostRecords bounds what a scenario is made of.
const mostRecords = 500_000

// recorded is what a scenario was made from, as it is printed beside what the lab says.
type recorded struct {
	past.Actual
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Unknown []string  `json:"unknown"` // what the records do not tell
}

// onHistory makes a scenario of recorded calls, and prints it or runs it.
func (c *labCmd) onHistory(con console) func(context.Context, state.Store) error {
	return func(ctx context.Context, store state.Store) error {
		p, err := c.past(ctx, store)
		if errors.Is(err, past.ErrNothing) {
			return failed(fmt.Errorf("%w (the last %s)", err, c.Since), "a longer --since, or junction history, which shows what is recorded")
		}
		if err != nil {
			return err
		}
		if c.Print {
			_, err := io.WriteString(con.out, p.YAML())
			return err
		}
		return c.compare(ctx, con, []lab.Scenario{p.Scenario}, &recorded{p.Actual, p.From, p.To, p.Unknown})
	}
}

func (c *labCmd) past(ctx context.Context, store state.Store) (*past.Past, error) {
	now := time.Now()
	records, err := store.Records(ctx, state.RecordFilter{Since: now.Add(-c.Since), Limit: mostRecords})
	if err != nil {
		return nil, fmt.Errorf("recorded calls: %w", err)
	}
	var samples []state.HealthSample
	if kept, ok := store.(state.HealthStore); ok {
		if samples, err = kept.Health(ctx, "", now.Add(-c.Since), now.Add(time.Minute)); err != nil {
			return nil, fmt.Errorf("how servers fared: %w", err)
		}
	}
	p, err := past.Read(records, samples, past.Options{Capability: c.Capability, Servers: c.Server})
	if err == nil && len(records) == mostRecords {
		p.Unknown = append(p.Unknown, fmt.Sprintf("what came after %s: of more than %d records the oldest are taken; a shorter --since reads later ones", p.To.UTC().Format(time.DateTime), mostRecords))
	}
	return p, err
}

// print shows what happened beside what the lab says of the policies.
func (r *recorded) print(w io.Writer, report *lab.Report) error {
	_, err := fmt.Fprintf(w, "\nrecorded: %s of %s, P50 %.0f ms, P99 %.0f ms, %.3g over 1 s, %.3g with an error, %.3g attempts each; %s got %.3g of them\n",
		view.Count(r.Calls, "call"), view.Clean(r.Capability), r.P50, r.P99, r.Over, r.Errors, r.Attempts, view.Clean(r.Watch), r.Share)
	if err != nil {
		return err
	}
	if f, ok := report.Policies[0].Figure(lab.P99); ok && r.P99 > 0 {
		if _, err := fmt.Fprintf(w, "  the lab's P99 of %s is %.2g times the recorded one: where that is the policy which was in force, so far the two are apart\n", report.Policies[0].Policy, f.Mean/r.P99); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w, "\nnot known from the records:"); err != nil {
		return err
	}
	for _, u := range r.Unknown {
		if _, err := io.WriteString(w, past.Wrap(u, "  - ", "    ")); err != nil {
			return err
		}
	}
	return nil
}
