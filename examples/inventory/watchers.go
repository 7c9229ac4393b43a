package inventory

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// look is the time between two looks for what others have changed.
const look = 100 * time.Millisecond

// watchers are the subscriptions to articles. mcp-go announces lists on a
// subscription's stream, and leaves changes of a resource to us. Whoever made a
// change, at this server or at another one of the same file, is found out by
// looking: there is one goroutine for it while anybody watches.
type watchers struct {
	stock *Stock

	mu     sync.Mutex
	all    map[*watcher]bool
	cancel context.CancelFunc // of the goroutine; nil: there is none
	closed bool
	looks  sync.WaitGroup
}

// watcher is one subscription.
type watcher struct {
	session mcpserver.ClientSession
	id      any             // by which its notices are known
	told    map[string]Item // by URI, what there was at the last notice; the goroutine's
	uris    []string
}

// began notes a subscription, until its request ends.
func (w *watchers) began(ctx context.Context, id any, r *mcp.SubscriptionsListenRequest) {
	session := mcpserver.ClientSessionFromContext(ctx)
	if session == nil || len(r.Params.Notifications.ResourceSubscriptions) == 0 {
		return
	}
	one := &watcher{session, id, make(map[string]Item), r.Params.Notifications.ResourceSubscriptions}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if w.all == nil {
		w.all = make(map[*watcher]bool)
	}
	w.all[one] = true
	if w.cancel == nil {
		var following context.Context
		following, w.cancel = context.WithCancel(context.Background())
		w.looks.Go(func() { w.follow(following) })
	}
	context.AfterFunc(ctx, func() { w.ended(one) })
}

func (w *watchers) ended(one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, one)
	if len(w.all) == 0 && w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

// close ends the looking.
func (w *watchers) close() {
	w.mu.Lock()
	w.closed = true
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
	w.mu.Unlock()
	w.looks.Wait()
}

// current are the subscriptions of now; none for a goroutine that has ended, since
// those of today are another one's.
func (w *watchers) current(ctx context.Context) []*watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	all := make([]*watcher, 0, len(w.all))
	for one := range w.all { // each is told for itself: order has no say
		all = append(all, one)
	}
	return all
}

// follow tells the subscribers of what has changed until ctx ends.
func (w *watchers) follow(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, one := range w.current(ctx) {
			for _, uri := range one.uris {
				w.tell(ctx, one, uri)
			}
		}
	}
}

// tell sends a notice where the record is not what it was at the last one. The
// first comes at once, for nobody knows what the client has read. One that cannot
// be sent, or a record that cannot be read, is tried again at the next look.
func (w *watchers) tell(ctx context.Context, one *watcher, uri string) {
	sku, err := skuOf(uri)
	if err != nil {
		return // none of ours: it never changes
	}
	item, err := w.stock.Item(ctx, sku)
	if err != nil && !errors.Is(err, ErrNoSuchItem) {
		return
	}
	if before, known := one.told[uri]; known && before == item {
		return
	}
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = mcp.MethodNotificationResourceUpdated
	n.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: one.id}
	n.Params.AdditionalFields = map[string]any{"uri": uri}
	select {
	case one.session.NotificationChannel() <- n:
		one.told[uri] = item
	default:
	}
}

// skuOf is the article of a resource.
func skuOf(uri string) (string, error) {
	name, ours := strings.CutPrefix(uri, resource)
	if !ours {
		return "", ErrNoSuchItem
	}
	return url.PathUnescape(name)
}
