package routed

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
	"junction/state"
)

// metaKey is where a client puts the key of a call that it may make twice.
const metaKey = "dev.junction/idempotency-key"

const (
	longestKey = 255
	// keysKept bounds the keys of one client: what was done under one must not be
	// forgotten while its client may come back with it.
	keysKept = 10_000
	// answersKept bounds what their answers hold, in bytes. The oldest give way: the
	// call is known to have been made then, and its answer is not.
	answersKept = 32 << 20
)

// keyOf is the key that a request's _meta gives; "" for none.
func keyOf(meta map[string]json.RawMessage) (string, *mcp.RPCError) {
	raw, given := meta[metaKey]
	if !given {
		return "", nil
	}
	var key string
	if err := json.Unmarshal(raw, &key); err != nil || key == "" || len(key) > longestKey {
		return "", &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: fmt.Sprintf("_meta[%q] is a text of 1 to %d bytes", metaKey, longestKey)}
	}
	return key, nil
}

// keys are what was done under the keys of clients.
type keys struct {
	mu    sync.Mutex
	by    map[string]*keyed
	held  int // bytes of answers
	order []string
}

// keyed is what one key stands for.
type keyed struct {
	turn    chan struct{} // holds a token while a call is under way
	users   int           // calls under way or waiting
	records []state.Record
	size    int
	listed  bool // among those that give way
	dropped bool // its answer gave way
}

// keyError refuses a call under a key.
type keyError struct{ text string }

func (e *keyError) Error() string { return e.text }

// Code is the error's name.
func (*keyError) Code() string { return "key_refused" }

// take waits for the key's turn and returns what was done under it; release keeps
// what is known then.
func (k *keys) take(ctx context.Context, task string) (prior []state.Record, release func([]state.Record), err error) {
	e, err := k.enter(task)
	if err != nil {
		return nil, nil, err
	}
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		k.leave(task, e)
		return nil, nil, context.Cause(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.dropped {
		<-e.turn
		e.users--
		return nil, nil, &keyError{"a call was made under this key and is not made again; its answer is no longer kept"}
	}
	return e.records, func(rs []state.Record) {
		k.put(task, e, rs)
		<-e.turn
		k.leave(task, e)
	}, nil
}

func (k *keys) enter(task string) (*keyed, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.by[task]
	if e == nil && len(k.by) >= keysKept {
		return nil, &keyError{fmt.Sprintf("%d keys are known already, and none may be forgotten: make the call without a key, or start the proxy anew", keysKept)}
	}
	if e == nil {
		if k.by == nil {
			k.by = map[string]*keyed{}
		}
		e = &keyed{turn: make(chan struct{}, 1)}
		k.by[task] = e
	}
	e.users++
	return e, nil
}

// leave forgets a key under which nothing was done.
func (k *keys) leave(task string, e *keyed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.users--; e.users == 0 && len(e.records) == 0 && !e.dropped {
		delete(k.by, task)
	}
}

// put keeps the records, and drops the oldest answers where they are too many.
func (k *keys) put(task string, e *keyed, rs []state.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held -= e.size
	e.records, e.size = rs, 0
	for i := range rs {
		e.size += len(rs[i].Result)
		rs[i].Decision = nil // it is in the store, and no part of an answer
	}
	k.held += e.size
	if !e.listed && len(rs) > 0 {
		k.order, e.listed = append(k.order, task), true
	}
	for k.held > answersKept && len(k.order) > 1 {
		k.giveWay(k.by[k.order[0]])
		k.order = k.order[1:]
	}
}

// giveWay drops an answer, but for one in use, which is listed anew when it is kept.
func (k *keys) giveWay(old *keyed) {
	old.listed = false
	if len(old.turn) > 0 {
		return
	}
	k.held -= old.size
	old.records, old.size, old.dropped = nil, 0, true
}
