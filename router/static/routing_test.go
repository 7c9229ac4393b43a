package static_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/health"
	"junction/router"
	"junction/router/static"
)

func TestRoutingIsReadAndTakesItsPlaceInTheOptions(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       router.Options
	}{
		{"nothing", "{}", router.Options{}},
		{"score", "{score: linear}", router.Options{Score: health.Linear{}}},
		{"the default score by name", "{score: product}", router.Options{Score: health.Product{}}},
		{"plain", "{transform: plain}", router.Options{Transform: router.Plain()}},
		{"excess", "{transform: excess}", router.Options{Transform: router.Excess(0.65)}},
		{"excess over a floor", "{transform: {excess: 0.5}}", router.Options{Transform: router.Excess(0.5)}},
		{"power", "{transform: {power: 3}}", router.Options{Transform: router.Power(3)}},
		{"a picker", "{picker: least-loaded}", router.Options{Picker: router.LeastLoaded{}}},
		{"the default picker by name", "{picker: weighted-random}", router.Options{Picker: router.WeightedRandom{}}},
		{"retries", "{attempts: 5, retry_share: 0.1, retry_floor: 7}", router.Options{Attempts: 5, RetryShare: 0.1, RetryFloor: 7}},
		{"a whole share", "{retry_share: 1}", router.Options{RetryShare: 1}},
		{"hedge after a quantile", "{hedge: {after: p95}}", router.Options{Hedge: router.Hedge{P95: true}}},
		{"hedge after a time", "{hedge: {after: 250ms}}", router.Options{Hedge: router.Hedge{After: 250 * time.Millisecond}}},
		{"probes that are not made", "{probe: {every: 1s, timeout: 2s, strikes: 4}}", router.Options{Probe: router.ProbeOptions{Timeout: 2 * time.Second, Strikes: 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := static.Parse("junction.yaml", []byte("routing: "+c.text+"\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got router.Options
			config.Routing.Apply(&got)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(router.Transform{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("how often probes are made", func(t *testing.T) {
		config, err := static.Parse("junction.yaml", []byte("routing: {probe: {every: 1s}}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		o := router.Options{Attempts: 9, Probe: router.ProbeOptions{Every: time.Minute, All: true}}
		config.Routing.Apply(&o)
		if o.Attempts != 9 || o.Probe.Every != time.Second || !o.Probe.All {
			t.Errorf("options %+v", o)
		}
	})
	t.Run("prometheus", func(t *testing.T) {
		config, err := static.Parse("junction.yaml", []byte("routing: {prometheus: \"${P}\"}\n"), &static.Options{LookupEnv: func(string) (string, bool) { return "https://p.example/prom", true }})
		if err != nil || config.Routing.Prometheus != "https://p.example/prom" {
			t.Errorf("%v, address %q", err, config.Routing.Prometheus)
		}
	})
}

func TestFaultsOfRoutingNamePlaceAndRemedy(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"misspelt key", "  scor: linear", `2:3: unknown key "scor" (did you mean "score"?)`},
		{"unknown score", "  score: liner", `2:10: "liner" is none of product, linear (did you mean "linear"?)`},
		{"unknown picker", "  picker: random", `2:11: "random" is none of weighted-random, least-loaded`},
		{"unknown transform", "  transform: square", `2:14: "square" is none of plain, excess`},
		{"no transform", "  transform: {}", "2:14: nothing says how weights are made (write plain, excess, {excess: 0.65} or {power: 2})"},
		{"two transforms", "  transform: {excess: 0.5, power: 2}", "2:35: weights are made in one way (remove one of them)"},
		{"a floor of all", "  transform: {excess: 1}", "2:23: a number above 0 and below 1 is expected here, not 1"},
		{"a power of nothing", "  transform: {power: 0}", "2:22: a number above 0 and up to 8 is expected here, not 0"},
		{"no number", "  retry_share: much", "2:16: a number is expected here, not text"},
		{"more than all", "  retry_share: 1.5", "2:16: a number above 0 and up to 1 is expected here, not 1.5"},
		{"no attempts", "  attempts: 0", "2:13: a whole number from 1 to 20 is expected here, not 0"},
		{"half an attempt", "  attempts: 1.5", "2:13: a whole number from 1 to 20 is expected here, not 1.5"},
		{"no floor", "  retry_floor: 0", "2:16: a whole number from 1 to 1000 is expected here"},
		{"hedge without a time", "  hedge: {}", "after"},
		{"hedge as a word", "  hedge: p95", "2:10: a mapping is expected here, not text"},
		{"hedge after another quantile", "  hedge: {after: p99}", `2:18: "p99" is neither p95 nor a length of time (write p95, or a time with its unit such as 250ms)`},
		{"hedge at once", "  hedge: {after: 0s}", `2:18: "0s" is not above zero`},
		{"hedge after a number", "  hedge: {after: 5}", "2:18: a length of time is expected here"},
		{"probes never", "  probe: {every: 0s}", `2:18: "0s" is not above zero`},
		{"no strikes", "  probe: {strikes: 0}", "2:20: a whole number from 1 to 100 is expected here"},
		{"no address", "  prometheus: localhost:9090", "2:15: the address of Prometheus begins with http:// or https:// (such as http://127.0.0.1:9090)"},
		{"a credential in the address", "  prometheus: http://u:hunter2@h", "2:15: the address of Prometheus is a scheme, a host, a port and a path"},
		{"a variable that is not set", "  prometheus: ${NOPE}", "environment variable NOPE is not set"},
		{"a variable elsewhere", "  score: ${S}", `2:10: "${S}" is none of`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := static.Parse("junction.yaml", []byte("routing:\n"+c.text+"\n"), &static.Options{LookupEnv: func(string) (string, bool) { return "", false }})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one that says %s", err, c.want)
			}
		})
	}
}

func TestAnotherRoutingNeedsARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "junction.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("routing: {score: linear}\n")
	config, err := static.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := config.Discovery()
	write("routing: {score: product}\n")
	if err := d.Refresh(t.Context()); !errors.Is(err, static.ErrRestart) {
		t.Errorf("error %v, want that a restart is needed", err)
	}
	write("routing: {score: linear}\n")
	if err := d.Refresh(t.Context()); err != nil {
		t.Errorf("error %v with the same routing again", err)
	}
}
