package server_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/consul/api"
	"github.com/mark3labs/mcp-go/client/transport"

	"junction/examples/codereview/server"
	"junction/router/consul/consultest"
)

// running is a server in this process that can be told to stop.
type running struct {
	url  string
	said string // before it served
	stop context.CancelFunc
	code chan int
}

// run starts a server over HTTP and waits until it says that it serves.
func run(t *testing.T, args ...string) *running {
	t.Helper()
	said, stderr := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &running{stop: cancel, code: make(chan int, 1)}
	go func() {
		r.code <- server.Main(ctx, append(args, "--http", "127.0.0.1:0"), strings.NewReader(""), stderr, stderr)
		stderr.Close()
	}()
	t.Cleanup(cancel)
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), " at http"); ok && strings.HasPrefix(lines.Text(), "serving ") {
			r.url = "http" + url
			break
		}
		r.said += lines.Text() + "\n"
	}
	if r.url == "" {
		t.Fatalf("it does not serve: %s", r.said)
	}
	go io.Copy(io.Discard, said)
	return r
}

// until looks until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain until " + what)
		}
	}
}

func entries(t *testing.T, a *consultest.Agent, service string) []*api.ServiceEntry {
	t.Helper()
	all, _, err := a.Client().Health().Service(service, "mcp", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestServersRegisterWhatTheyOffer(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	for _, tt := range []struct {
		name, service string
		args          []string
		tags          []string
		meta          map[string]string
		status        string
	}{
		{
			name: "a reviewer", service: "review-python",
			args: []string{"--reviewer", "python", "--latency", "20ms", "--capacity", "3"},
			tags: []string{"mcp", "code-review", "language=python", "review_depth=shallow"},
			meta: map[string]string{
				"mcp-path": "/mcp", "mcp-depth": "shallow", "mcp-capabilities": "code-review", "mcp-tool-code-review": "review",
				"mcp-effect-code-review": "safe", "mcp-latency-p95-ms": "20", "mcp-max-concurrent": "3", "version": "0.1.0",
			},
			status: "passing",
		}, {
			name: "the ledger", service: "press",
			args: []string{"--reviewer", "ledger", "--dir", t.TempDir(), "--ledger-name", "published"},
			tags: []string{"mcp", "publish"},
			meta: map[string]string{
				"mcp-path": "/mcp", "mcp-capabilities": "publish", "mcp-tool-publish": "publish", "mcp-effect-publish": "conditional",
				"mcp-key-publish": "idempotencyKey", "mcp-ledger-publish": "published", "mcp-keeps-publish": "720h",
				"mcp-max-concurrent": "64", "version": "0.1.0",
			},
			status: "passing",
		}, {
			name: "the inventory", service: "inventory",
			args: []string{"--reviewer", "inventory", "--dir", t.TempDir(), "--ledger", "stock.db", "--ledger-name", "stock"},
			tags: []string{"mcp", "reservation", "inventory"},
			meta: map[string]string{
				"mcp-path": "/mcp", "mcp-capabilities": "reservation,inventory", "mcp-tool-inventory": "get_inventory", "mcp-effect-inventory": "safe",
				"mcp-tool-reservation": "reserve_inventory", "mcp-effect-reservation": "conditional", "mcp-key-reservation": "idempotencyKey",
				"mcp-ledger-reservation": "stock", "mcp-keeps-reservation": "24h", "mcp-max-concurrent": "64", "version": "0.1.0",
			},
			status: "passing",
		}, {
			name: "one that is ill, by another name and version", service: "sick",
			args: []string{"--reviewer", "report", "--service", "sick", "--declare-version", "2.0.0", "--fail-health"},
			tags: []string{"mcp", "report"},
			meta: map[string]string{
				"mcp-path": "/mcp", "mcp-capabilities": "report", "mcp-tool-report": "render", "mcp-effect-report": "safe",
				"mcp-max-concurrent": "64", "version": "2.0.0",
			},
			status: "critical",
		},
	} {
		r := run(t, append(tt.args, "--consul", a.Address(), "--check-interval", "1h")...)
		all := entries(t, a, tt.service)
		if len(all) != 1 {
			t.Fatalf("%s: %d entries", tt.name, len(all))
		}
		if diff := cmp.Diff(tt.tags, all[0].Service.Tags); diff != "" {
			t.Errorf("%s: tags %s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.meta, all[0].Service.Meta); diff != "" {
			t.Errorf("%s: meta %s", tt.name, diff)
		}
		if got := all[0].Checks.AggregatedStatus(); got != tt.status {
			t.Errorf("%s is %s, want %s", tt.name, got, tt.status)
		}
		r.stop()
		if code := <-r.code; code != 0 {
			t.Errorf("%s: exit code %d", tt.name, code)
		}
		if left := entries(t, a, tt.service); len(left) != 0 {
			t.Errorf("%s stopped and is still there", tt.name)
		}
	}
}

func TestAServerThatStartsBeforeConsulJoinsLater(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	a.Kill()
	alone, early := run(t, "--reviewer", "js", "--consul", a.Address()), run(t, "--reviewer", "python", "--consul", a.Address())
	for _, r := range []*running{alone, early} {
		if !strings.Contains(r.said, "register review-") || !strings.Contains(r.said, a.Address()) || !strings.Contains(r.said, "refused") {
			t.Errorf("it does not say who is not there: %q", r.said)
		}
	}
	alone.stop()
	if code := <-alone.code; code != 0 {
		t.Errorf("stopped before there was a Consul: exit code %d", code)
	}
	a.Restart()
	until(t, "it has registered", func() bool { return len(entries(t, a, "review-python")) == 1 })
}

func TestConsulLooksWhetherTheCapabilityWorks(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	run(t, "--reviewer", "js", "--consul", a.Address(), "--check-interval", "1s")
	until(t, "Consul has seen the answer", func() bool {
		checks, err := a.Client().Agent().Checks() // the catalogue learns of outputs minutes later
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if c.Status == "passing" && strings.Contains(c.Output, `"status":"passing","capability":"code-review"`) {
				return true
			}
		}
		return false
	})
}

func TestAServerLeavesTheRegistryThenLetsCallsEnd(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	calls := filepath.Join(t.TempDir(), "calls")
	r := run(t, "--reviewer", "js", "--slow", "2s", "--calls", calls, "--grace", "1m", "--consul", a.Address())
	tr, err := transport.NewStreamableHTTP(r.url)
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, tr)
	answered := make(chan error, 1)
	go func() {
		_, err := call(context.WithoutCancel(t.Context()), c, "review", map[string]any{"code": "let a\n", "language": "javascript"})
		answered <- err
	}()
	until(t, "the call has begun", func() bool {
		_, err := os.Stat(calls)
		return err == nil
	})
	listen, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	listen.Header.Set("Accept", "text/event-stream")
	stream, err := http.DefaultClient.Do(listen)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close() // it never ends of itself
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("listening: %s", stream.Status)
	}
	stopped := time.Now()
	r.stop()
	until(t, "the service is gone", func() bool { return len(entries(t, a, "review-js")) == 0 })
	if err := <-answered; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	if code := <-r.code; code != 0 || time.Since(stopped) > 45*time.Second {
		t.Errorf("exit code %d after %v; what only listens must not use up --grace", code, time.Since(stopped))
	}
}

