package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Documents of servers that can do everything.
const (
	earlierDocument = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{},"completions":{},"tasks":{"list":{}},"experimental":{"x":{"n":12345678901234567890}}},"serverInfo":{"name":"old","version":"1"},"instructions":"Ask me."}`
	laterDocument   = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{},"dev.example/x":{}}},"instructions":"Ask me.","ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}`
)

// house is a server whose sessions a test plays.
type house struct {
	name     string
	modern   bool
	document string
	effect   func(string) (state.Effect, string)
	// answer plays a request; nil: what was asked comes back as the result.
	answer func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError)
	listen func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) // likewise, for subscriptions/listen

	mu        sync.Mutex
	shut      *router.CallError // nobody gets in
	greetings []mcp.Greeting
	visits    []*visit
}

// visit is one session of a house.
type visit struct {
	house  *house
	modern bool
	events mcp.Events
	gone   chan struct{}

	mu       sync.Mutex
	asked    []string // "method params", in order
	notified []string
	streams  []func(mcp.Notification) // of the subscriptions
}

func earlierHouse() *house { return &house{name: "docs", document: earlierDocument} }
func laterHouse() *house   { return &house{name: "docs", document: laterDocument, modern: true} }

func houseOf(modern bool) *house {
	if modern {
		return laterHouse()
	}
	return earlierHouse()
}

func (h *house) open(_ context.Context, g mcp.Greeting, e mcp.Events) (Session, *router.CallError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shut != nil {
		return nil, h.shut
	}
	v := &visit{house: h, modern: h.modern, events: e, gone: make(chan struct{})}
	h.greetings = append(h.greetings, g)
	h.visits = append(h.visits, v)
	return v, nil
}

// lock lets nobody in any more; unlock does.
func (h *house) lock() { h.set(failure(router.Transport, state.NotExecuted, "connection refused")) }
func (h *house) unlock() {
	h.set(nil)
}

func (h *house) set(e *router.CallError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut = e
}

// visit waits until all is quiet and returns the latest session.
func (h *house) visit(t *testing.T) *visit {
	t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.visits) == 0 {
		t.Fatal("nobody has come")
	}
	return h.visits[len(h.visits)-1]
}

func (h *house) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.visits)
}

func (v *visit) Do(ctx context.Context, r *mcp.Request) (mcp.Reply, *router.CallError) {
	v.mu.Lock()
	v.asked = append(v.asked, strings.TrimSpace(r.Method+" "+string(r.Params)))
	v.mu.Unlock()
	if r.Sent != nil {
		r.Sent()
	}
	type end struct {
		reply mcp.Reply
		fail  *router.CallError
	}
	done := make(chan end, 1)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		answer := v.house.answer
		if r.Method == "subscriptions/listen" && v.modern {
			answer = v.house.listen
		}
		if answer == nil {
			answer = plain
		}
		reply, fail := answer(inner, v, r)
		done <- end{reply, fail}
	}()
	select {
	case e := <-done:
		return e.reply, e.fail
	case <-v.gone:
		return mcp.Reply{}, failure(router.Transport, state.Unknown, "connection reset")
	case <-ctx.Done():
		return mcp.Reply{}, failure(router.Cancelled, state.Unknown, "cancelled")
	}
}

// plain answers with what was asked; subscriptions/listen as a server of the later era
// does.
func plain(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
	if r.Method == "subscriptions/listen" && v.modern {
		v.mu.Lock()
		v.streams = append(v.streams, r.Notify)
		v.mu.Unlock()
		r.Notify(mcp.Notification{
			Method: "notifications/subscriptions/acknowledged",
			Params: json.RawMessage(`{"notifications":` + string(member(r.Params, "notifications")) + `,"_meta":{"io.modelcontextprotocol/subscriptionId":77}}`),
		})
		<-ctx.Done()
		return mcp.Reply{}, nil
	}
	params := r.Params
	if params == nil {
		params = json.RawMessage("null")
	}
	kind := ""
	if v.modern {
		kind = `"resultType":"complete",`
	}
	return mcp.Reply{Result: json.RawMessage(fmt.Sprintf(`{%s"method":%q,"params":%s}`, kind, r.Method, params))}, nil
}

func (v *visit) Notify(_ context.Context, n mcp.Notification) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notified = append(v.notified, strings.TrimSpace(n.Method+" "+string(n.Params)))
	return nil
}

