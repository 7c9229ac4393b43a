package mcp

import (
	"context"
	"math"
	"net/http"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
)

func newTally() *tally { return &tally{tell: func(string, Stray) {}} }

func (t *tally) count(kind Stray) uint64 {
	for i, k := range kinds {
		if k == kind {
			return t.counts[i].Load()
		}
	}
	return math.MaxUint64
}

func TestALateAnswerIsToldFromASecondAndAMadeUpOne(t *testing.T) {
	counted := newTally()
	all := newRequests(counted)
	end := func(id int64, as phase) {
		all.add(id, alone(t.Context(), id), make(chan answer, 1))
		all.end(id, as)
	}
	for i, c := range []struct {
		id   int64
		kind Stray
	}{
		{1, DuplicateAnswer}, {2, LateAnswer}, {2, DuplicateAnswer}, {3, LateAnswer}, {4, LateAnswer}, {5, WrongID}, {0, WrongID}, {-1, WrongID},
	} {
		if i == 0 {
			end(1, completed)
			end(2, cancelled)
			end(3, timedOut)
			end(4, failed)
		}
		before := counted.count(c.kind)
		if all.answered(c.id) != nil || counted.count(c.kind) != before+1 {
			t.Errorf("answer %d to %d is no %s", i, c.id, c.kind)
		}
	}
	all.progress(1, update{progress: 1}, plain)
	all.progress(9, update{progress: 1}, plain)
	if counted.count(LateProgress) != 1 || counted.count(UnknownToken) != 1 {
		t.Error("late progress and that of nobody are not told apart")
	}
}

func TestWhatAConnectionRemembersOfItsRequestsIsBounded(t *testing.T) {
	counted := newTally()
	all := newRequests(counted)
	long := alone(t.Context(), 1)
	all.add(1, long, nil)
	all.end(1, completed)
	all.add(1, long, nil) // it goes on, as a task does, while many others come and go
	for id := int64(2); id < 5000; id++ {
		all.add(id, alone(t.Context(), id), nil)
		all.end(id, cancelled)
		if len(all.byID) > remembered+1 {
			t.Fatalf("%d entries", len(all.byID))
		}
	}
	all.progress(1, update{progress: 1}, plain)
	if n := counted.count(LateProgress) + counted.count(UnknownToken); n != 0 {
		t.Error("a request under way was forgotten")
	}
	all.answered(4999)
	all.answered(2)
	if counted.count(LateAnswer) != 1 || counted.count(WrongID) != 1 {
		t.Error("the last requests are remembered, the first are not")
	}
}

// Over HTTP the answer may be read in the moment in which the caller gives up.
func TestAnAnswerReadAfterItsCancelIsSuppressedOverHTTPToo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, ex := withExchange(ctx, 7)
	l := &httpLink{asked: newRequests(newTally())}
	req := transport.JSONRPCRequest{ID: protocol.NewRequestId(int64(7)), Method: "tools/call"}
	resp := &transport.JSONRPCResponse{ID: req.ID, Result: []byte(`{"content":[]}`)}
	if !ex.flight.leave() {
		t.Fatal("it may leave")
	}
	cancel()
	got, e := l.judge(ex, req, resp, nil)
	if got != nil || e == nil || e.Code != router.Cancelled || e.Execution != state.Unknown || ex.flight.owesNotice() {
		t.Errorf("%+v, %v", got, e)
	}
	if n := l.asked.tally.count(LateAnswer); n != 1 {
		t.Errorf("%d late answers", n)
	}
	_, other := withExchange(t.Context(), 8)
	req.ID = protocol.NewRequestId(int64(8))
	if got, e := l.judge(other, req, resp, nil); got != nil || e.Code != router.OutputInvalid {
		t.Errorf("an answer under another id: %+v, %v", got, e)
	}
}

func TestNoCancelIsSentAfterARefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, ex := withExchange(ctx, 7)
	ex.flight.leave()
	ex.status = http.StatusServiceUnavailable
	l := &httpLink{asked: newRequests(newTally()), hop: &origin{wallet: &wallet{}}}
	_, e := l.judge(ex, transport.JSONRPCRequest{ID: protocol.NewRequestId(int64(7)), Method: "tools/call"}, nil, nil)
	cancel()
	if e.Code != router.ServerOverload || ex.flight.settle() != completed || ex.flight.owesNotice() {
		t.Errorf("%v, %v", e, ex.flight.settle())
	}
}

func TestNoErrandBeginsOnceTheyAreWaitedFor(t *testing.T) {
	var e errands
	var began, all sync.WaitGroup
	for range 100 {
		began.Add(1)
		all.Go(func() {
			began.Done()
			e.Go(func() {})
		})
	}
	began.Wait()
	e.Wait()
	all.Wait()
	e.Go(func() { t.Error("it began") })
	e.Wait()
}

func TestWhatIsNoMessageIsNoStrayEither(t *testing.T) {
	for line, want := range map[string]uint64{
		`{"level":"info","msg":"listening"}`: 0, `{}`: 0, `"text"`: 0, `[]`: 0, `null`: 0, `7`: 0,
		`{"id":9,"result":{}}`: 1, `{"id":"9","result":{}}`: 1, `{"result":{}}`: 1, `{"id":null,"error":{"code":-32700,"message":""}}`: 1,
	} {
		s := &stdio{asked: newRequests(newTally())}
		s.dispatch([]byte(line))
		if n := s.asked.tally.count(WrongID); n != want {
			t.Errorf("%s: %d answers under a wrong id", line, n)
		}
	}
}
