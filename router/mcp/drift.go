package mcp

import (
	"time"

	"junction/router"
)

// remakeEvery bounds how often a server that says something else whenever it is
// asked has its session made anew for that.
const remakeEvery = time.Minute

// drift is what a peer keeps to notice that a server is not what it said it was.
type drift struct {
	told     *router.Description // last taken for the server's word
	doubted  *router.Description // what it said when its session was given up for it
	remade   time.Time
	observed uint64
}

// noticed holds a reading against what the server said before (R2). session: it is
// the first reading of a new session. announced: the server told of a change before
// it was read.
//
// A change that nobody told of, within a session over HTTP, ends the session: the
// next one says whether it is another version, and is what counts. A child is not
// restarted for it, since what it holds would be lost.
func (p *peer) noticed(c *conn, k *catalog, session, announced bool) {
	is := k.description
	p.mu.Lock()
	d := &p.drift
	was, doubted := d.told, d.doubted
	if session {
		d.doubted = nil
	}
	changed := was != nil && was.Fingerprint != is.Fingerprint
	if changed && !session && !announced && c.http && time.Since(d.remade) >= remakeEvery {
		d.remade, d.doubted = time.Now(), is
		p.mu.Unlock()
		c.log.Info("the server's capabilities changed untold: its session is made anew", "was", was.Fingerprint, "is", is.Fingerprint)
		c.superseded.Store(true)
		p.drop(c)
		return
	}
	d.told = is
	if !changed && session && doubted != nil {
		changed, is = true, doubted // it says one thing now and another then
	}
	if changed {
		d.observed++
	}
	p.mu.Unlock()
	if !changed {
		return
	}
	same := was.Name == is.Name && was.Version == is.Version
	c.log.Warn("the server's capabilities changed", "same_version", same, "was", was.Fingerprint, "is", is.Fingerprint)
	p.client.opts.OnDrift(p.server.Load().ID, same)
}

// Drifts is how often the server of that id was found to be another than it had
// said, since this client first reached it.
func (c *Client) Drifts(id string) uint64 {
	c.mu.RLock()
	p := c.peers[id]
	c.mu.RUnlock()
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drift.observed
}
