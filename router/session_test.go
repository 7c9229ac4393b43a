package router_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"junction/router"
	"junction/state"
)

// threadBook keeps records and sessions, as a store that a crash does not lose.
type threadBook struct {
	ledgerBook
	sessions map[string]state.Session
	fail     error
}

func (b *threadBook) PutSession(_ context.Context, _ state.Lease, s state.Session) error {
	if b.fail != nil {
		return b.fail
	}
	if b.sessions == nil {
		b.sessions = map[string]state.Session{}
	}
	b.sessions[s.ID] = s
	return nil
}

func (b *threadBook) Sessions(context.Context, string) ([]state.Session, error) {
	var all []state.Session
	for _, s := range b.sessions {
		all = append(all, s)
	}
	return all, b.fail
}

// run is one run of a task of the thread.
func (b *threadBook) run(t *testing.T, task string) context.Context {
	j := state.NewJournal(state.Scope{Thread: "t", Task: task, Node: "work"},
		state.JournalOptions{Store: b, Lease: func() state.Lease { return state.Lease{} }})
	return state.WithJournal(t.Context(), j)
}

// numbered makes a server whose every connection has a session of its own.
func numbered(connection *atomic.Int64, modern bool) func(*router.Server, *script) {
	return func(s *router.Server, k *script) {
		k.describe = func(context.Context) (*router.Description, error) {
			id := s.ID + "-" + string(rune('0'+connection.Load()))
			return &router.Description{Name: s.ID, Tools: k.tools, Modern: modern, Session: state.Session{ID: id, Server: s.ID}}, nil
		}
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			if c.Session != "" && c.Session != s.ID+"-"+string(rune('0'+connection.Load())) {
				return nil, &router.CallError{Code: router.SessionExpired, Execution: state.NotExecuted, Message: "it has ended"}
			}
			return answers(s.ID)(ctx, n, c)
		}
	}
}

var ofThread = state.Call{Capability: "work", Session: "thread"}

func TestASessionThatAnotherProcessOpenedIsLostAndSaidSo(t *testing.T) {
	for name, modern := range map[string]bool{"with a session": false, "without one to lose": true} {
		t.Run(name, func(t *testing.T) {
			var connection atomic.Int64
			f, book := newFleet(), &threadBook{}
			for _, id := range []string{"a", "b", "c", "d"} {
				f.add(id, numbered(&connection, modern))
			}
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				for _, task := range []string{"1", "2", "3"} {
					if _, err := r.Do(book.run(t, task), ofThread); err != nil {
						t.Fatal(err)
					}
				}
			})
			first := f.servers()
			if len(slices.Compact(slices.Clone(first))) != 1 {
				t.Fatalf("went to %v, want one server", first)
			}
			connection.Add(1)
			inBubble(t, f, router.Options{Seed: 99}, func(t *testing.T, r *router.Router) {
				a, err := r.Do(book.run(t, "4"), ofThread)
				if modern {
					if err != nil || a.Server != first[0] {
						t.Errorf("at %s, %v; want still %s", a.Server, err, first[0])
					}
					return
				}
				lost, ok := errors.AsType[*router.SessionLostError](err)
				if !ok || lost.ServerID != first[0] || lost.Code() != "MCP_SESSION_EXPIRED" || len(f.servers()) != 3 {
					t.Fatalf("%v after %v; want that the session is lost, and nothing sent", err, f.servers())
				}
				// Started again, the node opens another session and stays with it.
				for _, task := range []string{"4", "5", "6"} {
					if _, err := r.Do(book.run(t, task), ofThread); err != nil {
						t.Fatal(err)
					}
				}
				if went := f.servers()[3:]; len(slices.Compact(slices.Clone(went))) != 1 {
					t.Errorf("went to %v, want one server", went)
				}
			})
		})
	}
}

func TestASessionLostInThisProcessIsNotMadeAnewInSilence(t *testing.T) {
	var connection atomic.Int64
	f, book := newFleet().add("a", numbered(&connection, false)), &threadBook{}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if _, err := r.Do(book.run(t, "1"), ofThread); err != nil {
			t.Fatal(err)
		}
		connection.Add(1) // the router has not heard of it
		_, err := r.Do(book.run(t, "2"), ofThread)
		if coded, ok := errors.AsType[interface {
			error
			Code() string
		}](err); !ok || coded.Code() != "MCP_SESSION_EXPIRED" {
			t.Errorf("%v", err)
		}
		if _, err := r.Do(book.run(t, "2"), ofThread); err != nil {
			t.Errorf("started again: %v", err)
		}
	})
}

func TestAFirstHopTakesTheSessionThereIs(t *testing.T) {
	var connection atomic.Int64
	f, book := newFleet().add("a", numbered(&connection, false)), &threadBook{}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if _, err := r.Do(book.run(t, "0"), work); err != nil {
			t.Fatal(err)
		}
		connection.Add(1)
		if _, err := r.Do(book.run(t, "1"), ofThread); err != nil {
			t.Errorf("the thread has no session to lose yet: %v", err)
		}
	})
}

func TestSessionsWithServersCalledByNameAreApart(t *testing.T) {
	f, book := newFleet().add("a", nil).add("b", nil), &threadBook{}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		for i, server := range []string{"a", "b", "a"} {
			c := state.Call{Server: server, Tool: "do", Session: "thread"}
			if a, err := r.Do(book.run(t, string(rune('0'+i))), c); err != nil || a.Server != server {
				t.Errorf("%s: at %s, %v", server, a.Server, err)
			}
		}
	})
}

func TestABoundSessionThatCannotBeReadOrKeptIsAnError(t *testing.T) {
	f, book := newFleet().add("a", nil), &threadBook{fail: errors.New("disk full")}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if _, err := r.Do(book.run(t, "1"), ofThread); !errors.Is(err, book.fail) || len(f.servers()) != 0 {
			t.Errorf("%v after %v", err, f.servers())
		}
	})
}
