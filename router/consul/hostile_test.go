package consul

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"junction/router"
	"junction/state"
)

// one is an instance as Consul's answer has it.
func one(service, id, node, address string, created int, tags ...string) string {
	return fmt.Sprintf(`{"Node": {"Node": %q, "Address": %q}, "Service": {"ID": %q, "Service": %q, "Port": 80, "Tags": ["mcp", %s], "CreateIndex": %d}, "Checks": [{"Status": "passing"}]}`,
		node, address, id, service, quoted(tags), created)
}

func quoted(all []string) string {
	q := make([]string, len(all))
	for i, s := range all {
		q[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(q, ",")
}

// Consul's health of payments has the instances of Payments as well, and who may
// register the one may not register the other.
func TestANameThatDiffersInCaseIsAnotherService(t *testing.T) {
	both := "[" + one("payments", "genuine", "n", "10.0.0.1", 5, "pay") + "," + one("Payments", "impostor", "n", "10.6.6.6", 6, "pay") + "]"
	o := newOracle(nil)
	o.reply = func(path string) (int, string) {
		if strings.HasSuffix(path, "/catalog/services") {
			return 200, `{"payments": ["mcp"], "Payments": ["mcp"]}`
		}
		return 200, both
	}
	words := map[string]router.Service{"payments": {
		Offers:  []router.Offer{{Capability: "pay", Tool: "pay", Effect: state.Safe}},
		Headers: map[string]string{"Authorization": "Bearer s3cret"}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}}
	inBubble(t, o, Options{Services: words}, func(t *testing.T, d *Discovery) {
		expect(t, d, "genuine impostor", false)
		for _, s := range d.Snapshot().Servers {
			theirs := s.ID == "genuine"
			if (len(s.Dial.Headers) > 0) != theirs || (s.Offers[0].Effect == state.Safe) != theirs {
				t.Errorf("%s of service %s has %d headers and the effect %q", s.ID, s.Name, len(s.Dial.Headers), s.Offers[0].Effect)
			}
		}
	})
}

// A thread's session, and whoever calls a server by its id, must not be led to
// somebody who registers the same id later.
func TestAnIDStaysWithTheInstanceThatHadItFirst(t *testing.T) {
	o := newOracle(nil)
	var late, again atomic.Bool
	o.reply = func(path string) (int, string) {
		if strings.HasSuffix(path, "/catalog/services") {
			return 200, `{"pay": ["mcp"], "any": ["mcp"]}`
		}
		created := 7
		if again.Load() {
			created = 30
		}
		switch {
		case strings.HasSuffix(path, "/pay"):
			return 200, "[" + one("pay", "pay-1", "m", "10.0.0.1", created, "pay") + "]"
		case late.Load():
			return 200, "[" + one("any", "pay-1", "a", "10.6.6.6", 20, "pay") + "," + one("any", "pay-1@m", "a", "10.6.6.6", 1, "pay") + "]"
		}
		return 200, "[]"
	}
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		at := func(id string) string {
			for _, s := range d.Snapshot().Servers {
				if s.ID == id {
					return s.Dial.URL
				}
			}
			return ""
		}
		after(time.Second)
		genuine := d.Snapshot().Servers[0]
		o.change(func() { late.Store(true); o.index++ })
		after(time.Second)
		expect(t, d, "pay-1 pay-1@a pay-1@m", false)
		if got := d.Snapshot().Servers[0]; got != genuine {
			t.Errorf("pay-1 is at %s now; it was at %s", got.Dial.URL, genuine.Dial.URL)
		}
		o.change(func() { again.Store(true); o.index++ }) // it was away: somebody else has the id now, in every worker's eyes
		after(time.Second)
		if got := at("pay-1"); got != "http://10.6.6.6:80/mcp" {
			t.Errorf("pay-1 is at %s; it left, and the other one stayed", got)
		}
	})
}

// Consul takes names with any character, and tags without a bound.
func TestNamesFromConsulCannotReachATerminalOrFloodIt(t *testing.T) {
	const red = "\x1b[31mred"
	many := make([]string, 3_000)
	for i := range many {
		many[i] = fmt.Sprintf("capability-%d", i)
	}
	values := make([]string, 3_000)
	for i := range values {
		values[i] = fmt.Sprintf("language=l%d", i)
	}
	o := newOracle(nil)
	o.reply = func(path string) (int, string) {
		switch {
		case strings.HasSuffix(path, "/catalog/services"):
			return 200, `{"a": ["mcp"], "many": ["mcp"], "values": ["mcp"], "\u001b[31mred": ["mcp"], "` + strings.Repeat("x", 300) + `": ["mcp"]}`
		case strings.HasSuffix(path, "/many"):
			return 200, "[" + one("many", "many", "n", "10.0.0.1", 1, many...) + "]"
		case strings.HasSuffix(path, "/values"):
			return 200, "[" + one("values", "values", "n", "10.0.0.1", 1, values...) + "]"
		}
		return 200, strings.ReplaceAll("["+strings.Join([]string{
			one("a", "good", "n", "10.0.0.1", 1, "r", "RED", "color=RED"),
			one("a", "node", "RED", "10.0.0.1", 1, "r"),
			one("a", "RED", "n", "10.0.0.1", 1, "r"),
			one("a", "zone", "n", "fe80::1%RED", 1, "r"),
		}, ",")+"]", "RED", `\u001b[31mred`)
	}
	var logged strings.Builder
	inBubble(t, o, Options{Log: slog.New(slog.NewTextHandler(&logged, nil))}, func(t *testing.T, d *Discovery) {
		expect(t, d, "good many values", false)
		problems := d.Problems()
		if text := fmt.Sprint(problems); strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(logged.String(), "\x1b") || strings.Contains(text, red) {
			t.Errorf("control characters get out: %q", text)
		}
		if n := len(problems); n < 5 || n > 100 {
			t.Errorf("%d problems", n)
		}
		good, crowd, wordy := d.Snapshot().Servers[0], d.Snapshot().Servers[1], d.Snapshot().Servers[2]
		if len(good.Offers) != 1 || len(good.Offers[0].Attributes) != 0 {
			t.Errorf("%+v", good.Offers)
		}
		if len(crowd.Offers) != maxCapabilities {
			t.Errorf("%d offers of 3,000", len(crowd.Offers))
		}
		if n := len(wordy.Offers); n > maxCapabilities {
			t.Errorf("%d offers", n)
		}
	})
}

