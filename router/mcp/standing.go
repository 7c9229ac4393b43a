package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
)

// errNoStream says that a server has no stream of its own to offer.
var errNoStream = errors.New("the server offers no stream of its own")

// stand opens the stream on which a server of the earlier era with sessions sends
// over HTTP what belongs to no request of ours ("Listening for Messages from the
// Server"): some ask their questions there and not on the stream of the call. It is
// there while somebody can be asked. Its beginning is waited for a moment: a server
// that asks before drops the question.
func (c *conn) stand(ctx context.Context) {
	l, ok := c.link.(*httpLink)
	if !ok || c.modern || c.wire == nil && (!c.open.elicitation || l.GetSessionId() == "") {
		return
	}
	first := make(chan struct{})
	c.partings.Go(func() { c.standing(l, first) })
	wait := time.NewTimer(firstWord)
	defer wait.Stop()
	select {
	case <-first:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// standing keeps the stream until the connection is not used any more, or the server
// refuses it. A new one is a new request, without Last-Event-ID, after which the
// tools are read again. first is closed once the first one began, or is over.
func (c *conn) standing(l *httpLink, first chan struct{}) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	c.partings.Go(func() {
		defer leave()
		select {
		case <-c.idle: // retired, and no call is left that could be asked for
		case <-l.gone():
		case <-ctx.Done():
		}
	})
	for attempt := 0; ; {
		began := time.Now()
		err := c.overhear(ctx, l, first)
		first = nil
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errNoStream):
			c.log.Debug("a server's own stream is not listened to", "error", err)
			return
		}
		if time.Since(began) > c.backoff.Cap {
			attempt = 0 // it worked: the end is a new one
		}
		attempt++
		wait := time.NewTimer(c.backoff.delay(c.server.ID, attempt))
		select {
		case <-wait.C:
			c.suspect()
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}

// overhear makes one request for the stream, and takes in what comes until it ends.
func (c *conn) overhear(ctx context.Context, l *httpLink, first chan struct{}) (err error) {
	again := first == nil
	began := func() {
		if first != nil {
			close(first)
			first = nil
		}
	}
	defer began()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s", errNoStream, recovered(r).Message)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return errNoStream // the URL was good before
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := l.ask(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 500:
		return fmt.Errorf("%w: HTTP status %d", errNoStream, resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	case !isEventStream(resp):
		return fmt.Errorf("%w: its answer is no event stream", errNoStream)
	}
	if began(); again && c.wire != nil && c.wire.events.Lapsed != nil {
		c.wire.events.Lapsed()
	}
	return c.events(ctx, resp.Body)
}

// events takes in the messages of an event stream, whose reader bounds each event.
func (c *conn) events(ctx context.Context, stream io.Reader) error {
	for events := newEventReader(stream); ; {
		message, err := events.next()
		if err != nil {
			return err
		}
		c.overheard(ctx, message)
	}
}

// overheard takes in one message. A request is answered before the next is read, so
// that a server cannot ask faster than it is told.
func (c *conn) overheard(ctx context.Context, message []byte) {
	if c.wire != nil {
		c.wire.overhears(message)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		c.log.Debug("a message of a server's own stream cannot be read", "error", err)
		return
	}
	switch {
	case m.Method == "":
		c.link.requests().tally.add(WrongID) // answers come on the stream of their request
	case len(m.ID) == 0:
		var n protocol.JSONRPCNotification
		if err := json.Unmarshal(message, &n); err == nil {
			c.notified(n)
		}
	default:
		var req transport.JSONRPCRequest
		if err := json.Unmarshal(message, &req); err != nil {
			return
		}
		req.Params = m.Params // as it was written
		resp, err := c.asked(ctx, req)
		if err != nil || resp == nil {
			return // it is answered later
		}
		within, done := context.WithTimeout(ctx, farewell)
		defer done()
		if err := c.reply(within, resp); err != nil {
			c.log.Debug("the server was not told the answer to its request", "error", c.secrets.text(excerpt(err.Error())))
		}
	}
}
