package static

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"junction/router"
)

// Discovery shows the file's servers. Refresh reads the file again; a version
// with faults is reported and the last good one stays, marked stale. The
// configuration that [Parse] made has no file behind it and never changes.
//
// What stands under discovery: is another source and not shown here, nor is what
// stands under routing:. A version that says something else there is taken for all
// the rest, and Refresh returns [ErrRestart] until the file says the same again as
// when it was loaded.
func (c *Config) Discovery() router.Discovery {
	d := &discovery{good: c, path: c.Path, found: c.found, routed: c.routed}
	d.shown.Store(&router.Snapshot{Servers: c.Servers, Contracts: c.Contracts, Version: 1})
	return d
}

// ErrRestart is a change of a section that is read once, at the start: discovery or
// routing.
var ErrRestart = errors.New("the section discovery or routing has changed, and is read at the start only; start again to use it")

// discovery follows one file. mu is held while the file is read, so that
// refreshes at once read it one after another and versions only rise; a
// Snapshot takes no lock.
type discovery struct {
	shown atomic.Pointer[router.Snapshot]

	path   string
	found  string // of the section discovery that is in force
	routed string // of the section routing

	mu   sync.Mutex
	good *Config // what shown was made from
}

// String names the source in errors.
func (d *discovery) String() string { return "servers file " + d.path }

func (d *discovery) Snapshot() *router.Snapshot { return d.shown.Load() }

func (d *discovery) Refresh(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.good.read == nil {
		return nil
	}
	next, err := Load(d.good.Path, d.good.opts)
	now := d.shown.Load()
	if err != nil {
		if !now.Stale {
			d.show(d.good, true)
		}
		return fmt.Errorf("servers file has changed and cannot be used; the last good version stays in force: %w", err)
	}
	if !next.adopt(d.good) || now.Stale {
		d.good = next
		d.show(next, false)
	}
	if next.found != d.found || next.routed != d.routed {
		return fmt.Errorf("servers file %s: %w", d.path, ErrRestart)
	}
	return nil
}

func (d *discovery) show(c *Config, stale bool) {
	d.shown.Store(&router.Snapshot{
		Servers: c.Servers, Contracts: c.Contracts, Stale: stale,
		Version: d.shown.Load().Version + 1,
	})
}

// adopt takes over the servers of old that are declared in c just the same, so
// that whoever knows them by pointer still does, and reports whether all is the
// same.
func (c *Config) adopt(old *Config) (same bool) {
	same = len(c.Servers) == len(old.Servers) && sameContracts(c.Contracts, old.Contracts)
	known := make(map[string]*router.Server, len(old.Servers))
	for _, s := range old.Servers {
		known[s.ID] = s
	}
	for i, s := range c.Servers {
		if k := known[s.ID]; k != nil && c.prints[s.ID] == old.prints[s.ID] {
			c.Servers[i] = k
		} else {
			same = false
		}
	}
	return same
}

func sameContracts(a, b map[string]router.Contract) bool {
	if len(a) != len(b) {
		return false
	}
	for name, x := range a {
		y, ok := b[name]
		if !ok || string(x.Input) != string(y.Input) || string(x.Output) != string(y.Output) {
			return false
		}
	}
	return true
}

// Fixed is a discovery of one server that never changes.
func Fixed(s *router.Server) router.Discovery {
	c := &Config{Servers: []*router.Server{s}, Contracts: map[string]router.Contract{}}
	return c.Discovery()
}
