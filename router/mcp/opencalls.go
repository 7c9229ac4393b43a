package mcp

import (
	"context"
	"sync"
)

// openCalls are the calls of one connection that a server can reach besides
// their answers: with questions, and with word of their tasks.
type openCalls struct {
	elicitation bool // the server was told that a person can be asked

	mu     sync.Mutex
	askers map[*asker]struct{}
	tasks  map[string]chan<- struct{} // by the task's id: has room for one token
}

// attend lets questions find the call that come over the connection, and not on
// the call's own stream, until the returned function is called.
func (o *openCalls) attend(a *asker) (leave func()) {
	if a.ask == nil || !o.elicitation {
		return func() {}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.askers == nil {
		o.askers = map[*asker]struct{}{}
	}
	o.askers[a] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.askers, a)
	}
}

// hear has news told that the server sends of a task, until the returned function
// is called.
func (o *openCalls) hear(task string, news chan<- struct{}) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tasks == nil {
		o.tasks = map[string]chan<- struct{}{}
	}
	o.tasks[task] = news
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.tasks, task)
	}
}

// stir tells whoever waits for the task that something changed.
func (o *openCalls) stir(task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.tasks[task] <- struct{}{}:
	default:
	}
}

// askerOf finds the call that a question belongs to: the one on whose stream it
// came, the one whose task it names, or the only open one that can ask somebody.
func (o *openCalls) askerOf(ctx context.Context, task string) (a *asker, why string) {
	const nobody = "nobody can be asked during this call"
	if a, ok := ctx.Value(askerKey{}).(*asker); ok {
		if a.ask == nil {
			return nil, nobody
		}
		return a, ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if task != "" {
		for a := range o.askers {
			if id := a.task.Load(); id != nil && *id == task {
				return a, ""
			}
		}
		return nil, "no open call waits for the task that the question is part of"
	}
	switch len(o.askers) {
	case 0:
		return nil, nobody
	case 1:
		for a := range o.askers {
			return a, ""
		}
	}
	return nil, "several calls are open, and the question does not say which one it is part of"
}
