package consul

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"junction/router"
)

// Discovery follows the services of one Consul datacenter. It is safe for
// concurrent use. Close it when done.
type Discovery struct {
	options Options
	seed    uint64
	log     *slog.Logger
	reader  *reader
	places  chan struct{}
	fresh   chan struct{}

	shown atomic.Pointer[router.Snapshot]

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex // never held across I/O
	catalogue *catalogue
	services  map[string]*watch
	index     uint64        // the catalogue's last
	nothing   bool          // the catalogue is empty
	wentBack  time.Time     // when an index last did
	synced    bool          // everything was read once
	changed   bool          // since the last publication
	ripe      chan struct{} // holds one token where something is to be published
	troubled  bool          // what was told last
	clashes   []Problem     // ids that cannot be told apart
	nameless  []Problem     // services whose names cannot be shown
	looking   *look         // the fresh look under way; nil: none
	looks     pacing        // of fresh looks
}

var _ router.Discovery = (*Discovery)(nil)

// New begins to follow what o describes and returns at once: until Consul was
// read the snapshot is empty and stale, and [Discovery.Refresh] waits for it.
// Errors are of the options, and name what is wrong.
func New(o Options) (*Discovery, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	return discover(o, r), nil
}

// discover follows through a reader.
func discover(o Options, r *reader) *Discovery {
	o.Services = maps.Clone(o.Services)
	d := &Discovery{
		options: o, seed: o.Seed, log: o.logger(), reader: r,
		places:   make(chan struct{}, watchesAtOnce),
		fresh:    make(chan struct{}, looksAtOnce),
		services: make(map[string]*watch), ripe: make(chan struct{}, 1),
	}
	if d.seed == 0 {
		d.seed = randomSeed()
	}
	d.life, d.end = context.WithCancel(context.Background())
	d.shown.Store(&router.Snapshot{Stale: true})
	d.catalogue = d.newCatalogue()
	d.running.Go(d.publisher)
	d.running.Go(func() { d.catalogue.run(d.life) })
	return d
}

// Close ends the following and waits for it. The last snapshot stays.
func (d *Discovery) Close() {
	d.mu.Lock() // so that nothing begins after the wait did
	d.end()
	d.mu.Unlock()
	d.running.Wait()
	d.reader.door.CloseIdleConnections()
}

// Snapshot returns what was last believed. It is stale where any of it could not
// be read, or not be believed, at the last try.
func (d *Discovery) Snapshot() *router.Snapshot { return d.shown.Load() }

// String names the source of servers; what it says of itself tells where it is.
func (d *Discovery) String() string { return "Consul" }

// Err returns why the snapshot is stale; nil when it is not, or when Consul has
// not answered yet.
func (d *Discovery) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble()
}

// Problems returns what instances say that cannot be used, by service, instance
// and node.
func (d *Discovery) Problems() []Problem {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Concat(d.clashes, d.nameless)
	for name, w := range d.services {
		for _, i := range w.instances {
			for _, p := range i.problems {
				all = append(all, Problem{Service: name, Instance: legible(i.entry.Service.ID), Node: legible(i.entry.Node.Node), What: p})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Node, b.Node))
	})
	return all
}

// newFollower has all that the catalogue's and a service's followers share.
func (d *Discovery) newFollower(name string, q question, longest time.Duration) *follower {
	own := fnv.New64a()
	fmt.Fprint(own, name)
	return &follower{
		reader: d.reader, question: q, cap: longest, woken: make(chan struct{}, 1),
		rand: rand.New(rand.NewPCG(d.seed, own.Sum64())),
		back: d.indexWentBack,
	}
}

func (d *Discovery) indexWentBack() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wentBack = time.Now()
}

func (d *Discovery) justWentBack(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.wentBack.IsZero() && now.Sub(d.wentBack) < unsettled
}

func randomSeed() uint64 {
	var b [8]byte
	if _, err := crand.Read(b[:]); err != nil {
		panic(fmt.Sprintf("no randomness for the seed of jitter: %v", err)) // documented never to happen
	}
	return binary.LittleEndian.Uint64(b[:])
}
