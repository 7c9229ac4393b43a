package consul

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
)

// oracle stands for a Consul that answers as the test wants. Questions that wait
// are answered when it changes or their time is up.
type oracle struct {
	mu      sync.Mutex
	index   uint64
	reply   func(path string) (status int, body string) // nil: a Consul with the services below
	header  http.Header                                 // over the usual ones
	refuse  error
	hang    bool
	hasty   bool                // does not wait
	blank   bool                // reads that the leader does not confirm show no instance
	lag     uint64              // waits are answered from a stream with indexes that much lower
	up      map[string][]string // service → ids
	changed chan struct{}
	asked   int
	seen    http.Header
}

func newOracle(services map[string][]string) *oracle {
	return &oracle{index: 10, up: services, changed: make(chan struct{}), header: http.Header{}}
}

// change alters the oracle under its lock and wakes who waits.
func (o *oracle) change(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	close(o.changed)
	o.changed = make(chan struct{})
}

// questions is how many there were.
func (o *oracle) questions() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

func (o *oracle) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	after, _ := strconv.ParseUint(query.Get("index"), 10, 64)
	wait, _ := time.ParseDuration(query.Get("wait"))
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		o.mu.Lock()
		changed, hang := o.changed, o.hang
		if !hang && (after == 0 || o.index-o.lag != after || o.refuse != nil || o.hasty) {
			defer o.mu.Unlock()
			return o.answer(req)
		}
		o.mu.Unlock()
		select {
		case <-changed:
		case <-over.C:
			if !hang {
				o.mu.Lock()
				defer o.mu.Unlock()
				return o.answer(req)
			}
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}

func (o *oracle) answer(req *http.Request) (*http.Response, error) {
	o.asked++
	o.seen = req.Header.Clone()
	if o.refuse != nil {
		return nil, o.refuse
	}
	status, body := http.StatusOK, o.say(req.URL.Path)
	if o.blank && !req.URL.Query().Has("consistent") && strings.Contains(req.URL.Path, "/health/") {
		body = "[]"
	}
	if o.reply != nil {
		status, body = o.reply(req.URL.Path)
	}
	h := http.Header{"X-Consul-Index": {strconv.FormatUint(o.index, 10)}, "X-Consul-Knownleader": {"true"}}
	if o.lag > 0 && req.URL.Query().Has("index") {
		h.Set("X-Consul-Index", strconv.FormatUint(o.index-o.lag, 10))
		h.Set("X-Consul-Query-Backend", "streaming")
		h.Set("X-Consul-KnownLeader", "false")
	}
	for name, values := range o.header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req}, nil
}

