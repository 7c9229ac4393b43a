package bridge_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// day is a bad day of a till, as one session of a client lives through it.
type day struct {
	*session
	shop   *shop
	outage time.Duration
	phases []phase
}

// phase is a part of a day.
type phase struct {
	title             string
	at                int64 // ms since 1970
	events, sightings int   // of the client and of the till, before it
}

func (d *day) phase(title string) {
	d.phases = append(d.phases, phase{title, time.Now().UnixMilli(), len(d.events()), len(d.shop.seen())})
}

// hears waits until the bridge has said that on its standard error, since the phase
// began.
func (d *day) hears(text string) {
	d.t.Helper()
	from := d.phases[len(d.phases)-1].events
	d.awaitFrom(from, "the bridge's word that "+text, func(e event) bool { return e.What == "told" && strings.Contains(e.Text, text) })
}

const (
	isAway      = "a server is away"
	isConnected = "a server is connected"
)

// torment is something bad that happens to a server.
type torment struct {
	name  string
	flags []string // of the bridge, beside the servers file
	waits string   // --wait, for a client that waits longer than most; "": the default
	every int      // ms from one call of the background to the next
	run   func(d *day)
}

// long says that outages have their full time, and heartbeats their defaults.
var long = os.Getenv("JUNCTION_LONG") == "1"

// either is one of two values: in the long form, and else.
func either[T any](inLong, else_ T) T {
	if long {
		return inLong
	}
	return else_
}

const often = 25

var torments = []torment{
	{name: "kill", every: often, run: (*day).kill},
	{name: "forget", every: often, run: (*day).forget},
	{name: "outage", every: either(375, 19), run: (*day).away, waits: "2m"}, // more than the queue takes
	{name: "hang", every: either(500, often), run: (*day).hang, flags: either(nil, []string{"--ping-interval", "1s", "--ping-timeout", "1s"})},
	{name: "flood", every: often, run: (*day).flood},
}

func (d *day) before() {
	d.phases = []phase{{title: "Before", at: time.Now().UnixMilli()}} // with the handshake
	d.list("l1")
	d.ask("count", "s1")
	d.answered("l1", "s1")
	d.ask("charge", "c1")
	d.answered("c1")
	d.hears(isConnected)
}

func (d *day) after() {
	d.phase("After")
	d.list("l9")
	d.ask("count", "s9")
	d.ask("charge", "c9")
	d.answered("l9", "s9", "c9")
}

// underWay has a safe call and one that is not under way at the till.
func (d *day) underWay() {
	d.hold("count", "s2")
	d.hold("charge", "c2")
	d.shop.has("count", "s2")
	d.shop.has("charge", "c2")
}

// unknown waits for the end of a call that may have taken effect.
func (d *day) unknown(id string) {
	d.t.Helper()
	e := d.end(id)
	if e.What != "error" || e.Code != 4011 || !strings.Contains(string(e.Data), `"execution":"unknown"`) {
		d.t.Errorf("%s: %s %d %s %s", id, e.What, e.Code, e.Text, e.Data)
	}
}

func (d *day) kill() {
	d.underWay()
	d.phase("The server is killed (kill -9) with two calls under way")
	if d.shop.way.overWeb {
		d.shop.down()
	} else {
		d.shop.kill(d.shop.pid())
	}
	d.unknown("c2")
	d.hears(isAway)
	d.ask("count", "s3")
	d.ask("charge", "c3")
	d.shop.put("let")
	d.phase("It is started again")
	if d.shop.way.overWeb {
		d.shop.up()
	}
	d.answered("s2", "s3", "c3")
	d.hears(isConnected)
}

func (d *day) forget() {
	d.do(order{Do: "rest"})
	d.shop.eventually("nothing is under way", func() bool { return !d.open() })
	d.phase("The server is restarted, and knows no session any more")
	old := d.shop.pid()
	if d.shop.way.overWeb {
		d.shop.down()
		d.shop.up()
	} else {
		d.shop.kill(old)
	}
	d.shop.eventually("a new process serves", func() bool { return d.shop.pid() != old })
	d.ask("charge", "c2")
	d.ask("count", "s2")
	d.list("l2")
	d.answered("c2", "s2", "l2")
	if w := d.shop.way; !w.overWeb || !w.modern { // else there is nothing to forget
		d.hears(isAway)
		d.hears(isConnected)
	}
}

