package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"junction/router"
	"junction/router/prometheus"
)

var _ router.Rates = (*prometheus.Source)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is one that answers so.
func source(t *testing.T, status int, body string) *prometheus.Source {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/base/api/v1/query" || r.URL.Query().Get("query") != prometheus.Query {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	s, err := prometheus.New(server.URL+"/base/", &prometheus.Options{Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func vector(results string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + results + `]}}`
}

func TestErrorRatesAreReadForAllServersAtOnce(t *testing.T) {
	t.Parallel()
	rates, err := source(t, 200, vector(`{"metric":{"server_name":"lint"},"value":[1,"0.25"]},{"metric":{"server_name":"idle"},"value":[1,"NaN"]},
		{"metric":{"server_name":"odd"},"value":[1,"1.01"]},{"metric":{},"value":[1,"1"]},{"metric":{"server_name":"fine"},"value":[1.5,"0"]}`)).ErrorRates(t.Context())
	want := map[string]float64{"lint": 0.25, "odd": 1, "fine": 0}
	if err != nil || !maps.Equal(rates, want) {
		t.Errorf("%v, rates %v, want %v", err, rates, want)
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"no JSON", 200, "<html>", "cannot be read"},
		{"a proxy's error", 502, "<html>", "HTTP status 502"},
		{"a redirect", 307, "", "HTTP status 307"},
		{"an error of the query", 422, `{"status":"error","error":"too many samples"}`, `HTTP status 422: "too many samples"`},
		{"no vector", 200, `{"status":"success","data":{"resultType":"scalar","result":[]}}`, "not a vector"},
		{"no number", 200, vector(`{"metric":{"server_name":"lint"},"value":[1,"much"]}`), "no number"},
		{"no value", 200, vector(`{"metric":{"server_name":"lint"}}`), "no number"},
		{"too much", 200, vector(strings.Repeat(" ", 5<<20)), "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rates, err := source(t, c.status, c.body).ErrorRates(t.Context())
			if err == nil || rates != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "rate(") {
				t.Errorf("rates %v, error %v, want one that says %q", rates, err, c.want)
			}
		})
	}
}

func TestAnAddressThatCannotBeShownIsRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "127.0.0.1:9090", "ftp://h", "http://user:secret@h", "http://h?token=secret", "http://\x00"} {
		if _, err := prometheus.New(address, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestASourceThatHangsIsLeftWithItsContext(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(released) })
	s, err := prometheus.New(server.URL, &prometheus.Options{Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.ErrorRates(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want the context's", err)
	}
}

// worker counts calls as a worker does: of lint one in four fails, of fine none. A
// review server beside it counts its own under the same name, and all in order.
func worker(t *testing.T) (workerAddress, serverAddress string) {
	var scrapes atomic.Int64
	serve := func(text func(n int64) string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(w, text(scrapes.Add(1)))
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	workerAddress = serve(func(n int64) string {
		return fmt.Sprintf("junction_build_info{version=\"1\"} 1\n"+
			"mcp_server_calls_total{server_name=\"lint\",status=\"success\"} %d\nmcp_server_calls_total{server_name=\"lint\",status=\"error\"} %d\n"+
			"mcp_server_calls_total{server_name=\"fine\",status=\"success\"} %d\nmcp_server_calls_total{server_name=\"fine\",status=\"cancelled\"} %d\n"+
			"mcp_server_error_total{server_name=\"lint\",error_code=\"MCP_SERVER_ERROR\"} %d\nmcp_server_error_total{server_name=\"fine\",error_code=\"MCP_CANCELLED\"} %d\n",
			300*n, 100*n, 500*n, 500*n, 100*n, 500*n)
	})
	return workerAddress, serve(func(n int64) string {
		return fmt.Sprintf("mcp_server_calls_total{server_name=\"lint\",status=\"success\"} %d\n", 100000*n)
	})
}

func TestARealPrometheusGivesTheErrorRatesThatWorkersCounted(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not on PATH: apt-get install prometheus")
	}
	dir := t.TempDir()
	workerAddress, serverAddress := worker(t)
	config := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs:\n"+
		"  - {job_name: worker, static_configs: [{targets: [%q]}]}\n  - {job_name: server, static_configs: [{targets: [%q]}]}\n", workerAddress, serverAddress)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	s, err := prometheus.New("http://"+address, &prometheus.Options{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(30 * time.Second)
	for {
		rates, err := s.ErrorRates(t.Context())
		fine, known := rates["fine"]
		if err == nil && math.Abs(rates["lint"]-0.25) < 0.01 && known && fine == 0 && len(rates) == 2 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v, rates %v, want 0.25 and 0\n%s", err, rates, out.String())
		}
		<-time.After(100 * time.Millisecond)
	}
}
