package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"junction/state"
)

// Inspection is all that calls of one server go by.
type Inspection struct {
	ServerStatus
	Terms  []Terms // of its offers in their order, then of the tools that no offer names, by name
	Policy Policy
}

// Terms are what a call of one tool goes by, nothing left unsaid.
type Terms struct {
	Capability    string // "": no offer names the tool; it can be called by its name
	Name          string // of the tool
	Tool          *Tool  // nil: the server has none of that name, or could not be asked
	Offer         Offer  // as it stands; the zero Offer where none names the tool
	Effect        state.Effect
	From          Origin   // of the effect
	Key           string   // argument that carries the key, or "_meta.NAME"; "" but for conditional
	Ledger        Ledger   // likewise
	Sharing       []string // other servers that do the capability under the same ledger, by id
	LatencyP95    time.Duration
	MaxConcurrent int // 0: undeclared
	Contract      Contract
}

// Origin is who said a tool's effect.
type Origin string

const (
	Declared Origin = "declared" // the operator's file, or Consul where it is trusted to
	Hinted   Origin = "hinted"   // the server itself, which the operator trusts
	Unsaid   Origin = "unsaid"   // nobody, so it counts as unsafe
)

// Policy is how the router makes calls that say nothing else themselves.
type Policy struct {
	Idle, Max  time.Duration // clocks of an attempt
	Attempts   int           // per hop and run
	RetryShare float64       // retries per call, worker-wide
	RetryFloor int           // retries that are always allowed at once
	RetryQueue int           // hops that may wait for a retry
	Hedge      Hedge         // of safe hops; zero: none
	Saturation time.Duration // wait in a queue that does not move; negative: none
	Backoff    time.Duration // before the same server, doubled each time …
	BackoffCap time.Duration // … up to this, drawn evenly from below it
}

// UnknownServerError says that no server has an id or a name, and which there are.
type UnknownServerError struct {
	ID    string
	Known []string
	Err   error // why discovery could not look again; nil: it did
}

func (e *UnknownServerError) Error() string {
	text := fmt.Sprintf("there is no server %q", e.ID)
	if len(e.Known) > 0 {
		text += "; there are " + some(e.Known)
	}
	if e.Err != nil {
		text += fmt.Sprintf(" (discovery: %v)", e.Err)
	}
	return text
}

func (e *UnknownServerError) Unwrap() error { return e.Err }

// Inspect describes one server and says what calls of its tools go by. No other
// server is asked. A server that cannot be described has a status that says why,
// and terms as far as others declared them. The error is an *UnknownServerError.
func (r *Router) Inspect(ctx context.Context, id string) (*Inspection, error) {
	snapshot := r.discovery.Snapshot()
	at := find(snapshot, id)
	if at == nil {
		err := r.discovery.Refresh(ctx)
		snapshot = r.discovery.Snapshot()
		if at = find(snapshot, id); at == nil {
			unknown := &UnknownServerError{ID: id, Err: err}
			for _, s := range snapshot.Servers {
				unknown.Known = append(unknown.Known, s.ID)
			}
			return nil, unknown
		}
	}
	r.noticeChange(snapshot)
	seen := r.roster.gather(ctx, []*Server{at}, func(*known) bool { return false }, r.options.Handshake+r.options.Grace)
	k := seen.all[0]
	in := &Inspection{
		ServerStatus: ServerStatus{Server: k.server, Description: k.description, Err: k.err, Offers: k.offers, Held: k.held},
		Policy:       r.policy(),
	}
	for i := range k.offers {
		in.Terms = append(in.Terms, r.terms(k, &k.offers[i], snapshot))
	}
	for _, t := range k.unoffered() {
		in.Terms = append(in.Terms, r.terms(k, &Offer{Tool: t.Name}, snapshot))
	}
	return in, nil
}

// find returns the server of that id, else the first of that name.
func find(s *Snapshot, id string) *Server {
	if same := named(s.Servers, id); len(same) > 0 {
		return same[0]
	}
	return nil
}

// unoffered are the server's tools that no offer names.
func (k *known) unoffered() []*Tool {
	if k.description == nil {
		return nil
	}
	var rest []*Tool
	for i := range k.description.Tools {
		t := &k.description.Tools[i]
		if !slices.ContainsFunc(k.offers, func(o Offer) bool { return o.Tool == t.Name }) {
			rest = append(rest, t)
		}
	}
	slices.SortFunc(rest, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return rest
}

func (r *Router) terms(k *known, o *Offer, s *Snapshot) Terms {
	t := Terms{
		Capability: o.Capability, Name: o.Tool, Tool: k.tools[o.Tool], Offer: *o,
		Effect: effectOf(o), From: k.origin(o), Contract: s.Contracts[o.Capability],
		LatencyP95: k.server.LatencyP95, MaxConcurrent: k.server.MaxConcurrent,
	}
	if t.Tool != nil {
		t.LatencyP95, t.MaxConcurrent = k.latencyP95(t.Tool), k.maxConcurrent(t.Tool)
	}
	if t.Effect == state.Conditional {
		t.Key = keyPlace(o)
		t.Ledger = Ledger{Name: r.ledgerOf(&entry{server: k.server, offer: o}), Keeps: keepsOf(o)}
		t.Sharing = r.sharing(s, k.server, &t)
	}
	return t
}

// sharing are the other servers that a call of unknown outcome can be repeated at.
func (r *Router) sharing(s *Snapshot, server *Server, t *Terms) []string {
	var ids []string
	for _, other := range s.Servers {
		same := func(o Offer) bool {
			return strings.EqualFold(o.Capability, t.Capability) && o.Effect == state.Conditional &&
				r.ledgerOf(&entry{server: other, offer: &o}) == t.Ledger.Name
		}
		if other.ID != server.ID && slices.ContainsFunc(other.Offers, same) {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

// origin is who said the effect of an offer: the one it was bound from has none
// where it was left to the hints.
func (k *known) origin(o *Offer) Origin {
	said := slices.ContainsFunc(k.server.Offers, func(declared Offer) bool {
		return declared.Effect != "" && declared.Capability == o.Capability && (declared.Tool == "" || declared.Tool == o.Tool)
	})
	t := k.tools[o.Tool]
	switch {
	case said:
		return Declared
	case o.Effect != "" && o.Capability != "" && k.trusted && t != nil && (t.ReadOnly != nil || t.Idempotent != nil):
		return Hinted
	}
	return Unsaid
}

func (r *Router) policy() Policy {
	o := &r.options
	p := Policy{
		Idle: o.Idle, Max: o.Max, Attempts: o.Attempts, RetryShare: o.RetryShare, RetryFloor: o.RetryFloor, RetryQueue: budgetQueue, Hedge: o.Hedge,
		Saturation: o.Saturation, Backoff: backoffBase, BackoffCap: backoffCap,
	}
	if p.Saturation == 0 {
		p.Saturation = p.Idle
	}
	return p
}
