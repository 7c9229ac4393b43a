package graph

import (
	"context"
	"errors"
	"sync"
	"time"
)

// stream hands events to the caller one after another and falls silent when
// the run is over.
type stream struct {
	on     func(Event)
	thread string
	mu     sync.Mutex
	closed bool
}

func (s *stream) send(e Event) {
	if s.on == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	e.Time, e.Thread = time.Now(), s.thread
	s.on(e)
	s.closed = e.Kind == EventEnd
}

// close silences the stream: what abandoned nodes emit is dropped.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// event sends one event of the superstep under way.
func (r *run) event(e Event) {
	if r.stream.on == nil {
		return
	}
	e.Step, e.Seq = r.step+1, r.seq
	r.stream.send(e)
}

func (t *task) event(e Event) {
	if t.run.stream.on == nil {
		return
	}
	e.Task, e.Node, e.Index = t.ID, t.Node, t.Index
	e.Step, e.Seq = t.at.step, t.at.seq
	t.run.stream.send(e)
}

// Emit puts a value of a node's own (progress, a hop) into the run's stream, as
// an [EventCustom] of its task. Outside of a node it is an error.
func Emit(ctx context.Context, v any) error {
	t, _ := ctx.Value(taskKey{}).(*task)
	if t == nil {
		return errors.New("graph.Emit: the context does not belong to a node's task; pass on the one the node was given")
	}
	t.event(Event{Kind: EventCustom, Value: v})
	return nil
}
