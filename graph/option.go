package graph

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// NodeOption sets something about one node of a typed graph.
type NodeOption func(*nodeSettings)

type nodeSettings struct {
	node   *Node
	state  reflect.Type
	layout *layout
	writes []string // of the error handler
	faults []Fault
}

// WithRetry runs the node again when it fails.
func WithRetry(r Retry) NodeOption { return func(s *nodeSettings) { s.node.Retry = &r } }

// WithTimeout bounds each attempt of the node, and its error handler.
func WithTimeout(d time.Duration) NodeOption { return func(s *nodeSettings) { s.node.Timeout = d } }

// MayGo declares the nodes, or End, that the node may name as successors.
func MayGo(nodes ...string) NodeOption {
	return func(s *nodeSettings) { s.node.Goto = append(s.node.Goto, nodes...) }
}

// PauseBefore stops the thread before the node runs.
func PauseBefore() NodeOption { return func(s *nodeSettings) { s.node.PauseBefore = true } }

// PauseAfter stops the thread after the node has run.
func PauseAfter() NodeOption { return func(s *nodeSettings) { s.node.PauseAfter = true } }

// OnError runs fn when the node has failed for good, in its place. A hop that may
// have taken effect, without anybody knowing, is no such failure, nor is a store
// that fails: the thread fails then, and a resume finds out.
func OnError[S, P any](fn func(ctx context.Context, s S, failure error) (P, error)) NodeOption {
	return func(s *nodeSettings) {
		place := quoted("error handler of node", s.node.Name)
		if t := reflect.TypeFor[S](); t != s.state {
			s.faults = append(s.faults, Fault{Kind: FaultType, Place: place, Message: fmt.Sprintf("it takes %s, the graph's state is %s", t, s.state)})
			return
		}
		p, faults := newPartial(s.layout, s.state, reflect.TypeFor[P](), place)
		s.faults = append(s.faults, faults...)
		s.writes = p.writes()
		s.node.OnError = func(ctx context.Context, in Input) (Update, error) {
			out, err := fn(ctx, stateOf[S](s.layout, in.State), in.Err)
			if err != nil {
				return Update{}, err
			}
			return p.update(reflect.ValueOf(&out).Elem()), nil
		}
	}
}
