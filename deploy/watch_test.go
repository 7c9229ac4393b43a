//go:build unix

package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// load gives a deployment reviews to do.
type load struct {
	t                       *testing.T
	junction, store, consul string
}

func (w *load) command(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return exec.CommandContext(ctx, w.junction, args...).Output()
}

// review has a worker do a review and returns the calls that it took.
func (w *load) review() []string {
	w.t.Helper()
	out, err := w.command(w.t.Context(), "run", "review.yaml", "--detach", "--json", "--store", w.store)
	var queued struct{ Thread string }
	if err == nil {
		err = json.Unmarshal(out, &queued)
	}
	if err != nil {
		w.t.Fatalf("queue a review: %v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var listed []struct{ ID, Status string }
		out, err := w.command(ctx, "threads", "--json", "--store", w.store)
		if err == nil {
			err = json.Unmarshal(out, &listed)
		}
		if err != nil {
			w.t.Fatalf("look for the review: %v: %s", err, out)
		}
		for _, th := range listed {
			if th.ID == queued.Thread && th.Status == "completed" {
				return w.calls(th.ID)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatalf("no worker has done the review: %s", out)
		}
	}
}

// calls are what a finished thread has called, by server, with how it ended.
func (w *load) calls(thread string) (all []string) {
	w.t.Helper()
	out, err := w.command(w.t.Context(), "history", thread, "--json", "--store", w.store)
	var records []struct{ Capability, Server, Status string }
	if err == nil {
		err = json.Unmarshal(out, &records)
	}
	if err != nil {
		w.t.Fatalf("read what the review called: %v: %s", err, out)
	}
	for _, r := range records {
		service, _, _ := strings.Cut(r.Server, "-127.")
		all = append(all, r.Capability+" at "+service+": "+r.Status)
	}
	return all
}

// start goes on reviewing, with a server among the others that fails most calls,
// so that there is something of everything to be seen. stop ends both.
func (w *load) start() (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	bad := exec.CommandContext(ctx, w.junction, "example-server", "--reviewer", "python", "--name", "review-python", "--service", "review-python-v1",
		"--depth", "deep", "--fail", "0.7", "--http", "127.0.0.1:0", "--consul", w.consul, "--check-interval", "1h")
	if err := bad.Start(); err != nil {
		w.t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { _ = bad.Wait() }) // killed by stop
	all.Go(func() {
		for ctx.Err() == nil {
			if out, err := w.command(ctx, "run", "review.yaml", "--detach", "--json", "--store", w.store); err != nil && ctx.Err() == nil {
				w.t.Errorf("queue a review: %v: %s", err, out)
				return
			}
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// prometheus is a running one.
type prometheus struct {
	t   *testing.T
	url string
}

func (p prometheus) get(path string, query url.Values, into any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path+"?"+query.Encode(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", a.Status)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		p.t.Fatalf("%s: %v: %s", r.URL, err, text)
	}
}

// has reports whether a query gives at least one number.
func (p prometheus) has(expr string) bool {
	p.t.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	p.get("/api/v1/query", url.Values{"query": {expr}}, &answer)
	for _, r := range answer.Data.Result {
		if r.Value[1] != "NaN" {
			return true
		}
	}
	return false
}

// faults are what is wrong with the rules, and the targets that cannot be read.
func (p prometheus) faults() (all []string) {
	p.t.Helper()
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	p.get("/api/v1/rules", nil, &rules)
	n := 0
	for _, g := range rules.Data.Groups {
		for _, r := range g.Rules {
			if n++; r.Health != "ok" {
				all = append(all, fmt.Sprintf("rule %s is %s: %s", r.Name, r.Health, r.LastError))
			}
		}
	}
	var targets struct {
		Data struct {
			ActiveTargets []struct{ ScrapeURL, Health, LastError string }
		}
	}
	p.get("/api/v1/targets", nil, &targets)
	for _, target := range targets.Data.ActiveTargets {
		if target.Health != "up" {
			all = append(all, fmt.Sprintf("%s is %s: %s", target.ScrapeURL, target.Health, target.LastError))
		}
	}
	if n == 0 || len(targets.Data.ActiveTargets) != 5 {
		all = append(all, fmt.Sprintf("%d rules, %d targets", n, len(targets.Data.ActiveTargets)))
	}
	return all
}

// watched waits until every panel's queries and every recorded series give numbers,
// and says which do not.
func watched(t *testing.T, p prometheus) {
	t.Helper()
	missing := map[string]string{}
	for title, exprs := range queries(readDashboard(t)) {
		for i, expr := range exprs {
			missing[fmt.Sprintf("panel %q, query %d", title, i)] = expr
		}
	}
	for _, r := range rules(t) {
		if r.Record != "" {
			missing["rule "+r.Record] = r.Record
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		maps.DeleteFunc(missing, func(_, expr string) bool { return p.has(expr) })
		faults := p.faults()
		if len(missing) == 0 && len(faults) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Errorf("no data for\n\t%s\nfaults: %v", strings.Join(slices.Sorted(maps.Keys(missing)), "\n\t"), faults)
			return
		}
	}
}
