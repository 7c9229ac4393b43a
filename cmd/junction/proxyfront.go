package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
	"junction/state"
)

const (
	// followEvery is how often what discovery knows is compared with what is bridged.
	followEvery = time.Second
	// refreshEvery is how often discovery is asked to look again: of a servers file
	// nobody else does.
	refreshEvery = 10 * time.Second
)

// fronted is the servers of a discovery as a bridge takes them: by name, so that the
// instances of a service are one, reached at whichever of them answers.
type fronted struct {
	discovery router.Discovery
	open      func(context.Context, *router.Server, mcp.Greeting, mcp.Events) (*mcp.Wire, *router.CallError)
	hints     bool // a server's own count everywhere
}

// names are those of all servers, or of these; in order.
func (f *fronted) names(only []string) []string {
	var all []string
	for _, s := range f.discovery.Snapshot().Servers {
		if len(only) == 0 || slices.Contains(only, s.Name) {
			all = append(all, s.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// instances are the servers of a name, in order of their ids.
func (f *fronted) instances(name string) []*router.Server {
	var all []*router.Server
	for _, s := range f.discovery.Snapshot().Servers {
		if s.Name == name {
			all = append(all, s)
		}
	}
	return all
}

func (f *fronted) servers(names []string) []bridge.Server {
	all := make([]bridge.Server, 0, len(names))
	for _, name := range names {
		all = append(all, f.server(name))
	}
	return all
}

// server is one as the bridge takes it. It looks at the discovery anew each time: an
// address or an effect may have changed.
func (f *fronted) server(name string) bridge.Server {
	hints := &bridge.Hints{}
	var mu sync.Mutex
	turn := 0
	return bridge.Server{
		Name: name,
		Open: func(ctx context.Context, g mcp.Greeting, e mcp.Events) (bridge.Session, *router.CallError) {
			all := f.instances(name)
			if len(all) == 0 {
				return nil, &router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "no server of this name is known any more"}
			}
			mu.Lock()
			at := all[turn%len(all)]
			turn++ // another one next time
			mu.Unlock()
			s, fail := f.open(ctx, at, g, e)
			if fail != nil {
				return nil, fail
			}
			return hints.Learn(s), nil
		},
		Effect: func(tool string) (state.Effect, string) { return f.effect(name, tool, hints) },
	}
}

// effect is what the operator says of a tool, else what the server hints where that
// counts. Of several instances, and of a service whose instances come and go, a call may
// be made again at another one: what holds at the same server alone does not count, nor
// does what holds at some of them.
func (f *fronted) effect(name, tool string, hints *bridge.Hints) (state.Effect, string) {
	all := f.instances(name)
	if len(all) == 0 {
		return state.Unsafe, ""
	}
	moves, trusted := len(all) > 1 || all[0].Source == "consul", true
	effect, key, ledger := effectIn(all[0].Offers, tool)
	for _, s := range all {
		trusted = trusted && (f.hints || s.Trusted)
		e, k, l := effectIn(s.Offers, tool)
		if e != effect || e == state.Conditional && (k != key || l != ledger) {
			return state.Unsafe, ""
		}
	}
	switch {
	case effect == state.Conditional && moves && (ledger == "" || strings.HasPrefix(ledger, all[0].ID+"@")):
		// The ledger is the instance's own: Consul's are named after it and its node.
		return state.Unsafe, ""
	case effect != "":
		return effect, key
	case trusted:
		return hints.Effect(tool, moves), ""
	}
	return state.Unsafe, ""
}

// follow keeps the bridge's servers those that discovery knows.
func (f *fronted) follow(ctx context.Context, b *bridge.Bridge, only []string, log *slog.Logger) {
	look, refresh := time.NewTicker(followEvery), time.NewTicker(refreshEvery)
	defer look.Stop()
	defer refresh.Stop()
	known := f.names(only)
	faulty := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-refresh.C:
			within, cancel := context.WithTimeout(ctx, refreshEvery)
			err := f.discovery.Refresh(within)
			cancel()
			if said := errorText(err); said != faulty && ctx.Err() == nil {
				if faulty = said; said != "" {
					log.Warn("servers may be missing", "error", clean(said))
				}
			}
		case <-look.C:
		}
		if now := f.names(only); !slices.Equal(now, known) {
			log.Info("servers changed", "servers", orWord(listed(now), "none"))
			known = now
			b.Update(f.servers(now))
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