func (v *visit) Ping(context.Context) *router.CallError { return nil }
func (v *visit) Heard() int64                           { return 0 }
func (v *visit) Modern() bool                           { return v.modern }
func (v *visit) Document() json.RawMessage              { return json.RawMessage(v.house.document) }
func (v *visit) Gone() <-chan struct{}                  { return v.gone }
func (v *visit) Close(context.Context)                  { v.die() }

func (v *visit) Why() *router.CallError {
	return failure(router.Transport, state.NotExecuted, "the server died")
}

// die ends the session.
func (v *visit) die() {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.gone:
	default:
		close(v.gone)
	}
}

// requests are those that came, as "method params".
func (v *visit) requests() []string {
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.asked...)
}

func (v *visit) notes() []string {
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.notified...)
}

// guest is a client of a bridge, which writes and reads lines.
type guest struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
}

// meet runs a bridge over the houses in a bubble of its own, with a client.
func meet(t *testing.T, o *Options, play func(g *guest), houses ...*house) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var servers []Server
		for _, h := range houses {
			servers = append(servers, Server{Name: h.name, Open: h.open, Effect: h.effect})
		}
		if o == nil {
			o = &Options{}
		}
		o.Logger = slog.New(slog.DiscardHandler)
		o.PingInterval = -1
		host(t, New(servers, o), play)
	})
}

// host runs a bridge with a client, until play has ended.
func host(t *testing.T, b *Bridge, play func(g *guest)) {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	g := &guest{t: t, in: in, lines: make(chan string, 1000)}
	served := make(chan error, 1)
	go func() {
		served <- b.Serve(t.Context(), fromClient, toClient)
		toClient.Close()
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		scan := bufio.NewScanner(out)
		for scan.Scan() {
			if !json.Valid(scan.Bytes()) {
				t.Errorf("no JSON: %s", scan.Text())
			}
			g.lines <- scan.Text()
		}
	}()
	play(g)
	in.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	<-read
}

// say writes a line.
func (g *guest) say(line string) {
	g.t.Helper()
	if _, err := io.WriteString(g.in, line+"\n"); err != nil {
		g.t.Fatal(err)
	}
}

// hear returns the next line.
func (g *guest) hear() string {
	g.t.Helper()
	select {
	case line := <-g.lines:
		return line
	case <-time.After(time.Hour):
		g.t.Fatal("nothing came within an hour")
		return ""
	}
}

// hears compares the next line.
func (g *guest) hears(want string) {
	g.t.Helper()
	if got := g.hear(); got != want {
		g.t.Fatalf("the client read\n %s\nwant\n %s", got, want)
	}
}

// silence checks that nothing is there to read.
func (g *guest) silence() {
	g.t.Helper()
	synctest.Wait()
	select {
	case line := <-g.lines:
		g.t.Fatalf("the client read %s, want nothing", line)
	default:
	}
}

// greet makes the handshake of the earlier era.
func (g *guest) greet(capabilities string) {
	g.t.Helper()
	g.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"editor","version":"3"}}}`)
	if got := g.hear(); !strings.Contains(got, `"id":0,"result"`) {
		g.t.Fatalf("initialize: %s", got)
	}
	g.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	synctest.Wait()
}

// laterMeta are the members that each request of the later era carries.
const laterMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{}},"io.modelcontextprotocol/clientInfo":{"name":"editor","version":"3"}`

// ask writes a request of the client's era; more are members of params, meta of _meta.
func (g *guest) ask(modern bool, id int, method, more, meta string) {
	g.t.Helper()
	join := func(a, b string) string {
		if a != "" && b != "" {
			return a + "," + b
		}
		return a + b
	}
	if modern {
		meta = join(laterMeta, meta)
	}
	if meta != "" {
		more = join(more, `"_meta":{`+meta+`}`)
	}
	g.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, more))
}

// begin makes the client known in its era.
func (g *guest) begin(modern bool, capabilities string) {
	g.t.Helper()
	if !modern {
		g.greet(capabilities)
		return
	}
	g.ask(true, 0, "server/discover", "", "")
	if got := g.hear(); !strings.Contains(got, `"supportedVersions"`) {
		g.t.Fatalf("server/discover: %s", got)
	}
}

func troubleOf(t *testing.T, line string) (code int, message string, data Trouble) {
	t.Helper()
	var m struct {
		Error *struct {
			Code    int
			Message string
			Data    Trouble
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Error == nil {
		t.Fatalf("no error: %s", line)
	}
	return m.Error.Code, m.Error.Message, m.Error.Data
}

// lapse lets time pass in the bubble.
func lapse(d time.Duration) { <-time.After(d) }
