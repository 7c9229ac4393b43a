package inventory

import (
	"context"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// watchers are the subscriptions to articles. mcp-go announces lists on a
// subscription's stream, and leaves changes of a resource to us.
type watchers struct {
	mu  sync.Mutex
	all map[*watcher]bool
}

type watcher struct {
	session mcpserver.ClientSession
	id      any // of the subscription, by which its notices are known
	uris    []string
}

// began notes a subscription, until its request ends.
func (w *watchers) began(ctx context.Context, id any, r *mcp.SubscriptionsListenRequest) {
	session := mcpserver.ClientSessionFromContext(ctx)
	if session == nil || len(r.Params.Notifications.ResourceSubscriptions) == 0 {
		return
	}
	one := &watcher{session, id, r.Params.Notifications.ResourceSubscriptions}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[*watcher]bool)
	}
	w.all[one] = true
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, one)
	})
}

// changed tells the subscribers of a resource. One that does not read is left out:
// what its full queue holds tells it to read the record again, too.
func (w *watchers) changed(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all { // each is told for itself: order has no say
		if !slices.Contains(one.uris, uri) {
			continue
		}
		n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
		n.Method = mcp.MethodNotificationResourceUpdated
		n.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: one.id}
		n.Params.AdditionalFields = map[string]any{"uri": uri}
		select {
		case one.session.NotificationChannel() <- n:
		default:
		}
	}
}
