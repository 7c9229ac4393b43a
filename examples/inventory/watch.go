package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// Watch is a client that decides by the record of one article. It knows the record
// for as long as a subscription tells it of changes; a subscription that broke may
// have missed one, so afterwards the record is read again before it is used.
type Watch struct {
	client *client.Client
	sku    string

	mu    sync.Mutex
	item  Item
	epoch int  // rises with everything after which item may be wrong
	read  int  // the epoch that item was read in
	whole bool // a subscription stands
}

// NewWatch returns a watch that an initialized client serves.
func NewWatch(c *client.Client, sku string) *Watch {
	w := &Watch{client: c, sku: sku, read: -1}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case mcp.MethodNotificationSubscriptionsAcknowledged:
			w.turn(true) // what came before it is not known
		case mcp.MethodNotificationResourceUpdated:
			if n.Params.AdditionalFields["uri"] == w.uri() {
				w.mu.Lock()
				w.epoch++
				w.mu.Unlock()
			}
		}
	})
	return w
}

func (w *Watch) uri() string { return resource + url.PathEscape(w.sku) }

// turn notes that a subscription has begun or ended.
func (w *Watch) turn(whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = whole
	w.epoch++
}

// Listen subscribes, and returns when the subscription has ended. Whoever calls it
// again makes a new one, which is told nothing of what the old one missed.
func (w *Watch) Listen(ctx context.Context) error {
	defer w.turn(false)
	return w.client.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{w.uri()}})
}

// Item returns the record, and reads it again unless a subscription has stood ever
// since it was read and told of no change.
func (w *Watch) Item(ctx context.Context) (Item, error) {
	w.mu.Lock()
	item, epoch, known := w.item, w.epoch, w.known()
	w.mu.Unlock()
	if known {
		return item, nil
	}
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = "get_inventory", map[string]any{"sku": w.sku}
	result, err := w.client.CallTool(ctx, r)
	if err != nil {
		return Item{}, fmt.Errorf("read %s: %w", w.sku, err)
	}
	if result.IsError {
		return Item{}, fmt.Errorf("read %s: %v", w.sku, result.Content)
	}
	if err := json.Unmarshal(result.RawStructuredContent, &item); err != nil {
		return Item{}, fmt.Errorf("read %s: %w", w.sku, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if epoch >= w.read {
		w.item, w.read = item, epoch
	}
	return item, nil
}

// Known reports whether the record is used as it is.
func (w *Watch) Known() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known()
}

func (w *Watch) known() bool { return w.whole && w.read == w.epoch }

// Enough decides whether a quantity may be asked for.
func (w *Watch) Enough(ctx context.Context, quantity int64) (bool, error) {
	item, err := w.Item(ctx)
	return err == nil && item.Free >= quantity, err
}
