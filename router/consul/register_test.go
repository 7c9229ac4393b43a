package consul

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/consul/api"

	"junction/router"
	"junction/router/consul/consultest"
	"junction/state"
)

// review is a service that Consul takes.
func review() Service {
	return Service{
		Name: "review-go", Address: "127.0.0.1:8081", Path: "/mcp", LatencyP95: 250 * time.Millisecond, MaxConcurrent: 32, Version: "0.1.0",
		Offers: []router.Offer{{
			Capability: "code-review", Tool: "review", Effect: state.Safe,
			Attributes: map[string][]string{"language": {"go", "text"}, "review_depth": {"deep"}},
		}},
	}
}

// eventually looks until there is nothing to complain of.
func eventually(t *testing.T, look func() (complaint string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		complaint := look()
		if complaint == "" {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(complaint)
		}
	}
}

// condition says how the service is with Consul: "" when it is not there.
func condition(t *testing.T, a *consultest.Agent, name string) string {
	t.Helper()
	entries, _, err := a.Client().Health().Service(name, "", false, nil)
	if err != nil || len(entries) == 0 {
		return ""
	}
	return entries[0].Checks.AggregatedStatus()
}

func becomes(t *testing.T, a *consultest.Agent, name, want string) {
	t.Helper()
	eventually(t, func() string {
		if got := condition(t, a, name); got != want {
			return name + " is " + got + " with Consul; want " + want
		}
		return ""
	})
}

// enlist registers a service that is looked after every few milliseconds.
func enlist(t *testing.T, o Options, s Service) *Registration {
	t.Helper()
	r, err := newRegistration(o, s)
	if err != nil {
		t.Fatal(err)
	}
	r.every = 20 * time.Millisecond
	if err := r.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.start(t.Context(), nil)
	t.Cleanup(func() { r.Close(context.WithoutCancel(t.Context())) }) // the agent may be gone by then
	return r
}

func TestARegisteredServiceSaysWhatItOffersUntilItCloses(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	r, err := Register(t.Context(), Options{Address: a.Address()}, review())
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := a.Client().Health().Service("review-go", "mcp", true, nil)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	got := entries[0].Service
	tags := []string{"mcp", "code-review", "language=go", "language=text", "review_depth=deep"}
	if diff := cmp.Diff(tags, got.Tags); diff != "" {
		t.Error("tags", diff)
	}
	meta := map[string]string{
		"mcp-path": "/mcp", "mcp-capabilities": "code-review", "mcp-tool-code-review": "review", "mcp-effect-code-review": "safe",
		"mcp-latency-p95-ms": "250", "mcp-max-concurrent": "32", "version": "0.1.0",
	}
	if diff := cmp.Diff(meta, got.Meta); diff != "" {
		t.Error("meta", diff)
	}
	if got.ID != r.ID() || got.ID != "review-go-127.0.0.1:8081" || got.Address != "127.0.0.1" || got.Port != 8081 {
		t.Errorf("%s at %s:%d", got.ID, got.Address, got.Port)
	}
	for range 2 {
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if c := condition(t, a, "review-go"); c != "" {
		t.Errorf("after Close it is still there, %s", c)
	}
}

func TestTheCheckDecidesWhetherTheServiceIsWell(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	var ill atomic.Bool
	check := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ill.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer check.Close()
	s := review()
	s.Check = Check{URL: check.URL + "/health", Interval: time.Second, Strikes: 2}
	enlist(t, Options{Address: a.Address()}, s)
	if got := condition(t, a, s.Name); got == "passing" {
		t.Error("passing before anybody has looked")
	}
	becomes(t, a, s.Name, "passing")
	ill.Store(true)
	becomes(t, a, s.Name, "warning")
	becomes(t, a, s.Name, "critical")
}

func TestAServiceThatKnowsItWorksIsPassingAtOnce(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	for _, tt := range []struct {
		name, want string
		ready      error
	}{{"well", "passing", nil}, {"ill", "critical", errors.New("not yet")}} {
		s := review()
		s.Name = tt.name
		s.Check = Check{URL: "http://127.0.0.1:1/health", Interval: time.Hour, Ready: func(context.Context) error { return tt.ready }}
		enlist(t, Options{Address: a.Address()}, s)
		if got := condition(t, a, tt.name); got != tt.want {
			t.Errorf("%s: %q, want %s", tt.name, got, tt.want)
		}
	}
}

func TestAnAgentThatForgotIsToldAgain(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	s := review()
	enlist(t, Options{Address: a.Address()}, s)
	if err := a.Client().Agent().ServiceDeregister("review-go-127.0.0.1:8081"); err != nil {
		t.Fatal(err)
	}
	becomes(t, a, s.Name, "passing")
	a.Restart()
	becomes(t, a, s.Name, "passing")
}

func TestAnAgentThatIsNotThereIsAnErrorOrWaitedFor(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	a.Kill()
	s := review()
	_, err := Register(t.Context(), Options{Address: a.Address()}, s)
	if err == nil {
		t.Fatal("registered with nobody")
	}
	for _, want := range []string{a.Address(), "review-go", "refused", "Start it"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	s.KeepTrying = true
	inVain, err := Register(t.Context(), Options{Address: a.Address()}, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := inVain.Close(t.Context()); err != nil {
		t.Errorf("nobody was told, so nothing is left behind: %v", err)
	}
	r, err := Register(t.Context(), Options{Address: a.Address()}, s)
	if err != nil {
		t.Fatal(err)
	}
	a.Restart()
	becomes(t, a, s.Name, "passing")
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClosingSaysWhatStaysBehind(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/deregister/") {
			<-r.Context().Done() // hangs
		}
	}))
	defer agent.Close()
	s := review()
	s.Check = Check{URL: "http://127.0.0.1:1/health"}
	r, err := Register(t.Context(), Options{Address: agent.URL, Timeout: time.Second}, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "critical for 1m0s") {
		t.Errorf("%v", err)
	}
}

