package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/mcp"
)

func TestReconnectIsANewRequestWithoutLastEventIDAndRereads(t *testing.T) {
	t.Parallel()
	h := newTelling("one")
	s, _ := raw(t, h)
	pace := mcp.Backoff{Base: 4 * time.Millisecond, Cap: 8 * time.Millisecond, Seed: 7}
	plans := make(chan mcp.ReconnectPlan, 1)
	subscribed := make(chan int, 1) // subscriptions seen when the plan was made
	c := newClient(t, &mcp.Options{Backoff: pace, OnReconnect: func(p mcp.ReconnectPlan) {
		_, asked := h.saw()
		select {
		case plans <- p:
			subscribed <- len(asked)
		default:
		}
	}})
	if got := names(t, c, s); got != "one" {
		t.Fatal(got)
	}
	first := h.next(t)
	h.set("one", "two") // nobody is told: the stream is cut
	close(first.end)
	second := h.next(t)
	plan := <-plans
	want := mcp.ReconnectPlan{
		Server: s.ID, Attempt: 1, Wait: mcp.PlanReconnect(pace, s.ID, 1, mcp.Filter{}).Wait, Method: "subscriptions/listen", NewID: true,
		Filter: mcp.Filter{ToolsListChanged: true}, Reread: []string{"tools/list"}, SendLastEventID: false,
	}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Error(diff)
	}
	if n := <-subscribed; n != 1 {
		t.Errorf("%d subscriptions when the plan was made, want 1: it is made before it is carried out", n)
	}
	if plan.Wait >= pace.Base {
		t.Errorf("the first wait is %v, want below %v", plan.Wait, pace.Base)
	}
	data, err := json.Marshal(plan)
	if err != nil || !bytes.Contains(data, []byte(`"reread":["tools/list"],"sendLastEventId":false`)) {
		t.Errorf("the plan as data: %s, %v", data, err)
	}
	eventually(t, "the tools are read again", func() bool { return names(t, c, s) == "one two" })
	_, asked := h.saw()
	if len(asked) != 2 || asked[0].id == asked[1].id || second.id != asked[1].id {
		t.Fatalf("%d subscriptions, ids %+v", len(asked), asked)
	}
	for _, a := range asked {
		if _, sent := a.header["Last-Event-Id"]; sent || a.filter != `{"toolsListChanged":true}` || a.header.Get("Mcp-Method") != "subscriptions/listen" {
			t.Errorf("subscription %s: filter %s, headers %v", a.id, a.filter, a.header)
		}
	}
}

func TestASubscriptionThatIsRefusedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*telling{
		"unknown method": {refuse: func(w http.ResponseWriter, id string) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
		}},
		"unknown method, without a status": {refuse: func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
		}},
		"no leave":        {refuse: func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusForbidden) }},
		"nothing granted": {grant: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h.tools, h.streams = []string{"one"}, make(chan *stream, 100)
			s, _ := raw(t, h)
			var plans atomic.Int64
			c := newClient(t, &mcp.Options{
				Backoff:     mcp.Backoff{Base: time.Millisecond, Cap: time.Millisecond},
				OnReconnect: func(mcp.ReconnectPlan) { plans.Add(1) },
			})
			for range 5 {
				if got := names(t, c, s); got != "one" {
					t.Fatal(got)
				}
				if _, err := c.Call(t.Context(), s, call("one", nil)); err != nil {
					t.Fatal(err)
				}
			}
			if h.grant != "" {
				select {
				case <-h.streams:
				case <-time.After(5 * time.Second):
					t.Fatal("nobody subscribed")
				}
			}
			if _, asked := h.saw(); len(asked) != 1 || plans.Load() != 0 {
				t.Errorf("%d subscriptions, %d plans", len(asked), plans.Load())
			}
		})
	}
}

func TestAServerThatNeverAcknowledgesHoldsUpNoCall(t *testing.T) {
	t.Parallel()
	h := newTelling("one")
	hold, begun := make(chan struct{}), make(chan struct{}, 1)
	h.refuse = func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		begun <- struct{}{}
		<-hold
	}
	s, _ := raw(t, h)
	t.Cleanup(func() { close(hold) })
	c := newClient(t, nil)
	if _, err := c.Call(t.Context(), s, router.ToolCall{Tool: "one", Idle: 5 * time.Second, Max: 5 * time.Second}); err != nil {
		t.Error(err)
	}
	<-begun // it was asked, once
	if _, asked := h.saw(); len(asked) != 1 {
		t.Errorf("%d subscriptions", len(asked))
	}
}