func TestAServerStillServesWhileItLeaves(t *testing.T) {
	t.Parallel()
	var check string
	left := make(chan int, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/register"):
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			_, rest, _ := strings.Cut(string(body), `"HTTP":"`)
			check, _, _ = strings.Cut(rest, `"`)
		case strings.Contains(r.URL.Path, "/deregister/"):
			response, err := http.Get(strings.ReplaceAll(check, `\u0026`, "&"))
			if err != nil {
				t.Error(err)
				left <- 0
				return
			}
			response.Body.Close()
			left <- response.StatusCode
		}
	}))
	defer agent.Close()
	r := run(t, "--reviewer", "report", "--consul", agent.URL)
	r.stop()
	if status := <-left; status != http.StatusOK {
		t.Errorf("asked in the moment it leaves, it answered %d", status)
	}
	if code := <-r.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestFlagsOfAFleetGoTogether(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const nobody = "http://127.0.0.1:1"
	tests := []struct {
		name, want string
		args       []string
		code       int
	}{
		{"no HTTP", "--http ADDR", []string{"--consul", nobody}, 2},
		{"every address", "--advertise HOST:PORT", []string{"--consul", nobody, "--http", "0.0.0.0:0"}, 2},
		{"every address, by port", "--advertise HOST:PORT", []string{"--consul", nobody, "--http", ":0"}, 2},
		{"every address of IPv6", "--advertise HOST:PORT", []string{"--consul", nobody, "--http", "[::]:0"}, 2},
		{"name without Consul", "--consul URL", []string{"--http", "127.0.0.1:0", "--service", "x"}, 2},
		{"advertised without a port", "HOST:PORT", []string{"--consul", nobody, "--http", "127.0.0.1:0", "--advertise", "example.org"}, 1},
		{"no URL", "http://127.0.0.1:8500", []string{"--consul", "127.0.0.1:8500", "--http", "127.0.0.1:0"}, 1},
		{"empty token", empty, []string{"--consul", nobody, "--http", "127.0.0.1:0", "--consul-token-file", empty}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			code := server.Main(t.Context(), append(tt.args, "--reviewer", "js"), strings.NewReader(""), &out, &out)
			if code != tt.code || !strings.Contains(out.String(), tt.want) {
				t.Errorf("exit code %d, want %d; it said %q, want %q", code, tt.code, out.String(), tt.want)
			}
		})
	}
}

func TestHealthIsThereWithoutConsul(t *testing.T) {
	t.Parallel()
	r := run(t, "--reviewer", "python", "--fail", "1.0")
	for query, want := range map[string]int{"?capability=code-review": 200, "": 200, "?capability=diff": 404} {
		response, err := http.Get(r.url + "/health" + query)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%q: %s, want %d", query, response.Status, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	r.stop()
	<-r.code
}
