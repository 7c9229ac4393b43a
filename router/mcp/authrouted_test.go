package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/state"
	"junction/state/memory"
)

// known is a discovery of servers that do not change.
type knownServers []*router.Server

func (k knownServers) Snapshot() *router.Snapshot {
	return &router.Snapshot{Servers: k, Version: 1}
}

func (k knownServers) Refresh(context.Context) error { return nil }

// A server whose scheme is not held gets no call, the next one does it, and nothing
// of a credential is in what is kept of it: records, sessions, the answer.
func TestARoutedCallLeavesAServerThatTakesNoneOfOurCredentials(t *testing.T) {
	i := newIssuing(t)
	good, takes := newGate(t, false, i.honours, "WWW-Authenticate", "Bearer")
	takes.ID = "takes-token"
	takes.Dial.Auth = append([]router.Credential{{Scheme: "api-key", Token: "hunter3hunter3"}}, ourClient(i.url)...)
	bad, refuses := newGate(t, true, func(h http.Header) bool { return false }, "WWW-Authenticate", "DPoP")
	refuses.ID = "refuses"
	refuses.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter4hunter4"}}
	for _, s := range []*router.Server{takes, refuses} {
		s.Offers = []router.Offer{{Capability: "say", Tool: "echo", Effect: state.Unsafe}}
	}

	store := memory.New(nil)
	if _, err := store.CreateThread(t.Context(), state.NewThread{ID: "t", Lineage: "l", Next: []state.Task{{ID: "k", Node: "n"}}}); err != nil {
		t.Fatal(err)
	}
	lease, err := store.Acquire(t.Context(), "t", "worker", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	j := state.NewJournal(state.Scope{Thread: "t", Lineage: "l", Seq: 1, Task: "k", Node: "n"},
		state.JournalOptions{Store: store, Lease: func() state.Lease { return lease }})
	c := newSilent(t, "hunter", "wire-session")
	r := router.New(knownServers{takes, refuses}, c.Client, nil)
	defer r.Close()
	answer, err := r.Do(state.WithJournal(t.Context(), j), state.Call{Capability: "say"})
	if err != nil {
		t.Fatal(err)
	}
	_, used := good.counted()
	_, never := bad.counted()
	if used != 1 || never != 0 {
		t.Errorf("%d calls at the one that takes a token, %d at the other", used, never)
	}

	records, err := store.Records(t.Context(), state.RecordFilter{})
	if err != nil || len(records) == 0 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	sessions, err := store.Sessions(t.Context(), "t")
	if err != nil || len(sessions) != 1 || sessions[0].Scheme != "oauth" {
		t.Errorf("sessions %+v: %v", sessions, err)
	}
	told := []any{answer, records, sessions}
	for _, s := range r.Servers(t.Context()) {
		told = append(told, s.Description, s.Err, s.Health)
		fmt.Fprintf(c, "%v %+v %#v", *s.Server, *s.Server, s.Server.Dial) // as a careless log would
	}
	for _, v := range told {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		c.Write(text)
		fmt.Fprintf(c, "%+v", v)
	}
	if why := string(records[0].Decision); !strings.Contains(why, "MCP_AUTH_MISMATCH") || !strings.Contains(why, "DPoP") {
		t.Errorf("the decision does not say why the other was left: %s", why)
	}
}