func (o *oracle) say(path string) string {
	if strings.HasSuffix(path, "/catalog/services") {
		var all []string
		for name := range o.up {
			all = append(all, fmt.Sprintf(`%q: ["mcp"]`, name))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	var all []string
	service := path[strings.LastIndex(path, "/")+1:]
	for _, id := range o.up[service] {
		all = append(all, fmt.Sprintf(`{"Node": {"Node": "n", "Address": "10.0.0.1"}, "Service": {"ID": %q, "Service": %q, "Port": 80, "Tags": ["mcp", "r"], "Weights": {"Passing": 1, "Warning": 1}}, "Checks": [{"Status": "passing"}]}`, id, service))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// inBubble follows the oracle on a clock of its own.
func inBubble(t *testing.T, o *oracle, options Options, f func(t *testing.T, d *Discovery)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o.changed = make(chan struct{}) // of the bubble
		options.Address, options.Seed = "http://consul.example:8500", 1
		r, err := newReader(options)
		if err != nil {
			t.Fatal(err)
		}
		r.door.next = o
		d := discover(options, r)
		defer d.Close()
		synctest.Wait()
		f(t, d)
	})
}

// expect checks the snapshot once everything has come to rest.
func expect(t *testing.T, d *Discovery, want string, stale bool) {
	t.Helper()
	after(publishEvery)
	s := d.Snapshot()
	var got []string
	for _, v := range s.Servers {
		got = append(got, v.ID)
	}
	if strings.Join(got, " ") != want || s.Stale != stale {
		t.Errorf("%v, stale %t (%v); want [%s], stale %t", got, s.Stale, d.Err(), want, stale)
	}
}

// after lets time pass.
func after(d time.Duration) { <-time.After(d); synctest.Wait() }

func TestWhatIsNoAnswerChangesNothingAndSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(o *oracle)
		says  []string
	}{
		{"500", func(o *oracle) { o.reply = func(string) (int, string) { return 500, "No cluster leader" } }, []string{"500", "No cluster leader", "log"}},
		{"403", func(o *oracle) { o.reply = func(string) (int, string) { return 403, "ACL not found: s3cret" } }, []string{"403", "ACL not found", "service:read"}},
		{"429", func(o *oracle) { o.reply = func(string) (int, string) { return 429, "too many" } }, []string{"429", "http_max_conns_per_client"}},
		{"a redirect", func(o *oracle) { o.reply = func(string) (int, string) { return 301, "" } }, []string{"301", "8500"}},
		{"404", func(o *oracle) { o.reply = func(string) (int, string) { return 404, "<html>" } }, []string{"404", "8500"}},
		{"garbage", func(o *oracle) { o.index++; o.reply = func(string) (int, string) { return 200, "<html>" } }, []string{"cannot be read"}},
		{"half an answer", func(o *oracle) { o.index++; o.reply = func(string) (int, string) { return 200, `[{"Node"` } }, []string{"cannot be read"}},
		{"null", func(o *oracle) { o.index++; o.reply = func(string) (int, string) { return 200, `null` } }, []string{"cannot be read"}},
		{"something else than Consul", func(o *oracle) { o.header["X-Consul-Index"] = nil }, []string{"not as Consul", "8500"}},
		{"no leader", func(o *oracle) { o.header.Set("X-Consul-KnownLeader", "false") }, []string{"leader"}},
		{"refused", func(o *oracle) { o.refuse = errors.New("connection reset by peer") }, []string{"reset"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOracle(map[string][]string{"x": {"a", "b"}})
			inBubble(t, o, Options{Token: "s3cret"}, func(t *testing.T, d *Discovery) {
				expect(t, d, "a b", false)
				o.change(func() { c.spoil(o) })
				err := d.Refresh(t.Context())
				expect(t, d, "a b", true)
				for name, err := range map[string]error{"Refresh": err, "Err": d.Err()} {
					if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "consul.example:8500") {
						t.Fatalf("%s: %v; want the address and no token", name, err)
					}
					for _, want := range c.says {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("%s: %q does not say %q", name, err, want)
						}
					}
				}
				after(time.Minute)
				o.change(func() { o.reply, o.header, o.refuse = nil, http.Header{}, nil })
				after(serviceCap)
				expect(t, d, "a b", false)
			})
		})
	}
}

func TestTriesAgainSlowlyAndComesBackSoon(t *testing.T) {
	o := newOracle(map[string][]string{"x": {"a"}})
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		o.change(func() { o.refuse = errors.New("connection refused") })
		after(time.Minute)
		before := o.questions()
		after(time.Minute)
		if n := o.questions() - before; n < 30 || n > 90 {
			t.Errorf("%d tries in a minute of a Consul that is down; want about 50", n)
		}
		o.change(func() { o.refuse, o.up["y"] = nil, []string{"b"} })
		after(catalogueCap)
		expect(t, d, "a b", false)
	})
}

func TestAHangingAnswerEndsAtItsLimit(t *testing.T) {
	o := newOracle(map[string][]string{"x": {"a"}})
	inBubble(t, o, Options{Timeout: 3 * time.Second}, func(t *testing.T, d *Discovery) {
		o.change(func() { o.hang = true })
		begun := time.Now()
		if err := d.Refresh(t.Context()); err == nil || time.Since(begun) > 3*time.Second {
			t.Errorf("%v after %s; want an error within the limit", err, time.Since(begun))
		}
		expect(t, d, "a", true)
		o.change(func() { o.hang = false })
		after(serviceCap)
		expect(t, d, "a", false)
		// Unasked, it is noticed when the wait is over and a request's time besides.
		o.change(func() { o.hang = true })
		after(waitLong + waitLong/16 + 3*time.Second)
		expect(t, d, "a", true)
	})
}

