package consul

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"junction/router"
)

// publisher shows what changed, at once, and then not again for a moment: many
// services that are read one after another make few snapshots.
func (d *Discovery) publisher() {
	for {
		select {
		case <-d.ripe:
		case <-d.life.Done():
			return
		}
		d.mu.Lock()
		d.publish()
		d.mu.Unlock()
		pause := time.NewTimer(publishEvery)
		select {
		case <-pause.C:
		case <-d.life.Done():
			pause.Stop()
			return
		}
	}
}

// note has what changed published soon. d.mu is held.
func (d *Discovery) note(changed bool) {
	if !changed {
		return
	}
	d.changed = true
	select {
	case d.ripe <- struct{}{}:
	default: // it is on its way
	}
}

// publish shows what is believed now, where something of it changed.
// d.mu is held.
func (d *Discovery) publish() {
	if !d.changed {
		return
	}
	d.changed = false
	trouble := d.trouble()
	d.tell(trouble)
	if !d.synced {
		d.synced = d.catalogue.read
		for _, w := range d.services {
			d.synced = d.synced && w.read
		}
	}
	servers := d.servers()
	stale := trouble != nil || !d.synced
	shown := d.shown.Load()
	if shown.Stale == stale && slices.Equal(shown.Servers, servers) {
		return
	}
	d.shown.Store(&router.Snapshot{Servers: servers, Stale: stale, Version: shown.Version + 1})
}

// servers are those of all services, by ID. An id that several nodes use stays
// with the one that registered it first. d.mu is held.
func (d *Discovery) servers() []*router.Server {
	type member struct {
		service string
		*instance
	}
	var all []member
	for name, w := range d.services {
		for _, i := range w.instances {
			if i.server != nil {
				all = append(all, member{name, i})
			}
		}
	}
	d.clashes = nil
	if len(all) > maxServers {
		slices.SortFunc(all, func(a, b member) int { return byAge(&a.entry, &b.entry) })
		d.clashes = append(d.clashes, Problem{Service: all[maxServers].service, Instance: all[maxServers].server.ID, Node: all[maxServers].entry.Node.Node,
			What: fmt.Sprintf("Consul has %d usable instances: this one and others that registered after the first %d are left out. Take out those that are not needed, or follow another tag", len(all), maxServers)})
		all = all[:maxServers]
	}
	slices.SortFunc(all, func(a, b member) int { return bySeniority(&a.entry, &b.entry) })
	servers := make([]*router.Server, 0, len(all))
	for n, m := range all {
		id := m.entry.Service.ID
		if n > 0 && all[n-1].entry.Service.ID == id {
			id += "@" + m.entry.Node.Node
		}
		if m.server.ID != id {
			renamed := *m.server
			renamed.ID = id
			m.server = &renamed
		}
		servers = append(servers, m.server)
	}
	slices.SortStableFunc(servers, func(a, b *router.Server) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(servers, func(a, b *router.Server) bool {
		if a.ID == b.ID {
			d.clashes = append(d.clashes, Problem{Service: b.Name, Instance: b.ID,
				What: "another instance goes by this id already, which has the form ID@NODE: register it with another. The instance is left out"})
		}
		return a.ID == b.ID
	})
}

// trouble is why what is believed may be old. The catalogue's comes first: when
// it cannot be read neither can the services. d.mu is held.
func (d *Discovery) trouble() error {
	if d.catalogue.err != nil {
		return d.catalogue.err
	}
	var first *watch
	for _, w := range d.services {
		if w.err != nil && (first == nil || w.name < first.name) {
			first = w
		}
	}
	if first == nil {
		return nil
	}
	return first.err
}

// tell logs when trouble begins and ends. d.mu is held.
func (d *Discovery) tell(trouble error) {
	switch {
	case trouble != nil && !d.troubled:
		d.log.Warn("Consul cannot be read; the servers last known stay in use", "reason", trouble.Error(), "servers", len(d.shown.Load().Servers))
	case trouble == nil && d.troubled:
		d.log.Info(fmt.Sprintf("Consul at %s can be read again", d.reader.shown))
	}
	d.troubled = trouble != nil
}