// Each hop that finds no candidate wants a fresh look, and many threads may ask
// for what nobody offers at the same time.
func TestFreshLooksAreBoundedHoweverManyAskForThem(t *testing.T) {
	for _, services := range []int{1, 200} {
		t.Run(fmt.Sprint(services), func(t *testing.T) {
			up := map[string][]string{}
			for i := range services {
				up[fmt.Sprintf("s%d", i)] = []string{fmt.Sprintf("i%d", i)}
			}
			o := newOracle(up)
			inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
				after(time.Minute)
				before := o.questions()
				over := time.After(10 * time.Second)
				stop := make(chan struct{})
				var asking sync.WaitGroup
				for range 64 {
					asking.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							if err := d.Refresh(t.Context()); err != nil {
								t.Errorf("a fresh look: %v", err)
								return
							}
						}
					})
				}
				<-over
				close(stop)
				asking.Wait()
				synctest.Wait()
				looks := (o.questions() - before) / (1 + services)
				if looks < 10 || looks > burst+55 {
					t.Errorf("%d fresh looks in 10 s of %d services", looks, services)
				}
			})
		})
	}
}

// A refusal is part of an error, and an agent may say in it what it was asked with.
func TestARefusalIsMaskedBeforeItIsCut(t *testing.T) {
	const secret = "c3b0d3f2-0b52-4d8e-9c76-0b9a3e1d7f55"
	for _, ahead := range []int{0, 150, 180, 199} {
		o := newOracle(nil)
		said := strings.Repeat("x", ahead) + secret + "\x1b[31m" + strings.Repeat("y", 1<<20)
		o.reply = func(string) (int, string) { return 500, said }
		r, err := newReader(Options{Address: "http://consul.example:8500", Token: secret})
		if err != nil {
			t.Fatal(err)
		}
		r.door.next = o
		_, err = r.ask(t.Context(), question{path: "x", about: "x"})
		if err == nil || strings.Contains(err.Error(), secret[:4]) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 500 {
			t.Errorf("%d characters ahead: %v", ahead, err)
		}
		g, err := newRegistration(Options{Address: "http://consul.example:8500", Token: secret}, review())
		if err != nil {
			t.Fatal(err)
		}
		g.door.next = o
		err = g.register(t.Context())
		if err == nil || strings.Contains(err.Error(), secret[:4]) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 500 {
			t.Errorf("registering, %d characters ahead: %v", ahead, err)
		}
	}
}

func TestAFreshLookStandsInNoLineWithWhatWaitsForChanges(t *testing.T) {
	up := map[string][]string{}
	for i := range 10 * watchesAtOnce {
		up[fmt.Sprintf("s%d", i)] = []string{fmt.Sprintf("i%d", i)}
	}
	inBubble(t, newOracle(up), Options{}, func(t *testing.T, d *Discovery) {
		after(time.Minute)
		for range 5 {
			begun := time.Now()
			if err := d.Refresh(t.Context()); err != nil || time.Since(begun) > waitTurn/2 {
				t.Errorf("after %v: %v; Consul answered at once", time.Since(begun), err)
			}
			after(time.Second)
		}
	})
}

// Every server is connected to, and who registers thousands of them must not take
// the place of those that were there.
func TestOfTooManyInstancesThoseThatWereThereFirstAreShown(t *testing.T) {
	o := newOracle(nil)
	o.reply = func(path string) (int, string) {
		if strings.HasSuffix(path, "/catalog/services") {
			return 200, `{"flood": ["mcp"], "work": ["mcp"]}`
		}
		if strings.HasSuffix(path, "/work") {
			return 200, "[" + one("work", "zz", "n", "10.0.0.1", 7, "work") + "]"
		}
		all := make([]string, maxServers+50)
		for i := range all {
			all[i] = one("flood", fmt.Sprintf("a%d", i), "n", "10.6.6.6", 100+i, "work")
		}
		return 200, "[" + strings.Join(all, ",") + "]"
	}
	inBubble(t, o, Options{}, func(t *testing.T, d *Discovery) {
		after(time.Second)
		s := d.Snapshot().Servers
		if last := s[len(s)-1]; len(s) != maxServers || last.ID != "zz" {
			t.Errorf("%d servers, the last of them %s", len(s), last.ID)
		}
		if p := d.Problems(); len(p) != 1 || !strings.Contains(p[0].What, fmt.Sprintf("%d usable instances", maxServers+51)) {
			t.Errorf("problems %v", p)
		}
	})
}
