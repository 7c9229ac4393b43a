package static

import (
	"bytes"
	"time"

	"junction/router"
	"junction/state/document"
	"junction/state/value"
)

// defaultKeeps is how long a ledger is taken to keep keys when nothing is said.
const defaultKeeps = 24 * time.Hour

// ledger reads which ledger knows an offer's keys. Unsaid, it is the claimant's own.
func (r *reader) ledger(who claimant, m *document.Mapping) router.Ledger {
	l := m.Get("ledger").Mapping("name", "keeps")
	out := router.Ledger{Name: l.Get("name").Word(), Keeps: l.Get("keeps").Duration()}
	name(l.Get("name"), "ledger", out.Name)
	if out.Keeps == 0 {
		out.Keeps = defaultKeeps
	}
	if !l.Has("name") {
		out.Name = who.ledger(m.Node())
	}
	return out
}

// ownLedger names the ledger that a server of this file has for itself: by URL
// for HTTP, by host and name for stdio.
func (r *reader) ownLedger(s *router.Server, at *document.Node) string {
	if s.Dial.URL != "" {
		return addressLedger(s)
	}
	return r.hostname(at) + "/" + s.ID
}

// addressLedger names the ledger of a server after its URL without anything
// that may be a credential. Where credentials tell two entries with one URL
// apart, they may be two tenants: the server's name goes in.
func addressLedger(s *router.Server) string {
	name := s.Endpoint()
	if name != s.Dial.URL || len(s.Dial.Headers) > 0 || len(s.Dial.Auth) > 0 {
		name += "#" + s.ID
	}
	return name
}

// sharing is a conditional offer, kept to be compared with others on its ledger.
type sharing struct {
	who   string // as in claimant
	at    *document.Node
	with  *document.Node // nil: passed through
	offer router.Offer
}

// checkLedgers holds servers and services that share a ledger to the same mapping of
// arguments and the same lifetime of keys: a hop repeated at the other server
// must reach the ledger as the very same request.
func (r *reader) checkLedgers() {
	type place struct{ ledger, capability string }
	first, keeps := map[place]sharing{}, map[string]sharing{}
	for _, s := range r.shared {
		if s.offer.Ledger.Name == "" {
			continue
		}
		at := place{s.offer.Ledger.Name, s.offer.Capability}
		if f, known := first[at]; !known {
			first[at] = s
		} else if difference := f.differs(s); difference != "" {
			s.at.Fault("map them alike, or give each server a ledger of its own",
				"%s and %s share the ledger %s for %s and %s: a call repeated at the other would be another call to it",
				f.who, s.who, at.ledger, at.capability, difference)
		}
		if f, known := keeps[at.ledger]; !known {
			keeps[at.ledger] = s
		} else if f.offer.Ledger.Keeps != s.offer.Ledger.Keeps {
			s.at.Fault("say the same keeps: in both", "ledger %s keeps keys for %s at %s and for %s at %s",
				at.ledger, f.offer.Ledger.Keeps, f.who, s.offer.Ledger.Keeps, s.who)
		}
	}
}

// differs says how two offers reach one ledger differently, or "".
func (s sharing) differs(o sharing) string {
	if s.offer.Key != o.offer.Key {
		return "carry the key in different places"
	}
	if (s.with == nil) != (o.with == nil) {
		return "map arguments differently"
	}
	a, errA := value.Encode(s.with.Value())
	b, errB := value.Encode(o.with.Value())
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		return "map arguments differently"
	}
	return ""
}