func TestATokenThatMayNotRegisterIsSaidAndNotShown(t *testing.T) {
	t.Parallel()
	const root, weak = "8d5faa9a-1111-4222-8333-0123456789ab", "5e1de0aa-9999-4222-8333-ba9876543210"
	a := consultest.Start(t, consultest.WithACL(root))
	s := review()
	_, err := Register(t.Context(), Options{Address: a.Address(), Token: weak}, s)
	if err == nil || !strings.Contains(err.Error(), "service:write for review-go") {
		t.Errorf("%v", err)
	}
	if err != nil && strings.Contains(err.Error(), weak) {
		t.Errorf("the token is in %q", err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(root+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	enlist(t, Options{Address: a.Address(), TokenFile: file}, s)
	if got := condition(t, a, s.Name); got != "passing" {
		t.Errorf("with the token of a file: %q", got)
	}
}

func TestWhatAnAgentRefusesForEverIsNotTriedForEver(t *testing.T) {
	t.Parallel()
	for code, tries := range map[int]bool{http.StatusBadRequest: false, http.StatusForbidden: true, http.StatusInternalServerError: true} {
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/register") {
				w.WriteHeader(code)
			}
		}))
		s := review()
		s.KeepTrying = true
		r, err := Register(t.Context(), Options{Address: agent.URL}, s)
		if (err == nil) != tries {
			t.Errorf("%d: %v", code, err)
		}
		if r != nil {
			r.Close(t.Context())
		}
		agent.Close()
	}
}

