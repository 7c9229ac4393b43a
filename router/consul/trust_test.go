package consul_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
	"junction/state"
)

func TestAWeakTokenEmptiesNothing(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t, consultest.WithACL("c3b0d3f2-0b52-4d8e-9c76-0b9a3e1d7f55"))
	policy, _, err := a.Client().ACL().PolicyCreate(&api.ACLPolicy{Name: "read", Rules: `service_prefix "" {policy="read"} node_prefix "" {policy="read"}`}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := a.Client().ACL().TokenCreate(&api.ACLToken{Policies: []*api.ACLTokenPolicyLink{{ID: policy.ID}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	instance(t, a, api.AgentServiceRegistration{ID: "a", Name: "review", Tags: []string{"mcp", "r"}})
	d := follow(t, consul.Options{Address: a.Address(), Token: token.SecretID})
	d.until("the instance", has("a"))

	none := follow(t, consul.Options{Address: a.Address()})
	none.until("that nothing may be read", func(s *router.Snapshot) bool { return s.Stale && none.Err() != nil })
	if err := none.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "service:read") {
		t.Errorf("without a token: %v; want what it needs", err)
	}

	policy.Rules = `node_prefix "" {policy="read"}`
	if _, _, err := a.Client().ACL().PolicyUpdate(policy, nil); err != nil {
		t.Fatal(err)
	}
	err = d.Refresh(t.Context())
	if s := d.Snapshot(); err == nil || !strings.Contains(err.Error(), "service:read") || !stale("a")(s) {
		t.Errorf("with a token that may read nothing: %s, %v", show(s), err)
	}
	policy.Rules = `service_prefix "" {policy="read"} node_prefix "" {policy="read"}`
	if _, _, err := a.Client().ACL().PolicyUpdate(policy, nil); err != nil {
		t.Fatal(err)
	}
	d.until("recovery", has("a"))
	if err := a.Client().Agent().ServiceDeregister("a"); err != nil {
		t.Fatal(err)
	}
	d.until("that the last instance is gone", has(""))
	if _, err := a.Client().ACL().TokenDelete(token.AccessorID, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "403") || strings.Contains(err.Error(), token.SecretID) {
		t.Errorf("with a token that is no more: %v; want the status and never the token", err)
	}
}

func TestTheOperatorsWordStandsAboveConsul(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	offers := []router.Offer{{Capability: "review", Tool: "lint", Effect: state.Safe}}
	instance(t, a, api.AgentServiceRegistration{ID: "near", Name: "review", Address: "10.0.0.5", Tags: []string{"mcp", "other"},
		Meta: map[string]string{consul.MetaConcurrent: "7", consul.MetaLatencyP95: "90"}})
	instance(t, a, api.AgentServiceRegistration{ID: "far", Name: "review", Address: "192.0.2.1", Tags: []string{"mcp", "other"}})
	d := follow(t, consul.Options{Address: a.Address(), Services: map[string]router.Service{"review": {
		Offers: offers, Trusted: true, MaxConcurrent: 3,
		Headers:   map[string]string{"Authorization": "Bearer s3cret"},
		Auth:      []router.Credential{{Scheme: "api-key", Token: "s3cret"}},
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}}})
	s, _ := d.until("both", has("far near"))
	far, near := s.Servers[0], s.Servers[1]
	if len(near.Offers) != 1 || near.Offers[0].Tool != "lint" || near.Offers[0].Effect != state.Safe || !near.Trusted || near.MaxConcurrent != 3 || near.LatencyP95 != 90*time.Millisecond {
		t.Errorf("%+v", near)
	}
	if near.Dial.Headers["Authorization"] == "" || len(far.Dial.Headers) != 0 {
		t.Errorf("headers of the one in range %v, of the other %v", len(near.Dial.Headers), len(far.Dial.Headers))
	}
	if len(near.Dial.Auth) != 1 || len(far.Dial.Auth) != 0 {
		t.Errorf("credentials of the one in range %v, of the other %v", len(near.Dial.Auth), len(far.Dial.Auth))
	}
	problems := d.Problems()
	if len(problems) != 1 || problems[0].Instance != "far" || !strings.Contains(problems[0].What, "withheld") || strings.Contains(problems[0].What, "s3cret") {
		t.Errorf("problems %+v", problems)
	}
}

func TestConsulsOwnDisregardOfCaseGivesAwayNothing(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	instance(t, a, api.AgentServiceRegistration{ID: "genuine", Name: "payments", Address: "10.0.0.5", Tags: []string{"mcp", "pay"}})
	instance(t, a, api.AgentServiceRegistration{ID: "impostor", Name: "Payments", Address: "10.0.0.6", Tags: []string{"mcp", "pay"}})
	d := follow(t, consul.Options{Address: a.Address(), Services: map[string]router.Service{"payments": {
		Offers:  []router.Offer{{Capability: "pay", Tool: "pay", Effect: state.Safe}},
		Headers: map[string]string{"Authorization": "Bearer s3cret"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}}})
	s, _ := d.until("both", has("genuine impostor"))
	for _, server := range s.Servers {
		if given := len(server.Dial.Headers) > 0 || server.Offers[0].Effect == state.Safe; given != (server.Name == "payments") {
			t.Errorf("%s of service %s: %d headers, effect %q", server.ID, server.Name, len(server.Dial.Headers), server.Offers[0].Effect)
		}
	}
}