func TestAnEmptyAnswerIsBelievedWhenConsulIsSure(t *testing.T) {
	for _, c := range []struct {
		name    string
		empty   func(o *oracle)
		options Options
		kept    bool
	}{
		{"the last instance left", func(o *oracle) { o.index = 11 }, Options{}, false},
		{"the index went back", func(o *oracle) { o.index = 3 }, Options{}, true},
		{"the token may not read it", func(o *oracle) { o.index = 11; o.header.Set("X-Consul-Results-Filtered-By-ACLs", "true") }, Options{Token: "t"}, true},
		{"nobody may read anything", func(o *oracle) { o.index = 11; o.header.Set("X-Consul-Default-ACL-Policy", "deny") }, Options{}, true},
		{"what is denied would be said to a token", func(o *oracle) { o.index = 11; o.header.Set("X-Consul-Default-ACL-Policy", "deny") }, Options{Token: "t"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOracle(map[string][]string{"x": {"a"}})
			inBubble(t, o, c.options, func(t *testing.T, d *Discovery) {
				expect(t, d, "a", false)
				o.change(func() { delete(o.up, "x"); c.empty(o) })
				after(time.Second)
				if !c.kept {
					expect(t, d, "", false)
					return
				}
				expect(t, d, "a", true)
				after(time.Minute)
				expect(t, d, "a", true)
				o.change(func() { o.up["x"], o.header, o.index = []string{"a"}, http.Header{}, o.index+1 })
				after(waitDoubted)
				expect(t, d, "a", false)
			})
		})
	}
}

func TestAnEmptyAnswerThatTheLeaderDoesNotConfirmCountsForNothing(t *testing.T) {
	o := newOracle(map[string][]string{"x": {"a"}})
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		expect(t, d, "a", false)
		o.change(func() { o.index, o.blank = 11, true })
		expect(t, d, "a", false)
		if err := d.Refresh(t.Context()); err != nil || len(d.Snapshot().Servers) != 1 {
			t.Errorf("%d servers, %v", len(d.Snapshot().Servers), err)
		}
	})
}

func TestWhatALostCatalogueLacksIsGoneOnceItIsSettled(t *testing.T) {
	o := newOracle(map[string][]string{"x": {"a", "b"}, "y": {"c"}})
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		expect(t, d, "a b c", false)
		o.change(func() { o.index, o.up = 2, map[string][]string{"x": {"b"}} })
		after(time.Second)
		expect(t, d, "a b c", true)
		after(unsettled - 10*time.Second)
		expect(t, d, "a b c", true)
		after(20 * time.Second)
		expect(t, d, "b", false)
		// From then on what leaves is gone at once.
		o.change(func() { o.index++; delete(o.up, "x") })
		after(time.Second)
		expect(t, d, "", false)
	})
}

func TestAnswersThatNeverWaitKeepNoCoreBusy(t *testing.T) {
	o := newOracle(map[string][]string{"x": {"a"}})
	o.hasty = true
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		after(10 * time.Second)
		before := o.questions()
		after(10 * time.Second)
		if n := o.questions() - before; n > 2*int(10*time.Second/pace)+2 {
			t.Errorf("%d questions in 10 s by two followers", n)
		}
	})
}

func TestAStreamHasIndexesOfItsOwn(t *testing.T) {
	o := newOracle(map[string][]string{"x": {"a", "b"}})
	o.lag = 5
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		expect(t, d, "a b", false)
		before := o.questions()
		after(10 * waitLong)
		if n := o.questions() - before; n > 30 {
			t.Errorf("%d questions in ten minutes", n)
		}
		for _, left := range []string{"b", ""} {
			if err := d.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.change(func() { o.index++; o.up["x"] = strings.Fields(left) })
			after(time.Second)
			expect(t, d, left, false)
		}
	})
}

func TestManyServicesTakeTurns(t *testing.T) {
	up := map[string][]string{}
	for i := range 3 * watchesAtOnce {
		up[fmt.Sprintf("s%03d", i)] = []string{fmt.Sprintf("i%03d", i)}
	}
	o := newOracle(up)
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		after(10 * time.Second)
		if s := d.Snapshot(); s.Stale || len(s.Servers) != len(up) {
			t.Fatalf("%d servers of %d, stale %t", len(s.Servers), len(up), s.Stale)
		}
		for _, name := range []string{"s000", "s191"} {
			o.change(func() { o.index++; o.up[name] = nil })
			after(5 * waitTurn)
		}
		if n := len(d.Snapshot().Servers); n != len(up)-2 {
			t.Errorf("%d servers, want %d", n, len(up)-2)
		}
	})
}

func TestClosingEndsALookUnderWay(t *testing.T) {
	o := newOracle(map[string][]string{"x": {"a"}})
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		o.change(func() { o.hang = true })
		done := make(chan error)
		go func() { done <- d.Refresh(t.Context()) }()
		synctest.Wait()
		d.Close()
		if err := <-done; !errors.Is(err, errClosed) {
			t.Errorf("the look: %v", err)
		}
		if err := d.Refresh(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("a later one: %v", err)
		}
		if s := d.Snapshot(); len(s.Servers) != 1 {
			t.Errorf("the last snapshot has %d servers", len(s.Servers))
		}
	})
}

var _ router.Discovery = (*Discovery)(nil)
