package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"junction/router/consul"
	"junction/router/static"
	"junction/state"
	"junction/state/redis"
)

// firstLook bounds the wait for Consul's first answer. After it the run goes on
// with what else is known; the watch tries again by itself.
const firstLook = 3 * time.Second

// lookEvery is how often who waits for servers sees whether there are any.
const lookEvery = 50 * time.Millisecond

// openConsul starts the discovery of servers in Consul, where the command line or
// the servers file asks for it; nil where neither does.
func openConsul(ctx context.Context, config *static.Config, s Settings) (*consul.Discovery, error) {
	o, asked := consulOptions(config, s)
	if !asked || s.Detach {
		return nil, nil
	}
	d, err := consul.New(o)
	if err != nil {
		return nil, &ConfigError{err}
	}
	firstSight(ctx, d)
	return d, nil
}

// consulOptions are what the servers file says of Consul, with the command line's
// address above it; asked is false where neither names one.
func consulOptions(config *static.Config, s Settings) (o consul.Options, asked bool) {
	if config != nil && config.Consul != nil {
		c := config.Consul
		o = consul.Options{
			Address: c.Address, Token: c.Token, TokenFile: c.TokenFile, Datacenter: c.Datacenter,
			CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile, ServerName: c.ServerName,
			Tag: c.Tag, Trust: c.Trust, Services: c.Services,
		}
	}
	if s.Consul != "" && s.Consul != o.Address {
		// Another Consul than the file's: what the operator says of services holds
		// there, too, but the token and keys were given for the file's, and it is the
		// file's that was trusted.
		o.Address, o.Token, o.TokenFile, o.CAFile, o.CertFile, o.KeyFile, o.ServerName = s.Consul, "", "", "", "", "", ""
		o.Trust = false
	}
	o.Log = s.Log
	return o, o.Address != ""
}

// firstSight looks into Consul, and where nothing comes of it gives the watch some
// time: an agent that restarts is back in a moment.
func firstSight(ctx context.Context, d *consul.Discovery) {
	look, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	if d.Refresh(look) == nil { // else it says itself what is wrong, and goes on trying
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for s := d.Snapshot(); s.Stale && len(s.Servers) == 0; s = d.Snapshot() {
		select {
		case <-tick.C:
		case <-look.Done():
			return
		}
	}
}

// AsksConsul reports whether servers are found in Consul.
func (a *App) AsksConsul() bool { return a.consul != nil }

// Doubt says why there may be servers in Consul that are not known; nil where it
// has been read, or is not asked. The log says more.
func (a *App) Doubt() error {
	switch {
	case a.consul == nil || !a.consul.Snapshot().Stale:
		return nil
	case a.consul.Err() == nil:
		return fmt.Errorf("no answer from Consul within %s", firstLook)
	}
	return errors.New("no answer from Consul that can be used")
}

// AwaitServers waits, where servers are found in Consul, until it has been read
// and some server is known, or until ctx ends. A worker that took threads before
// that would fail them all, one after another, for want of servers.
func (a *App) AwaitServers(ctx context.Context, log *slog.Logger) {
	if a.consul == nil || a.hasServers() {
		return
	}
	log.Warn("no thread is taken yet: no server is known, in the servers file or from Consul")
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !a.hasServers() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	look, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	_ = a.consul.Refresh(look) // those of other services, too; it says itself what is wrong
	log.Info("threads are taken: servers are known", "servers", len(a.servers.Snapshot().Servers))
}

// hasServers reports whether Consul has been read and there is a server.
func (a *App) hasServers() bool {
	found := a.consul.Snapshot()
	read := !found.Stale || len(found.Servers) > 0
	return read && len(a.servers.Snapshot().Servers) > 0
}

// ErrNoQueue: the store is not one that workers can share.
var ErrNoQueue = errors.New("this store is not one that workers can share")

// shared refuses the address of a store that has no queue.
func shared(address string) error {
	if scheme, _, err := parseAddress(address); err != nil || scheme == "redis" {
		return err
	}
	return noQueue(address)
}

func noQueue(address string) error {
	return fmt.Errorf("%w (%s): use --store redis://HOST:PORT", ErrNoQueue, cmp.Or(address, DefaultStore))
}

// Queue is the store's queue of threads for workers.
func (a *App) Queue() (state.Queue, error) {
	q, ok := a.Store.(state.Queue)
	if !ok {
		return nil, noQueue(a.Address)
	}
	return q, nil
}

// Fit refuses a store that would lose threads while workers rely on it.
func (a *App) Fit(ctx context.Context) error {
	r, ok := a.kept.(*redis.Store)
	if !ok {
		return nil
	}
	findings, err := r.Unsafe(ctx)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Refuse {
			return fmt.Errorf("%w (%s): %s is %s: %s", ErrNoQueue, a.Address, f.Setting, f.Value, f.Risk)
		}
	}
	return nil
}

// tidyEvery is how often a worker deletes what retention says.
const tidyEvery = time.Hour

// Tidy deletes old threads now and then, until ctx ends.
func (a *App) Tidy(ctx context.Context, keep state.Retention, log *slog.Logger) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		if n, err := a.Store.Prune(ctx, keep); err != nil && ctx.Err() == nil {
			log.Warn("old threads could not be deleted", "error", err)
		} else if n > 0 {
			log.Info("old threads deleted", "threads", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
