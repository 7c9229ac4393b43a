package cause

import (
	"context"
	"slices"
	"time"

	"junction/state"
)

const (
	// Before is how far back the failing server's health is looked at.
	Before = 10 * time.Minute
	// mostServers bounds the servers whose health is read.
	mostServers = 32
	// mostRounds is how many checkpoints are read in search of a loop.
	mostRounds = 13
)

// Evidence is what an explanation is made of. Only Thread is needed.
type Evidence struct {
	Thread  state.Thread
	Records []state.Record       // of the thread
	Samples []state.HealthSample // of the servers it called, around its failing call
	Now     time.Time            // on the reader's clock

	// Of a thread that does not go on.

	Sessions []state.Session
	Rounds   []state.Snapshot // its newest checkpoints, the head first
}

// Gather reads the evidence of a thread. The health of servers and what is there of
// a stuck run are read where they can matter.
func Gather(ctx context.Context, store state.Store, t state.Thread, now time.Time) (Evidence, error) {
	e := Evidence{Thread: t, Now: now}
	var err error
	if e.Records, err = store.Records(ctx, state.RecordFilter{Thread: t.ID}); err != nil {
		return e, err
	}
	if kept, ok := store.(state.HealthStore); ok && t.Failure != nil {
		if err := e.gatherHealth(ctx, kept); err != nil {
			return e, err
		}
	}
	if t.Failure == nil && t.Status != state.StatusRunning && t.Status != state.StatusPending {
		return e, nil
	}
	if e.Sessions, err = store.Sessions(ctx, t.ID); err != nil {
		return e, err
	}
	if t.Failure == nil || t.Failure.Code == recursionLimit {
		err = e.gatherRounds(ctx, store)
	}
	return e, err
}

func (e *Evidence) gatherHealth(ctx context.Context, kept state.HealthStore) error {
	last := e.lastReached()
	if last == nil {
		return nil
	}
	servers := []string{last.Server}
	for i := len(e.Records) - 1; i >= 0 && len(servers) < mostServers; i-- {
		if name := e.Records[i].Server; name != "" && !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	from, to := span(last)
	for _, name := range servers {
		samples, err := kept.Health(ctx, name, from, to)
		if err != nil {
			return err
		}
		e.Samples = append(e.Samples, samples...)
	}
	return nil
}

// span is the minutes that are looked at for a failing call: those before its end,
// and the one it lies in.
func span(r *state.Record) (from, to time.Time) {
	end := r.Started.Add(r.Duration)
	return end.Add(-Before).Truncate(time.Minute), end.Truncate(time.Minute).Add(time.Minute)
}

func (e *Evidence) gatherRounds(ctx context.Context, store state.Store) error {
	checkpoints, err := store.Checkpoints(ctx, e.Thread.ID, 0, mostRounds)
	if err != nil {
		return err
	}
	for i, c := range checkpoints {
		seq := c.Seq
		if i == 0 {
			seq = 0 // the head comes with what happened since
		}
		snapshot, err := store.Load(ctx, e.Thread.ID, seq)
		if err != nil {
			return err
		}
		e.Rounds = append(e.Rounds, snapshot)
	}
	return nil
}

// LastFailing is the last call that failed at the node that the run failed at, also
// one that was not sent; nil when none did.
func (e *Evidence) LastFailing() *state.Record {
	return e.last(func(*state.Record) bool { return true })
}

// lastReached is the last of them that was made of a server.
func (e *Evidence) lastReached() *state.Record {
	return e.last(func(r *state.Record) bool { return r.Server != "" })
}

func (e *Evidence) last(counts func(*state.Record) bool) (last *state.Record) {
	for i := range e.Records {
		r := &e.Records[i]
		failing := r.IsError || r.Status != state.CallSuccess && r.Status != state.CallOpen && r.Status != state.CallWaiting
		here := e.Thread.Failure == nil || e.Thread.Failure.Node == "" || r.Node == e.Thread.Failure.Node
		if failing && here && counts(r) {
			last = r
		}
	}
	return last
}