func TestAServiceThatConsulCannotTellIsRefusedByName(t *testing.T) {
	t.Parallel()
	with := func(change func(*Service)) Service {
		s := review()
		change(&s)
		return s
	}
	second := router.Offer{Capability: "report", Tool: "render"}
	tests := []struct {
		name, want string
		s          Service
	}{
		{"no name", `"" cannot name a service`, with(func(s *Service) { s.Name = "" })},
		{"slash in the id", `"a/b" cannot be an instance's id`, with(func(s *Service) { s.ID = "a/b" })},
		{"no port", "HOST:PORT", with(func(s *Service) { s.Address = "10.0.0.1" })},
		{"port of a listener", "from 1 to 65535", with(func(s *Service) { s.Address = "10.0.0.1:0" })},
		{"every address", "others reach it", with(func(s *Service) { s.Address = "0.0.0.0:80" })},
		{"every address of IPv6", "others reach it", with(func(s *Service) { s.Address = "[::]:80" })},
		{"scheme", "ftp", with(func(s *Service) { s.Scheme = "ftp" })},
		{"path", `"mcp"`, with(func(s *Service) { s.Path = "mcp" })},
		{"nothing offered", "offers nothing", with(func(s *Service) { s.Offers = nil })},
		{"long path", "mcp-path has 600 bytes", with(func(s *Service) { s.Path = "/" + strings.Repeat("x", 599) })},
		{"capability with a dot", `"code.review"`, with(func(s *Service) { s.Offers[0].Capability = "code.review" })},
		{"long capability", "has 515 bytes", with(func(s *Service) { s.Offers[0].Capability = strings.Repeat("c", 506) })},
		{"attribute with a dot", `"a.b" cannot name an attribute`, with(func(s *Service) { s.Offers[0].Attributes = map[string][]string{"a.b": {"c"}} })},
		{"attribute with a meaning", `"mcp-path" cannot name`, with(func(s *Service) { s.Offers[0].Attributes = map[string][]string{"mcp-path": {"c"}} })},
		{"attribute with a comma", `"go,rust"`, with(func(s *Service) { s.Offers[0].Attributes["language"] = []string{"go,rust"} })},
		{"different attributes", "code-review and report", with(func(s *Service) { s.Offers = append(s.Offers, second) })},
		{"one capability twice", "offered twice", with(func(s *Service) { s.Offers = append(s.Offers, s.Offers[0]) })},
		{"probe", "code-review has a mapping or a probe", with(func(s *Service) { s.Offers[0].Probe = map[string]any{} })},
		{"no key", "has no key", with(func(s *Service) { s.Offers[0].Effect = state.Conditional })},
		{"effect", `"harmless"`, with(func(s *Service) { s.Offers[0].Effect = "harmless" })},
		{"tool with a line break", "control character", with(func(s *Service) { s.Offers[0].Tool = "a\nb" })},
		{"path with a query", "without ? and #", with(func(s *Service) { s.Path = "/mcp?a=b" })},
		{"link-local address", "link-local", with(func(s *Service) { s.Address = "169.254.169.254:80" })},
		{"key without a name", "which argument carries the key", with(func(s *Service) { s.Offers[0].Effect, s.Offers[0].Key = state.Conditional, "_meta." })},
		{"more than there can be", "mcp-max-concurrent", with(func(s *Service) { s.MaxConcurrent = 1 << 30 })},
		{"less than none", "below zero", with(func(s *Service) { s.MaxConcurrent = -1 })},
		{"check without a host", "check's URL", with(func(s *Service) { s.Check.URL = "/health" })},
		{"too many", "Consul takes 64", with(func(s *Service) {
			s.Offers = nil
			for i := range 40 {
				s.Offers = append(s.Offers, router.Offer{Capability: "c" + strings.Repeat("x", i), Tool: "t", Effect: state.Safe})
			}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Register(t.Context(), Options{Address: "http://127.0.0.1:1"}, tt.s)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nlacks %q", err, tt.want)
			}
		})
	}
}

func TestCapabilitiesThatFitNoMetaValueAreToldByTags(t *testing.T) {
	t.Parallel()
	s := review()
	s.Offers = nil
	for i := range 6 {
		s.Offers = append(s.Offers, router.Offer{Capability: strings.Repeat(string(rune('a'+i)), 100)})
	}
	got, err := describe(Mark, s)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(got.Meta)
	if err != nil {
		t.Fatal(err)
	}
	if _, said := got.Meta[MetaCapabilities]; said {
		t.Errorf("half of a list is worse than none: %s", raw)
	}
	for _, o := range s.Offers {
		if !slices.Contains(got.Tags, o.Capability) {
			t.Errorf("no tag %s", o.Capability)
		}
	}
	if got.Weights == nil || *got.Weights != (api.AgentWeights{Passing: 1, Warning: 1}) {
		t.Errorf("weights %+v", got.Weights)
	}
}
