package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
)

// headerSessionTTL tells how long the session lives from here on, in seconds. A
// server of the earlier era may send it with any answer; one that never prolongs a
// session may as well declare session_ttl under dev.junction/routing.
const headerSessionTTL = "X-Mcp-Session-Ttl"

// touchWithin bounds the request that asks a server to prolong a session.
const touchWithin = 10 * time.Second

// lifetime is how long a session lives, reckoned on our own clock from when the
// server said so: what its clock shows does no harm.
type lifetime struct {
	ends    time.Time
	touch   time.Time // from here on it is used once, so that the server may prolong it
	replace time.Time // from here on another one is opened beside the calls
	touched atomic.Bool
}

// lasting is a lifetime of ttl: touched after min(0.7·ttl, 300 s), replaced in its
// last 30 s, or in the last half of one too short for that.
func lasting(said time.Time, ttl time.Duration) *lifetime {
	last := max(ttl-30*time.Second, ttl/2)
	return &lifetime{
		ends: said.Add(ttl), replace: said.Add(last),
		touch: said.Add(min(ttl*7/10, 300*time.Second, last)),
	}
}

// tenure is the lifetime of a link's session as last told; nil: nothing was told.
type tenure struct{ atomic.Pointer[lifetime] }

// hear takes in what an answer says of the session that its request was part of,
// or that it begins.
func (l *tenure) hear(req *http.Request, resp *http.Response) {
	v := resp.Header.Get(headerSessionTTL)
	if v == "" || req.Header.Get(transport.HeaderKeySessionID) == "" && resp.Header.Get(transport.HeaderKeySessionID) == "" {
		return
	}
	if ttl := seconds(v); ttl > 0 {
		l.Store(lasting(time.Now(), ttl))
	}
}

// declare takes in what the answer to initialize declares, unless its header said it.
func (l *tenure) declare(opened time.Time, initial json.RawMessage) {
	var doc struct {
		Capabilities struct {
			Extensions   map[string]json.RawMessage `json:"extensions"`
			Experimental map[string]json.RawMessage `json:"experimental"`
		} `json:"capabilities"`
	}
	if l.Load() != nil || json.Unmarshal(initial, &doc) != nil {
		return
	}
	raw, ok := doc.Capabilities.Extensions[routingKey]
	if !ok {
		raw = doc.Capabilities.Experimental[routingKey]
	}
	var declared struct {
		TTL json.Number `json:"session_ttl"` // seconds
	}
	if json.Unmarshal(raw, &declared) != nil {
		return
	}
	if ttl := seconds(declared.TTL.String()); ttl > 0 {
		l.CompareAndSwap(nil, lasting(opened, ttl))
	}
}

// lifetime is that of the connection's session; nil: it has none, or nothing is
// known.
func (c *conn) lifetime() *lifetime {
	if h, ok := c.link.(*httpLink); ok && !c.modern && h.GetSessionId() != "" {
		return h.hop.tenure.Load()
	}
	return nil
}

// keep looks after the session of a connection in use.
func (p *peer) keep(c *conn) {
	l := c.lifetime()
	if l == nil {
		return
	}
	switch now := time.Now(); {
	case now.Before(l.touch):
	case !now.Before(l.replace):
		p.replace(c)
	case l.touched.CompareAndSwap(false, true):
		c.partings.Go(c.ping)
	}
}

// ping is a request that does nothing but use the session.
func (c *conn) ping() {
	ctx, cancel := context.WithTimeout(c.life, touchWithin)
	defer cancel()
	if _, e := c.send(ctx, string(protocol.MethodPing), []byte("{}"), nil); e != nil {
		c.log.Debug("the session was not prolonged", "error", c.secrets.text(e.Error()))
	}
}

// replace opens another connection beside one whose session ends soon. Calls go on
// with the old one until the new one stands.
func (p *peer) replace(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.dialing != nil || p.live.Load() != c || time.Now().Before(p.retryAt) {
		return
	}
	p.known = c.known.Load()
	d := &dialing{done: make(chan struct{})}
	p.dialing = d
	p.client.work.Go(func() { p.dial(d) })
}
