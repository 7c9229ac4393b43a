package consul_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
)

func TestConsulMayDieAndForget(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	for i := range 4 {
		instance(t, a, api.AgentServiceRegistration{ID: fmt.Sprintf("s%d", i), Name: fmt.Sprintf("svc%d", i/2), Tags: []string{"mcp", "r"}})
	}
	d := follow(t, consul.Options{Address: a.Address(), Timeout: 2 * time.Second})
	before, _ := d.until("all", has("s0 s1 s2 s3"))
	a.Kill()
	down, _ := d.until("what was known, stale", stale("s0 s1 s2 s3"))
	if !slices.Equal(before.Servers, down.Servers) || down.Version <= before.Version {
		t.Error("the servers were made anew")
	}
	look := d.Refresh(t.Context())
	for name, err := range map[string]error{"Refresh": look, "Err": d.Err()} {
		if err == nil || !strings.Contains(err.Error(), a.Address()) || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "start the agent") {
			t.Errorf("%s: %v; want the address, the reason and what to do", name, err)
		}
	}
	a.Restart()
	d.until("what was known, though Consul has none of it", func(s *router.Snapshot) bool {
		return stale("s0 s1 s2 s3")(s) && strings.Contains(fmt.Sprint(d.Err()), "went back")
	})
	for i := range 4 {
		instance(t, a, api.AgentServiceRegistration{ID: fmt.Sprintf("s%d", i), Name: fmt.Sprintf("svc%d", i/2), Tags: []string{"mcp", "r"}})
		if s := d.Snapshot(); ids(s) != "s0 s1 s2 s3" {
			t.Errorf("while they register again: %s", show(s))
		}
	}
	after, _ := d.until("all of it again", has("s0 s1 s2 s3"))
	if !slices.Equal(before.Servers, after.Servers) {
		t.Error("servers that did not change lost their pointers")
	}
	if err := d.Err(); err != nil {
		t.Errorf("healthy with the error %v", err)
	}
}

func TestAHungConsulIsNoticedByTheFreshLook(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	instance(t, a, api.AgentServiceRegistration{ID: "a", Name: "review", Tags: []string{"mcp", "r"}})
	d := follow(t, consul.Options{Address: a.Address(), Timeout: 500 * time.Millisecond})
	d.until("the instance", has("a"))
	a.Stop()
	if err := d.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "500ms") {
		t.Errorf("a fresh look into a hung Consul: %v; want its limit", err)
	}
	d.until("what was known, stale", stale("a"))
	a.Cont()
	d.until("recovery", has("a"))
}
