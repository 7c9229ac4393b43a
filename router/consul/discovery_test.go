package consul_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/goleak"

	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
	"junction/state"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// within bounds what happens soon, on a loaded machine too.
const within = 20 * time.Second

// watched is a discovery under test.
type watched struct {
	*consul.Discovery
	t *testing.T
}

// follow starts a discovery of the services with the tag and waits until it has
// read all there is.
func follow(t *testing.T, o consul.Options) watched {
	t.Helper()
	d, err := consul.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return watched{d, t}
}

// until waits for a snapshot that fits, and returns it with how long it took.
func (w watched) until(what string, fits func(*router.Snapshot) bool) (*router.Snapshot, time.Duration) {
	w.t.Helper()
	begun := time.Now()
	deadline := time.After(within)
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		s := w.Snapshot()
		if fits(s) {
			return s, time.Since(begun)
		}
		select {
		case <-look.C:
		case <-deadline:
			w.t.Fatalf("never: %s; it stayed at %s, error %v", what, show(s), w.Err())
		}
	}
}

func ids(s *router.Snapshot) string {
	all := make([]string, len(s.Servers))
	for i, v := range s.Servers {
		all[i] = v.ID
	}
	return strings.Join(all, " ")
}

func show(s *router.Snapshot) string {
	return fmt.Sprintf("[%s] version %d, stale %t", ids(s), s.Version, s.Stale)
}

func has(want string) func(*router.Snapshot) bool {
	return func(s *router.Snapshot) bool { return !s.Stale && ids(s) == want }
}

func stale(want string) func(*router.Snapshot) bool {
	return func(s *router.Snapshot) bool { return s.Stale && ids(s) == want }
}

// loud keeps what is logged.
type loud struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *loud) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *loud) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// instance registers one with the agent, passing unless it has checks.
func instance(t *testing.T, a *consultest.Agent, r api.AgentServiceRegistration) {
	t.Helper()
	if r.Port == 0 {
		r.Port = 9000
	}
	if err := a.Client().Agent().ServiceRegister(&r); err != nil {
		t.Fatalf("register %s: %v", r.ID, err)
	}
}

func ttl() *api.AgentServiceCheck {
	return &api.AgentServiceCheck{CheckID: "c1", TTL: "10m", Status: api.HealthPassing}
}

