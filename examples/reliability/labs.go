package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/router/mcp"
	"junction/router/review"
)

// experiment brings one order of events about. It returns what was observed, but
// for the wire and what was counted, which the end of the client settles.
type experiment struct {
	order string
	do    func(ctx context.Context, b *bench) (observed, error)
}

// observed is what an experiment saw.
type observed struct {
	ending
	scene  *scene
	closed bool      // the client closed the request's stream before it was answered
	late   string    // the event that came too late
	kind   mcp.Stray // that it is counted as where it can arrive; "": it is the client's own
	before uint64    // so many of the kind were counted before
}

// lab is one of the four.
type lab struct {
	title       string
	experiments []experiment
}

var labs = []lab{
	{"1. Cancel, then complete", []experiment{{review.CancelAnswer, cancelThenAnswer}}},
	{"2. Complete, then cancel", []experiment{
		{review.AnswerCancel, answerThenCancel}, {review.AnswerTwice, answerTwice}, {review.AnswerProgress, answerThenProgress},
	}},
	{"3. Progress past each idle limit, then past the maximum", []experiment{
		{review.IdleAnswer, quietThenAnswer}, {review.MaximumReport, progressToTheMaximum},
	}},
	{"4. The request's stream is closed", []experiment{
		{review.CancelAnswer, cancelThenAnswer}, {review.LostCancel, hangUpThenCancel},
	}},
}

// Clocks of the third lab: so long that a busy machine does not make the idle time
// pass between two reports, and that the last of them has arrived long before the
// maximum.
const (
	shortIdle = 150 * time.Millisecond
	longIdle  = time.Second
	maximum   = 2700 * time.Millisecond
	often     = 20 * time.Millisecond
	reporting = 2*longIdle + 100*time.Millisecond
)

func cancelThenAnswer(ctx context.Context, b *bench) (o observed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.scene, o.ending, err = b.cut(ctx, patience, patience, cancel); err != nil {
		return o, err
	}
	return b.answerLate(o)
}

func quietThenAnswer(ctx context.Context, b *bench) (o observed, err error) {
	if o.scene, o.ending, err = b.cut(ctx, shortIdle, patience, func() {}); err != nil {
		return o, err
	}
	if o.took < shortIdle {
		return o, fmt.Errorf("the idle clock ended the call after %s", o.took)
	}
	return b.answerLate(o)
}

// cut begins a call that the server does not answer, does what ends it and waits
// until it has ended.
func (b *bench) cut(ctx context.Context, idle, longest time.Duration, end func()) (*scene, ending, error) {
	c, ended, err := b.call(ctx, idle, longest)
	if err != nil {
		return nil, ending{}, err
	}
	end()
	e, err := await(ended, "the end of the call")
	return c, e, err
}

// answerLate waits until the server was told that the request has ended, in the
// way of its transport, and answers it then.
func (b *bench) answerLate(o observed) (observed, error) {
	if err := b.told(&o); err != nil {
		return o, err
	}
	return o, b.sendLate(&o, review.LateAnswer, mcp.LateAnswer, func() error { return o.scene.answer("too late") })
}

// told waits for the server to notice the end of the request.
func (b *bench) told(o *observed) error {
	if b.kind != review.HTTP {
		if _, err := await(b.stage.notices, "notifications/cancelled"); err != nil {
			return err
		}
	}
	if b.kind == review.Stdio {
		return nil
	}
	_, err := await(o.scene.closed, "the end of the request's stream")
	o.closed = err == nil
	return err
}

// sendLate sends what comes too late. On a pipe it arrives, and is counted; on a
// stream that is closed it cannot.
func (b *bench) sendLate(o *observed, late string, kind mcp.Stray, send func() error) error {
	o.late, o.kind, o.before = late, kind, b.counted(kind)
	err := send()
	if b.kind != review.Stdio {
		return nil // whether the write fails depends on what the network still buffers
	}
	for err == nil && b.counted(kind) == o.before {
		_, err = await(b.strays, string(kind))
	}
	return err
}

