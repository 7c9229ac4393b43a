package mcp

import (
	"encoding/json"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

func TestReadingsAreAFewAtOnceAndThenOneASecond(t *testing.T) {
	t.Parallel()
	var p pace
	now := time.Unix(1e9, 0)
	taken := 0
	for range 1000 { // ten seconds, a hundred askers in each
		if p.take(now) {
			taken++
		}
		now = now.Add(10 * time.Millisecond)
	}
	if taken < readBurst+8 || taken > readBurst+10 {
		t.Errorf("%d readings in 10 s", taken)
	}
	now = now.Add(time.Hour)
	taken = 0
	for range 100 {
		if p.take(now) {
			taken++
		}
	}
	if taken != readBurst {
		t.Errorf("%d readings at once after an hour", taken)
	}
}

func TestOnlyWhatOurSubscriptionBringsIsHeeded(t *testing.T) {
	t.Parallel()
	const changed, acknowledged = "notifications/tools/list_changed", "notifications/subscriptions/acknowledged"
	grant := map[string]any{"notifications": map[string]any{"toolsListChanged": true}}
	for _, tt := range []struct {
		name         string
		modern, http bool
		granted      bool // before
		method       string
		id           any // of the notification; ours is 7
		stale        bool
	}{
		{"ours", true, true, true, changed, 7, true},
		{"another's", true, true, true, changed, 8, false},
		{"another's, in text", true, true, true, changed, "7", false},
		{"nobody's, where a server has many clients", true, true, true, changed, nil, false},
		{"nobody's, on a child's own pipe", true, false, true, changed, nil, true},
		{"another's, on a child's own pipe", true, false, true, changed, 8, false},
		{"ours, before it was acknowledged", true, true, false, changed, 7, false},
		{"our acknowledgement", true, true, false, acknowledged, 7, true},
		{"another acknowledgement of ours", true, true, true, acknowledged, 7, false},
		{"another's acknowledgement", true, true, false, acknowledged, 8, false},
		{"the earlier era", false, true, false, changed, nil, true},
	} {
		c := &conn{modern: tt.modern, http: tt.http}
		s := &subscription{id: 7}
		s.granted.Store(tt.granted)
		c.heard.Store(s)
		meta := map[string]any{}
		if tt.id != nil {
			meta[protocol.MetaKeySubscriptionID] = tt.id
		}
		params := map[string]any{"_meta": meta}
		if tt.method == acknowledged {
			params["notifications"] = grant["notifications"]
		}
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": tt.method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		var n protocol.JSONRPCNotification
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
		c.told(&n)
		if c.stale.Load() != tt.stale {
			t.Errorf("%s: the tools are read again: %t, want %t", tt.name, c.stale.Load(), tt.stale)
		}
	}
	c := &conn{modern: true, http: true}
	c.told(&protocol.JSONRPCNotification{Notification: protocol.Notification{Method: changed}}) // nobody listens any more
	if c.stale.Load() {
		t.Error("a notification for nobody is heeded")
	}
}
