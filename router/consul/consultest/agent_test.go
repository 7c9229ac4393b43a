package consultest_test

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"junction/router/consul/consultest"
)

func TestAnAgentForgetsWhenItRestartsAndKeepsItsAddress(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	before := a.Address()
	if err := a.Client().Agent().ServiceRegister(&api.AgentServiceRegistration{Name: "x", Port: 1}); err != nil {
		t.Fatal(err)
	}
	a.Restart()
	services, _, err := a.Client().Catalog().Services(nil)
	if err != nil || services["x"] != nil || a.Address() != before {
		t.Errorf("at %s (was %s): %v, %v; want the same address and nothing of before", a.Address(), before, services, err)
	}
}

func TestAStoppedAgentAnswersNothingAndGoesOn(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	a.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := a.Client().Catalog().Services((&api.QueryOptions{}).WithContext(ctx)); err == nil {
		t.Error("a stopped agent answered")
	}
	a.Cont()
	if _, _, err := a.Client().Catalog().Services(nil); err != nil {
		t.Errorf("after Cont: %v", err)
	}
}

func TestWithACLOnlyTheTokenMayDoAnything(t *testing.T) {
	t.Parallel()
	const token = "6f1d0c0e-55f5-4f0b-9d2a-0a86b7a1a9d1"
	a := consultest.Start(t, consultest.WithACL(token))
	anonymous, err := api.NewClient(&api.Config{Address: a.Address()})
	if err != nil {
		t.Fatal(err)
	}
	if services, _, err := anonymous.Catalog().Services(nil); err != nil || len(services) != 0 {
		t.Errorf("anonymous: %v, %v; want an empty answer", services, err)
	}
	if services, _, err := a.Client().Catalog().Services(nil); err != nil || services["consul"] == nil {
		t.Errorf("with the token: %v, %v; want all", services, err)
	}
}