func (d *day) away() {
	d.phase("The server goes away")
	d.shop.down()
	d.hears(isAway)
	d.ask("count", "s2")
	d.ask("charge", "c2")
	d.ask("charge", "c3")
	d.do(order{Do: "cancel", ID: "c3"})
	if e := d.end("c3"); e.What != "error" {
		d.t.Errorf("c3, which was cancelled, was %s", e.What)
	}
	<-time.After(d.outage)
	for _, id := range []string{"s2", "c2"} {
		if d.over(id) {
			d.t.Errorf("%s has an end although the server is away", id)
		}
	}
	d.phase("It comes back")
	d.shop.up()
	d.answered("s2", "c2")
	d.hears(isConnected)
	if d.shop.times("charge", "c3") > 0 {
		d.t.Error("c3 was made although it was cancelled while it waited")
	}
	refused := 0
	for _, e := range d.events() {
		if e.What == "error" && strings.Contains(e.Text, "100 requests wait already, so this one was refused") {
			refused++
		}
	}
	if refused == 0 {
		d.t.Error("of more requests than the queue takes none was refused")
	}
}

func (d *day) hang() {
	d.underWay()
	d.phase("The server hangs: it reads and answers nothing, two calls are under way")
	d.shop.put("hang")
	d.unknown("c2")
	d.hears(isAway)
	d.ask("count", "s3")
	d.ask("charge", "c3")
	d.phase("It goes on")
	d.shop.put("let")
	d.shop.remove("hang")
	d.answered("s2", "s3", "c3")
	d.hears(isConnected)
}

func (d *day) flood() {
	d.phase("The server sends 10,000 notifications beside an answer")
	d.ask("flood", "f2")
	d.ask("count", "s2")
	d.ask("charge", "c2")
	d.answered("s2", "c2", "f2")
}

// over says whether a request has an end; open, whether one has none.
func (d *day) over(id string) bool {
	for _, e := range d.events() {
		if e.ID == id && e.over() {
			return true
		}
	}
	return false
}

func (d *day) open() bool {
	asked, over := 0, 0
	for _, e := range d.events() {
		switch {
		case e.What == "asked":
			asked++
		case e.over():
			over++
		}
	}
	return asked > over
}

// The ways that a client of each era and a server of each meet.
var ways = []struct {
	sdk int // 1: of the earlier era; 2: of the later
	way way
}{
	{1, way{name: "HTTP with sessions, 2025-11-25", overWeb: true}},
	{2, way{name: "HTTP without sessions, 2026-07-28", overWeb: true, modern: true}},
	{1, way{name: "stdio, 2025-11-25"}},
	{2, way{name: "stdio, 2025-11-25"}},
	{2, way{name: "HTTP with sessions, 2025-11-25", overWeb: true}},
	{1, way{name: "stdio, 2026-07-28", modern: true}},
}

const aboutSession = `One session of the official TypeScript SDK (1.x) through junction proxy, and a server over %s.
Beside what is shown the client calls count or charge every %d ms. Times are seconds since the part began.`

func TestASessionOfAnSDKsClientOutlivesWhateverBecomesOfTheServer(t *testing.T) {
	installed(t)
	t.Parallel()
	for _, torment := range torments {
		t.Run(torment.name, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			for i, w := range ways[:either(len(ways), 3)] {
				all.Go(func() { // at once, however many run in parallel: they wait most of the time
					t.Run(fmt.Sprintf("SDK %d over %s", w.sdk, w.way.name), func(t *testing.T) {
						d := endure(t, torment, w.sdk, w.way)
						if i == 0 && !t.Failed() {
							d.keep(torment.name, fmt.Sprintf(aboutSession, w.way.name, torment.every))
						}
					})
				})
			}
			all.Wait()
		})
	}
}

func endure(t *testing.T, torment torment, sdk int, w way) *day {
	shop := openShop(t, w)
	d := &day{shop: shop, outage: either(time.Minute, 3*time.Second)}
	args := append([]string{"proxy", "--config", shop.config, "--server", "till"}, torment.flags...)
	if torment.waits != "" {
		args = append(args, "--wait", torment.waits)
	}
	d.session = begin(t, sdk, program(t), args...)
	d.do(order{Do: "pump", Every: torment.every})
	d.before()
	torment.run(d)
	d.after()
	d.judge(d.finish())
	return d
}
