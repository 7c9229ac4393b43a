package consul

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// catalogue follows which services have the tag. That a service is missing in it
// only has the service's own watch look again: that one decides.
type catalogue struct {
	*follower
	d    *Discovery
	read bool  // an answer was believed; of the discovery's lock
	err  error // of the last round; likewise
}

func (d *Discovery) newCatalogue() *catalogue {
	c := &catalogue{d: d}
	c.follower = d.newFollower("", question{
		path:  "catalog/services",
		about: fmt.Sprintf("which services have the tag %s", d.options.tag()),
	}, catalogueCap)
	c.take, c.settle, c.wait = c.takeIn, c.settled, c.patience
	return c
}

func (c *catalogue) patience() time.Duration {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if c.err != nil {
		return waitDoubted
	}
	return waitLong
}

func (c *catalogue) takeIn(_ context.Context, a answer) error {
	c.d.mu.Lock()
	c.d.index = a.index
	c.d.mu.Unlock()
	var services map[string][]string
	if err := c.reader.decode(c.question, a, &services); err != nil {
		return err
	}
	tag := c.d.options.tag()
	var tagged []string
	var nameless []Problem
	for _, name := range slices.Sorted(maps.Keys(services)) {
		switch {
		case !slices.Contains(services[name], tag):
		case presentable(name):
			tagged = append(tagged, name)
		default:
			nameless = append(nameless, Problem{Service: legible(name), What: "its name is empty, longer than 255 bytes or holds control characters: register it under another. The service is left out"})
		}
	}
	c.d.list(tagged, nameless, len(services) == 0)
	switch {
	case len(tagged) == 0 && a.hidden:
		return &doubt{fmt.Sprintf("consul at %s lists no service with the tag %s, and hides what the token may not read: give it service:read and node:read, or register one", c.reader.shown, tag)}
	case c.d.blind(a):
		return &doubt{fmt.Sprintf("consul at %s lists nothing at all, as it does without a token it knows: give one with service:read and node:read", c.reader.shown)}
	}
	return nil
}

func (c *catalogue) settled(err error) {
	c.d.mu.Lock()
	recovered := c.err != nil && err == nil
	c.d.note(!c.read || (c.err == nil) != (err == nil))
	c.err = err
	c.read = c.read || err == nil
	var waiting []*watch
	for _, w := range c.d.services {
		if recovered && w.err != nil {
			waiting = append(waiting, w)
		}
	}
	c.d.mu.Unlock()
	for _, w := range waiting {
		w.wake()
	}
}

// list begins to follow services that are new in the catalogue, and has those
// that are missing looked at.
func (d *Discovery) list(tagged []string, nameless []Problem, nothing bool) {
	d.mu.Lock()
	d.nothing = nothing
	if len(nameless) > len(d.nameless) {
		d.log.Warn("services in Consul have names that cannot be used", "services", len(nameless), "first", nameless[0].Service)
	}
	d.nameless = nameless
	crowded := len(d.services) > watchesAtOnce
	var missing, all []*watch
	for name, w := range d.services {
		_, listed := slices.BinarySearch(tagged, name)
		if w.listed && !listed {
			missing = append(missing, w)
		}
		w.listed = listed
		all = append(all, w)
	}
	for _, name := range tagged {
		if d.services[name] == nil {
			w := d.newWatch(name)
			d.services[name] = w
			d.running.Go(func() { w.run(d.life) })
		}
	}
	crowded = !crowded && len(d.services) > watchesAtOnce
	d.mu.Unlock()
	for _, w := range missing {
		w.look()
	}
	if crowded { // those that wait for long have to make place
		for _, w := range all {
			w.wake()
		}
	}
}

// confirmCatalogue reads the catalogue on behalf of a service that seems to be
// gone. Its index tells a loss of data for longer than that of the service, which
// a few registrations bring as high again; and an empty one tells more than an
// empty service.
func (d *Discovery) confirmCatalogue(ctx context.Context) error {
	q := d.catalogue.question
	q.consistent = true
	a, err := d.reader.ask(ctx, q)
	if err != nil {
		return err
	}
	var services map[string]any
	if err := d.reader.decode(q, a, &services); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nothing = len(services) == 0
	if a.index < d.index {
		d.wentBack = time.Now()
	}
	return nil
}

// blind reports an answer of a Consul that denies what is not allowed, to
// somebody without a token, whose whole catalogue is empty. With a token it
// would say that it hides something.
func (d *Discovery) blind(a answer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return a.deny && d.nothing && !d.reader.door.token.given()
}