func (b *bench) counted(kind mcp.Stray) uint64 { return b.client.Strays(b.server.ID)[kind] }

func answerThenCancel(ctx context.Context, b *bench) (o observed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o, err = b.answered(ctx); err != nil {
		return o, err
	}
	cancel()
	o.late = review.LateCancel
	return o, nil
}

func answerTwice(ctx context.Context, b *bench) (o observed, err error) {
	if o, err = b.answered(ctx); err != nil {
		return o, err
	}
	return o, b.sendLate(&o, review.Another, mcp.DuplicateAnswer, func() error { return o.scene.answer("and again") })
}

func answerThenProgress(ctx context.Context, b *bench) (o observed, err error) {
	if o, err = b.answered(ctx); err != nil {
		return o, err
	}
	return o, b.sendLate(&o, review.LateReport, mcp.LateProgress, func() error { return o.scene.progress(1) })
}

// answered makes a call, answers it, and waits until its caller has the result.
func (b *bench) answered(ctx context.Context) (o observed, err error) {
	c, ended, err := b.call(ctx, patience, patience)
	if err != nil {
		return o, err
	}
	o.scene = c
	if err := c.answer("done"); err != nil {
		return o, err
	}
	o.ending, err = await(ended, "the result")
	if b.kind != review.Stdio && err == nil {
		_, err = await(c.closed, "the end of the stream that brought the answer")
	}
	return o, err
}

// progressToTheMaximum reports progress, always rising, for longer than the idle
// time twice over; the maximum clock ends the call in spite of it. One more report
// comes after that.
func progressToTheMaximum(ctx context.Context, b *bench) (o observed, err error) {
	c, ended, err := b.call(ctx, longIdle, maximum)
	if err != nil {
		return o, err
	}
	o.scene = c
	n, err := b.report(c)
	if err != nil {
		return o, err
	}
	if o.ending, err = await(ended, "the end of the call"); err != nil {
		return o, err
	}
	if o.took < maximum {
		return o, fmt.Errorf("the call ended after %s, before the maximum", o.took)
	}
	if err := b.told(&o); err != nil {
		return o, err
	}
	return o, b.sendLate(&o, review.LateReport, mcp.LateProgress, func() error { return c.progress(n + 1) })
}

// report sends reports that rise for as long as it is to be reported, and waits
// until the client knows the last one.
func (b *bench) report(c *scene) (n int, err error) {
	tick := time.NewTicker(often)
	defer tick.Stop()
	for over := time.After(reporting); ; {
		select {
		case <-tick.C:
			n++
			if err := c.progress(n); err != nil {
				return n, err
			}
			continue
		case <-over:
		}
		for {
			known, err := await(b.reports, "the last report")
			if known >= n || err != nil {
				return n, err
			}
		}
	}
}

// hangUpThenCancel lets the server close the stream, or end, in mid-call. The same
// call made again is another request: a new id, and nothing is resumed.
func hangUpThenCancel(ctx context.Context, b *bench) (o observed, err error) {
	first, err := b.works(ctx) // a connection that has proved itself is made anew at once
	if err != nil {
		return o, err
	}
	during, cancel := context.WithCancel(ctx)
	defer cancel()
	c, ended, err := b.call(during, patience, patience)
	if err != nil {
		return o, err
	}
	o.scene = c
	c.hangUp()
	if o.ending, err = await(ended, "the failure"); err != nil {
		return o, err
	}
	cancel()
	o.late = review.LateCancel
	again, err := b.works(ctx)
	switch {
	case err != nil:
		return o, err
	case again.id == c.id || again.id == first.id:
		return o, errors.New("the call made again has an id that was used before")
	}
	if calls, resumes := b.stage.seen(); calls != 3 || resumes != 0 {
		return o, fmt.Errorf("the server saw %d calls and %d attempts to resume a stream", calls, resumes)
	}
	return o, nil
}
