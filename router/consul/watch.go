package consul

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// watch follows one service. Its fields below follower belong to the discovery's
// lock, and only its own goroutine writes instances.
type watch struct {
	*follower
	d         *Discovery
	name      string
	instances []*instance // by identity
	listed    bool        // the catalogue names the service
	read      bool        // an answer was believed
	err       error       // of the last round
}

func (d *Discovery) newWatch(name string) *watch {
	w := &watch{d: d, name: name, listed: true}
	w.follower = d.newFollower(name, question{
		path:  "health/service/" + url.PathEscape(name),
		query: url.Values{"tag": {d.options.tag()}},
		about: fmt.Sprintf("the instances of service %s", name),
	}, serviceCap)
	w.take, w.settle, w.over, w.wait = w.takeIn, w.settled, w.gone, w.patience
	w.places, w.fresh = d.places, d.fresh
	return w
}

// patience is how long the next question waits for a change.
func (w *watch) patience() time.Duration {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	switch {
	case w.err != nil:
		return waitDoubted
	case len(w.d.services) > watchesAtOnce:
		return waitTurn
	}
	return waitLong
}

// takeIn makes instances of an answer. What is missing in it is gone where the
// answer can be believed; otherwise it stays, and the doubt says why.
func (w *watch) takeIn(ctx context.Context, a answer) error {
	w.d.mu.Lock()
	known := w.instances
	w.d.mu.Unlock()
	entries, a, err := w.entries(ctx, a, len(known) > 0)
	if err != nil {
		return err
	}
	doubted := w.suspect(known, entries, a)
	w.adopt(w.merge(known, entries, doubted != nil), known)
	return doubted
}

// merge makes instances of entries, those that did not change being the known
// ones. What is missing among the entries stays where keep says so.
func (w *watch) merge(known []*instance, entries []entry, keep bool) []*instance {
	next := make([]*instance, 0, len(entries))
	for _, e := range entries {
		for len(known) > 0 && byIdentity(known[0].entry.identity(), e.identity()) < 0 {
			if keep {
				next = append(next, known[0])
			}
			known = known[1:]
		}
		if len(known) == 0 || known[0].entry.identity() != e.identity() {
			next = append(next, w.discover(e))
			continue
		}
		switch k := known[0]; {
		case !k.entry.same(&e):
			next = append(next, w.discover(e))
		case k.entry.Service.CreateIndex != e.Service.CreateIndex: // it was away, and says the same
			next = append(next, &instance{entry: e, server: k.server, problems: k.problems})
		default:
			next = append(next, k)
		}
		known = known[1:]
	}
	if keep {
		next = append(next, known...)
	}
	return next
}

// entries reads an answer, in the order of identities. That nothing is left of
// what was known is confirmed by a consistent read.
func (w *watch) entries(ctx context.Context, a answer, known bool) ([]entry, answer, error) {
	entries, err := w.decode(a)
	if err != nil || len(entries) > 0 || !known {
		return entries, a, err
	}
	if err := w.d.confirmCatalogue(ctx); err != nil {
		return nil, a, err
	}
	q := w.question
	q.consistent = true
	if a, err = w.reader.ask(ctx, q); err != nil {
		return nil, a, err
	}
	entries, err = w.decode(a)
	return entries, a, err
}

func (w *watch) decode(a answer) ([]entry, error) {
	var entries []entry
	if err := w.reader.decode(w.question, a, &entries); err != nil {
		return nil, err
	}
	// Consul finds services without regard to case, and keeps them, and who may
	// register them, apart by it: Payments gets nothing that is meant for payments.
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.Service.Service != w.name })
	slices.SortFunc(entries, func(x, y entry) int { return byIdentity(x.identity(), y.identity()) })
	return entries, nil
}

// suspect says why an answer that lacks what was known is not believed, or nil.
func (w *watch) suspect(known []*instance, entries []entry, a answer) error {
	missing := 0
	for _, k := range known {
		if _, found := slices.BinarySearchFunc(entries, k.entry.identity(), func(e entry, id identity) int {
			return byIdentity(e.identity(), id)
		}); !found {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	what := fmt.Sprintf("consul at %s no longer lists %d of the %d instances of service %s", w.reader.shown, missing, len(known), w.name)
	switch {
	case w.d.justWentBack(time.Now()):
		return &doubt{what + ", but its index went back a short while ago, as it does where data were lost: they stay until it is settled"}
	case len(entries) == 0 && a.hidden:
		return &doubt{what + ", but hides what the token may not read: they stay; give it service:read and node:read"}
	case len(entries) == 0 && w.d.blind(a):
		return &doubt{what + " and nothing else, as it does without a token it knows: they stay; give one with service:read and node:read"}
	}
	return nil
}

// discover makes an instance, and tells of its problems.
func (w *watch) discover(e entry) *instance {
	i := w.d.options.newInstance(w.name, e)
	for _, p := range i.problems {
		w.d.log.Warn("an instance in Consul says what cannot be used", "service", w.name,
			"instance", legible(e.Service.ID), "node", legible(e.Node.Node), "problem", p)
	}
	return i
}

// adopt makes next what is believed.
func (w *watch) adopt(next, known []*instance) {
	if slices.Equal(next, known) {
		return
	}
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	w.instances = next
	w.d.note(true)
}

func (w *watch) settled(err error) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	w.d.note(!w.read || (w.err == nil) != (err == nil))
	w.err = err
	w.read = w.read || err == nil
}

// gone reports whether the service is, and takes it out.
func (w *watch) gone() bool {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	if w.listed || len(w.instances) > 0 || w.err != nil || !w.read {
		return false
	}
	delete(w.d.services, w.name)
	w.d.note(true)
	return true
}