func TestInstancesComeAndGoWithinASecond(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	var log loud
	d := follow(t, consul.Options{Address: a.Address(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	d.until("the empty catalogue", has(""))
	defer func() {
		if text := log.String(); text != "" {
			t.Errorf("a healthy Consul gave reason to log:\n%s", text)
		}
	}()
	// Half of the changes have to be in time: a machine may be busy with other
	// things for a second, but not always.
	var times []time.Duration
	soon := func(what string, took time.Duration) {
		t.Logf("%s took %s", what, took)
		times = append(times, took)
	}
	defer func() {
		slices.Sort(times)
		if median := times[len(times)/2]; median > time.Second {
			t.Errorf("half of the changes took more than %s; they have to take at most 1 s", median)
		}
	}()
	review := api.AgentServiceRegistration{ID: "b1", Name: "review", Address: "10.1.2.3", Tags: []string{"mcp", "code-review", "language=go"}, Check: ttl()}
	instance(t, a, review)
	one, took := d.until("the first instance", has("b1"))
	soon("a new service", took)
	s := one.Servers[0]
	if s.Dial.URL != "http://10.1.2.3:9000/mcp" || s.Name != "review" || s.Source != "consul" || s.Weight != 1 ||
		len(s.Offers) != 1 || s.Offers[0].Capability != "code-review" || s.Offers[0].Attributes["language"][0] != "go" {
		t.Errorf("%+v", s)
	}
	instance(t, a, api.AgentServiceRegistration{ID: "a1", Name: "review", Tags: []string{"mcp", "code-review"}})
	two, took := d.until("the second", has("a1 b1"))
	soon("a second instance", took)
	if two.Servers[1] != s || two.Version <= one.Version {
		t.Errorf("version %d after %d; the unchanged server kept its pointer: %t", two.Version, one.Version, two.Servers[1] == s)
	}
	if want := "http://127.0.0.1:9000/mcp"; two.Servers[0].Dial.URL != want {
		t.Errorf("an instance without an address is at %s, want the node's: %s", two.Servers[0].Dial.URL, want)
	}
	instance(t, a, api.AgentServiceRegistration{ID: "x", Name: "other", Tags: []string{"web"}})
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"critical", func() error { return a.Client().Agent().UpdateTTL("c1", "", api.HealthCritical) }, "a1"},
		{"passing again", func() error { return a.Client().Agent().UpdateTTL("c1", "", api.HealthPassing) }, "a1 b1"},
		{"in maintenance", func() error { return a.Client().Agent().EnableServiceMaintenance("b1", "") }, "a1"},
		{"out of maintenance", func() error { return a.Client().Agent().DisableServiceMaintenance("b1") }, "a1 b1"},
		{"the node in maintenance", func() error { return a.Client().Agent().EnableNodeMaintenance("") }, ""},
		{"the node back", func() error { return a.Client().Agent().DisableNodeMaintenance() }, "a1 b1"},
		{"deregistered", func() error { return a.Client().Agent().ServiceDeregister("a1") }, "b1"},
		{"the last one deregistered", func() error { return a.Client().Agent().ServiceDeregister("b1") }, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		_, took := d.until(step.name, has(step.want))
		soon(step.name, took)
	}
	instance(t, a, review)
	_, took = d.until("a service that returns", has("b1"))
	soon("a service that returns", took)
	review.Tags = []string{"code-review"}
	instance(t, a, review)
	_, took = d.until("a service without the tag", has(""))
	soon("losing the tag", took)
}

func TestAWarningInstanceGetsItsWarningWeight(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	weights := &api.AgentWeights{Passing: 10, Warning: 2}
	instance(t, a, api.AgentServiceRegistration{ID: "a", Name: "review", Tags: []string{"mcp", "r"}, Weights: weights, Check: ttl()})
	d := follow(t, consul.Options{Address: a.Address()})
	before, _ := d.until("the instance", has("a"))
	if w := before.Servers[0].Weight; w != 10 {
		t.Errorf("passing weighs %g, want 10", w)
	}
	a.Client().Agent().UpdateTTL("c1", "", api.HealthWarning)
	d.until("the warning weight", func(s *router.Snapshot) bool { return ids(s) == "a" && s.Servers[0].Weight == 2 })
	// Consul has 0 stand for no share, the router for none told.
	weights.Warning = 0
	instance(t, a, api.AgentServiceRegistration{ID: "a", Name: "review", Tags: []string{"mcp", "r"}, Weights: weights,
		Check: &api.AgentServiceCheck{CheckID: "c1", TTL: "10m", Status: api.HealthWarning}})
	d.until("a warning weight of 0 to leave it out", has(""))
}

func TestNodesMayUseTheSameID(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	for _, node := range []string{"n2", "n1", "n3"} {
		if _, err := a.Client().Catalog().Register(&api.CatalogRegistration{
			Node: node, Address: "10.0.0." + node[1:],
			Service: &api.AgentService{ID: "pay", Service: "pay", Tags: []string{"mcp", "charge"}, Port: 80,
				Meta: map[string]string{consul.MetaEffect: "conditional", consul.MetaKey: "k"}},
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	d := follow(t, consul.Options{Address: a.Address(), Trust: true})
	s, _ := d.until("all three", has("pay pay@n1 pay@n3"))
	if got := s.Servers[0].Dial.URL; got != "http://10.0.0.2:80/mcp" {
		t.Errorf("pay is at %s; the node that registered it first has the id", got)
	}
	ledger := s.Servers[1].Offers[0].Ledger.Name
	if _, err := a.Client().Catalog().Deregister(&api.CatalogDeregistration{Node: "n2"}, nil); err != nil {
		t.Fatal(err)
	}
	s, _ = d.until("the second to take the id", has("pay pay@n3"))
	if got := s.Servers[0].Offers[0]; got.Ledger.Name != ledger || got.Effect != state.Conditional {
		t.Errorf("its ledger became %q, it was %q: keys would be taken to a ledger that never saw them", got.Ledger.Name, ledger)
	}
}

func TestAFreshLookFindsWhatWasJustRegistered(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	d := follow(t, consul.Options{Address: a.Address()})
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := d.Snapshot(); s.Stale || len(s.Servers) != 0 {
		t.Fatalf("after a first look: %s", show(s))
	}
	want := ""
	for i := range 5 {
		id := fmt.Sprintf("s%d", i)
		want = strings.TrimSpace(want + " " + id)
		instance(t, a, api.AgentServiceRegistration{ID: id, Name: fmt.Sprintf("svc%d", i%3), Tags: []string{"mcp", "r"}})
		ready(t, a, id)
		looks := make(chan error, 4)
		for range cap(looks) {
			go func() { looks <- d.Refresh(t.Context()) }()
		}
		for range cap(looks) {
			if err := <-looks; err != nil {
				t.Fatal(err)
			}
		}
		if got := ids(d.Snapshot()); got != want {
			t.Errorf("after the look: %q, want %q", got, want)
		}
	}
	// Looks and waits are answered from different places in Consul, and neither
	// may make the other's index seem to have gone back.
	for i := range 5 {
		if err := a.Client().Agent().ServiceDeregister(fmt.Sprintf("s%d", i)); err != nil {
			t.Fatal(err)
		}
		want = strings.TrimSpace(strings.TrimPrefix(want, fmt.Sprintf("s%d", i)))
		d.until("one less", has(want))
		if err := d.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Refresh(ctx); err == nil {
		t.Error("a cancelled look succeeded")
	}
}

// ready waits until the catalogue has what the agent was told.
func ready(t *testing.T, a *consultest.Agent, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		found, _, err := a.Client().Health().State(api.HealthAny, (&api.QueryOptions{}).WithContext(ctx))
		node, _, err2 := a.Client().Catalog().Node("node1", (&api.QueryOptions{}).WithContext(ctx))
		if err == nil && err2 == nil && node != nil && node.Services[id] != nil && len(found) > 0 {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("%s never came into the catalogue", id)
		}
	}
}
