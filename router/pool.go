package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"junction/health"
	"junction/state"
)

// pool is the outcome of discovery for one call: who can do it, and why the
// others cannot. Its entries are sorted by server id and tool. Hops share it, so
// it is never changed.
type pool struct {
	entries  []entry
	rejected []Rejection
	reasons  map[string]int // of the rejected
	contract Contract
	stale    bool
	redial   time.Duration // until the first of the unreachable ones is tried again; 0: none will be
}

// gatherPool returns the pool of a snapshot for what a call asks for. It waits for
// handshakes no longer than patience.
func (r *Router) gatherPool(ctx context.Context, snapshot *Snapshot, c *state.Call, a asking, patience time.Duration) *pool {
	servers := snapshot.Servers
	if c.Server != "" {
		servers = named(servers, c.Server)
	}
	enough := func(k *known) bool { return k.err == nil && len(offersFor(k, c)) > 0 }
	seen := r.roster.gather(ctx, servers, enough, patience)
	return r.pools.renew(a, snapshot, seen, func() *pool { return r.newPool(snapshot, seen.all, c) })
}

// newPool sorts the known servers into entries and rejections.
func (r *Router) newPool(snapshot *Snapshot, all []*known, c *state.Call) *pool {
	p := &pool{stale: snapshot.Stale, contract: snapshot.Contracts[c.Capability]}
	now := time.Now()
	for _, k := range all {
		r.sort(p, k, c, now)
	}
	slices.SortFunc(p.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.server.ID, b.server.ID), cmp.Compare(a.offer.Tool, b.offer.Tool))
	})
	slices.SortFunc(p.rejected, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Reason, b.Reason))
	})
	p.reasons = countReasons(p.rejected)
	return p
}

// named keeps the server of that id, or those of that name.
func named(servers []*Server, name string) []*Server {
	var same []*Server
	for _, s := range servers {
		if s.ID == name {
			return []*Server{s}
		}
		if s.Name == name {
			same = append(same, s)
		}
	}
	return same
}

// offersFor returns the offers of the right capability that meet the needs; for
// a direct call the tool's.
func offersFor(k *known, c *state.Call) []*Offer {
	if c.Tool != "" {
		return []*Offer{directOffer(k, c)}
	}
	var offers []*Offer
	for i := range k.offers {
		o := &k.offers[i]
		if strings.EqualFold(o.Capability, c.Capability) && unmet(k.server, o, c.Need) == "" {
			offers = append(offers, o)
		}
	}
	return offers
}

// directOffer stands for a tool that is called by name: nothing is mapped. Its
// effect is what the call says, else what the operator says of the tool.
func directOffer(k *known, c *state.Call) *Offer {
	o := &Offer{Tool: c.Tool}
	for i := range k.offers {
		if k.offers[i].Tool == c.Tool {
			o.Effect, o.Key, o.Ledger, o.Verify = k.offers[i].Effect, k.offers[i].Key, k.offers[i].Ledger, k.offers[i].Verify
			break
		}
	}
	if c.Effect != "" {
		o.Effect = c.Effect
	}
	return o
}

// sort puts a server's offers among the entries, or says why it has none.
func (r *Router) sort(p *pool, k *known, c *state.Call, now time.Time) {
	offers := offersFor(k, c)
	if len(offers) == 0 {
		p.rejected = append(p.rejected, rejectOffers(k, c))
		return
	}
	if k.err != nil {
		p.rejected = append(p.rejected, Rejection{Server: k.server.ID, Reason: "unreachable", Detail: unreachable(k.err)})
		if call, ok := errors.AsType[*CallError](k.err); ok && call.RetryAfter > 0 && (p.redial == 0 || call.RetryAfter < p.redial) {
			p.redial = call.RetryAfter
		}
		return
	}
	for _, o := range offers {
		t := k.tools[o.Tool]
		if t == nil {
			p.rejected = append(p.rejected, Rejection{Server: k.server.ID, Reason: "tool_missing", Detail: missingTool(k, o.Tool)})
			continue
		}
		if why := k.held[o.Tool]; why != "" {
			p.rejected = append(p.rejected, Rejection{Server: k.server.ID, Reason: "held_back", Detail: heldTool(o.Tool, why)})
			continue
		}
		e := entry{
			server: k.server, offer: o, known: k,
			series:   r.health.Series(k.server.ID, o.Capability, now), // in the offer's spelling, as probes know it
			declared: health.Declared{LatencyP95: k.latencyP95(t), MaxConcurrent: k.maxConcurrent(t)},
			weight:   k.server.Weight,
			match:    preference(k.server, o, c.Prefer),
			prefers:  len(c.Prefer) > 0,
		}
		e.series.Declare(e.declared)
		p.entries = append(p.entries, e)
	}
}

func rejectOffers(k *known, c *state.Call) Rejection {
	rejection := Rejection{Server: k.server.ID, Reason: "capability"}
	var others []string
	for i := range k.offers {
		o := &k.offers[i]
		if strings.EqualFold(o.Capability, c.Capability) {
			rejection.Reason, rejection.Detail = "need", unmet(k.server, o, c.Need)
			return rejection
		}
		if !slices.Contains(others, o.Capability) {
			others = append(others, o.Capability)
		}
	}
	switch {
	case k.err != nil && len(k.server.Offers) == 0:
		rejection.Reason, rejection.Detail = "unreachable", unreachable(k.err)
	case len(others) == 0:
		rejection.Detail = "it offers no capability; give it offers in the servers file"
	default:
		rejection.Detail = "it offers " + some(others)
	}
	return rejection
}

func missingTool(k *known, tool string) string {
	names := make([]string, 0, len(k.description.Tools))
	for i := range k.description.Tools {
		names = append(names, k.description.Tools[i].Name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return fmt.Sprintf("it has no tool %q, and no other", tool)
	}
	return fmt.Sprintf("it has no tool %q; it has %s", tool, some(names))
}

// some are the first of the names that a server claims, for people. What it
// claims stands in the record of every hop that passes it over: it may be of any
// length, and hold anything.
func some(names []string) string {
	const most, longest = 8, 64 // names, characters of each
	more := ""
	if len(names) > most {
		more, names = fmt.Sprintf(" and %d more", len(names)-most), names[:most]
	}
	shown := make([]string, len(names))
	for i, name := range names {
		if len(name) > 4*longest { // so that a name of megabytes is not converted
			name = name[:4*longest]
		}
		runes := []rune(name)
		if len(runes) > longest {
			runes = append(runes[:longest], '…')
		}
		for j, r := range runes {
			if !unicode.IsPrint(r) {
				runes[j] = unicode.ReplacementChar
			}
		}
		shown[i] = string(runes)
	}
	return strings.Join(shown, ", ") + more
}