func TestAStreamThatEndsAtOnceIsPacedByTheBackoff(t *testing.T) {
	t.Parallel()
	h := newTelling("one")
	h.refuse = func(w http.ResponseWriter, id string) { // acknowledged, and cut
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", notification("subscriptions/acknowledged", id, `,"notifications":{"toolsListChanged":true}`))
	}
	s, _ := raw(t, h)
	plans := make(chan mcp.ReconnectPlan, 100)
	c := newClient(t, &mcp.Options{
		Backoff:     mcp.Backoff{Base: time.Millisecond, Seed: 3},
		OnReconnect: func(p mcp.ReconnectPlan) { plans <- p },
	})
	names(t, c, s)
	for n := 1; n <= 6; n++ {
		select {
		case p := <-plans:
			if p.Attempt != n {
				t.Fatalf("attempt %d is counted as %d", n, p.Attempt)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it gave up")
		}
	}
}

// tellOnPipe is a child of the later era that tells its subscriber of a tool which
// appears with the first call.
func tellOnPipe() int {
	in := bufio.NewReader(os.Stdin)
	tools, subscription := `{"name":"echo","inputSchema":{"type":"object"}}`, ""
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		id := string(idOf(line))
		is := func(method string) bool { return bytes.Contains(line, []byte(`"method":"`+method+`"`)) }
		reply := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result) }
		switch {
		case is("server/discover"):
			reply(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
		case is("tools/list"):
			reply(`{"tools":[` + tools + `]}`)
		case is("subscriptions/listen"):
			subscription = id
			fmt.Println(notification("subscriptions/acknowledged", id, `,"notifications":{"toolsListChanged":true}`))
		case is("tools/call"):
			tools += `,{"name":"late","inputSchema":{"type":"object"}}`
			fmt.Println(notification("tools/list_changed", subscription, ""))
			reply(fine)
		}
	}
}

func TestASubscriptionOnAChildsPipeIsHeard(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "tells on a pipe")
	c := newClient(t, nil)
	if got := names(t, c, s); got != "echo" {
		t.Fatal(got)
	}
	if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tools are read again", func() bool { return names(t, c, s) == "echo late" })
}

func TestAChangeAtARealServerIsHeard(t *testing.T) {
	t.Parallel()
	overHTTP, _ := httpServer(t, true, nil)
	for name, s := range map[string]*router.Server{"over HTTP": overHTTP, "on a child's pipe": stdioServer(t, "modern")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told drifts
			c := newClient(t, &mcp.Options{OnDrift: told.note})
			before, err := c.Describe(t.Context(), s)
			if err != nil || !before.Modern {
				t.Fatalf("%+v, %v", before, err)
			}
			if _, err := c.Call(t.Context(), s, call("grow", nil)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the new tool is seen", func() bool { return strings.Contains(names(t, c, s), "grown") })
			after, err := c.Describe(t.Context(), s)
			if err != nil || after.Session.ID != before.Session.ID || c.Drifts(s.ID) != 1 || told.String() != s.ID+" true" {
				t.Errorf("the session is another: %t; %d changes, told %q; %v", after.Session.ID != before.Session.ID, c.Drifts(s.ID), told.String(), err)
			}
		})
	}
}

// A child of mcp-go's ends when its input does, a subscription or not.
func TestASubscriptionDoesNotHoldUpAChildsEnd(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "modern")
	c := mcp.New(&mcp.Options{Grace: time.Minute})
	names(t, c, s)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestAFloodOfAnnouncementsBringsFewReadingsOneAtATime(t *testing.T) {
	t.Parallel()
	h := newTelling("one")
	s, _ := raw(t, h)
	c := newClient(t, nil)
	names(t, c, s)
	st := h.next(t)
	began := time.Now()
	const atLeast, least = 10_000, 1200 * time.Millisecond
	told := 0
	var flood sync.WaitGroup
	flood.Go(func() {
		for told < atLeast || time.Since(began) < least {
			st.say <- notification("tools/list_changed", st.id, "")
			told++
		}
	})
	done := make(chan struct{})
	var calls sync.WaitGroup
	var made atomic.Int64
	for range 8 {
		calls.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := c.Call(t.Context(), s, call("one", nil)); err != nil {
					t.Error(err)
					return
				}
				made.Add(1)
			}
		})
	}
	flood.Wait()
	took := time.Since(began)
	close(done)
	calls.Wait()
	lists, _ := h.saw()
	if allowed := 1 + 4 + 1 + int(took/time.Second); lists > allowed {
		t.Errorf("%d readings in %v, want at most %d", lists, took, allowed)
	}
	h.mu.Lock()
	most := h.most
	h.mu.Unlock()
	if lists < 2 || most != 1 || made.Load() < 8 {
		t.Errorf("%d readings, %d at once, %d calls", lists, most, made.Load())
	}
	t.Logf("%d announcements and %d calls in %v: %d readings", told, made.Load(), took.Round(time.Millisecond), lists)
}
