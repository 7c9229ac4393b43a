package consul

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"
)

// The times of keeping a registration.
const (
	recheckEvery = 15 * time.Second       // between two looks, and up to twice that
	retryFirst   = 500 * time.Millisecond // at most, after the first failure; doubling
)

// Registration keeps a service registered until it is closed.
type Registration struct {
	door    *door
	client  *api.Client
	address string // of the agent, for people
	service *api.AgentServiceRegistration
	ready   func(context.Context) error // nil: unknown
	log     *slog.Logger
	rand    *rand.Rand    // the loop's
	every   time.Duration // between two looks, and up to twice that
	bound   time.Duration // of one request

	cancel context.CancelFunc
	done   chan struct{} // closed when the loop has ended
	listed bool          // perhaps: an agent was told; the loop's
	once   sync.Once
	closed error
}

// Register registers a service with the agent at the options' address. An MCP
// server calls it once it listens, and Close before it stops:
//
//	r, err := consul.Register(ctx, consul.Options{Address: "http://127.0.0.1:8500"}, consul.Service{
//		Name:    "reviewer",
//		Address: "10.0.0.7:8081",
//		Offers:  []router.Offer{{Capability: "code-review", Tool: "review", Attributes: map[string][]string{"language": {"go"}}}},
//		Check:   consul.Check{URL: "http://10.0.0.7:8081/health"},
//	})
//
// An agent that comes back without its data gets the service again. Of the
// options Trust and Services do not count. ctx bounds this call alone; the
// registration ends with Close. An error names the agent and what to do.
func Register(ctx context.Context, o Options, s Service) (*Registration, error) {
	r, err := newRegistration(o, s)
	if err != nil {
		return nil, fmt.Errorf("register in Consul: %w", err)
	}
	failed := r.register(ctx)
	r.door.CloseIdleConnections()
	if failed != nil && (!s.KeepTrying || ctx.Err() != nil || refused(failed)) {
		return nil, failed
	}
	r.start(ctx, failed)
	return r, nil
}

func newRegistration(o Options, s Service) (*Registration, error) {
	service, err := describe(o.tag(), s)
	if err != nil {
		return nil, err
	}
	d, err := newDoor(o)
	if err != nil {
		return nil, err
	}
	client, err := d.client(o.Datacenter)
	if err != nil {
		return nil, err
	}
	return &Registration{
		door: d, client: client, address: o.shown(), service: service, ready: s.Check.Ready,
		log: o.logger(), rand: seeded(o.Seed, service.ID), every: recheckEvery, bound: o.timeout(), done: make(chan struct{}),
	}, nil
}

// start begins to keep the registration, whose last try ended with an error or nil.
func (r *Registration) start(ctx context.Context, failed error) {
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	failures := 0
	r.tell(ctx, &failures, failed) // before the caller goes on
	go func() {
		defer close(r.done)
		r.keep(ctx, failures)
	}()
}

// ID is the instance's, as Consul knows it.
func (r *Registration) ID() string { return r.service.ID }

// Close takes the service out of Consul and ends what kept it there. An error
// says until when it stays listed. Further calls return what the first did.
func (r *Registration) Close(ctx context.Context) error {
	r.once.Do(func() {
		r.cancel()
		<-r.done // so that nothing registers it again
		if r.listed {
			r.closed = r.deregister(ctx)
		}
		r.door.CloseIdleConnections()
	})
	return r.closed
}

func (r *Registration) deregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	err := r.client.Agent().ServiceDeregisterOpts(r.service.ID, (&api.QueryOptions{}).WithContext(ctx))
	if err == nil || status(err) == http.StatusNotFound {
		return nil
	}
	stays := "somebody removes it"
	if c := r.service.Check; c != nil {
		stays = "its check has been critical for " + c.DeregisterCriticalServiceAfter
	}
	return fmt.Errorf("take %s out of Consul at %s: %w; it stays listed until %s", r.service.ID, r.address, err, stays)
}

// keep looks again and again whether the agent still has the service.
func (r *Registration) keep(ctx context.Context, failures int) {
	for {
		timer := time.NewTimer(r.wait(failures))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		r.tell(ctx, &failures, r.renew(ctx))
		r.door.CloseIdleConnections() // an agent takes so many from one machine, and this one is not needed soon
	}
}

// tell logs the first failure of a row and its end, and nothing in between.
func (r *Registration) tell(ctx context.Context, failures *int, failed error) {
	switch {
	case failed != nil && ctx.Err() == nil:
		if *failures == 0 {
			r.log.WarnContext(ctx, "not registered in Consul; trying again until it is", "service", r.service.ID, "error", failed)
		}
		*failures++
	case failed == nil && *failures > 0:
		r.log.InfoContext(ctx, "registered in Consul", "service", r.service.ID)
		*failures = 0
	}
}

// wait is the time until the next look: many services of an agent that restarts
// must not come back in one moment.
func (r *Registration) wait(failures int) time.Duration {
	if failures == 0 {
		return r.every + time.Duration(r.rand.Int64N(int64(r.every)))
	}
	most := r.every
	if failures < 10 {
		most = min(most, retryFirst<<(failures-1))
	}
	return most/10 + time.Duration(r.rand.Int64N(int64(most)))
}

// renew registers the service again where the agent has lost it.
func (r *Registration) renew(ctx context.Context) error {
	look, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	_, _, err := r.client.Agent().Service(r.service.ID, (&api.QueryOptions{}).WithContext(look))
	if status(err) == http.StatusNotFound {
		return r.register(ctx)
	}
	return r.explain("look after", err)
}

// register tells the agent of the service. Where it is known to work it is
// passing from the start; else from the check's first success.
func (r *Registration) register(ctx context.Context) error {
	service := *r.service
	if r.ready != nil && service.Check != nil {
		check := *service.Check
		if r.works(ctx) {
			check.Status = api.HealthPassing
		}
		service.Check = &check
	}
	ctx, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	options := api.ServiceRegisterOpts{ReplaceExistingChecks: true}
	err := r.client.Agent().ServiceRegisterOpts(&service, options.WithContext(ctx))
	if dialing := (*net.OpError)(nil); !errors.As(err, &dialing) || dialing.Op != "dial" {
		r.listed = true // where no answer came, too
	}
	return r.explain("register", err)
}

func (r *Registration) works(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	return r.ready(ctx) == nil
}

// explain says what was done with which agent, and what to try.
func (r *Registration) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	try := "is an agent running there? Start it, or give another address"
	switch code := status(err); {
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		try = "give a token with service:write for " + r.service.Name
	case refused(err):
		try = "change what Consul refuses"
	case code != 0:
		try = "look into the agent's log"
	}
	return fmt.Errorf("%s %s in Consul at %s: %w; %s", doing, r.service.ID, r.address, err, try)
}

// status is that of the agent's answer; 0: there was none.
func status(err error) int {
	if answer := (api.StatusError{}); errors.As(err, &answer) {
		return answer.Code
	}
	return 0
}

// refused tells an answer that will be the same next time. A token may be let in
// later, once its policy has reached the agent.
func refused(err error) bool {
	code := status(err)
	return code >= 400 && code < 500 && code != http.StatusForbidden && code != http.StatusUnauthorized && code != http.StatusTooManyRequests
}

// seeded is apart from other services with the same seed; 0 is a random one.
func seeded(seed uint64, id string) *rand.Rand {
	if seed == 0 {
		seed = randomSeed()
	}
	h := fnv.New64a()
	fmt.Fprint(h, id)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
