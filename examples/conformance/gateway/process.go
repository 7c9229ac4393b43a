package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"
)

const (
	// longest is the longest message, in bytes.
	longest = 8 << 20
	// waiting is how many messages wait for a stream's reader.
	waiting = 1024
	// leave is how long a process has to end once its input has.
	leave = 5 * time.Second

	keyToken        = "progressToken"
	keySubscription = "io.modelcontextprotocol/subscriptionId"
)

var errGone = errors.New("the server's process has ended")

// process is a server with the requests that it has to answer.
type process struct {
	cmd   *exec.Cmd
	lines chan []byte   // to its standard input
	end   chan struct{} // closed when it is to end …
	stop  func()        // … by this
	done  chan struct{} // closed when it has

	mu       sync.Mutex
	last     int64
	open     map[int64]*exchange
	attended []*exchange  // those of open that somebody reads, oldest first
	standing chan message // for the GET stream
	repeated map[string][]parameter
}

// parameter is one that a tool wants repeated in a header.
type parameter struct{ name, header string }

// exchange is a request with its stream.
type exchange struct {
	own       int64
	id, token json.RawMessage // the client's
	method    string
	stream    chan message // closed after the answer
}

// start starts a server; errs takes what it says on its standard error.
func start(command []string, errs io.Writer) (*process, error) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it ends with its input
	cmd.Stderr = errs
	cmd.WaitDelay = leave
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{
		cmd: cmd, lines: make(chan []byte), end: make(chan struct{}), done: make(chan struct{}),
		open: map[int64]*exchange{}, standing: make(chan message, waiting),
	}
	p.stop = sync.OnceFunc(func() { close(p.end) })
	wrote := make(chan struct{})
	go func() { defer close(wrote); p.write(in) }()
	go func() {
		p.read(out)
		p.stop()
		<-wrote
		_ = cmd.Wait() // how it ended shows in what it did not answer
		p.forsake()
		close(p.done)
	}()
	return p, nil
}

// close ends the process, by force where it stays.
func (p *process) close() {
	p.stop()
	patience := time.NewTimer(leave)
	defer patience.Stop()
	select {
	case <-p.done:
		return
	case <-patience.C:
	}
	_ = p.cmd.Process.Kill() // it may have ended just now
	<-p.done
}

func (p *process) write(in io.WriteCloser) {
	defer in.Close() //nolint:errcheck // nothing comes after it
	for {
		select {
		case line := <-p.lines:
			if _, err := in.Write(append(line, '\n')); err != nil {
				p.stop()
				return
			}
		case <-p.end:
			return
		}
	}
}

// send hands a message to the process.
func (p *process) send(ctx context.Context, m message) error {
	select {
	case p.lines <- m.line():
		return nil
	case <-p.end:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask sends a request.
func (p *process) ask(ctx context.Context, m message) (*exchange, error) {
	x := &exchange{
		id: m["id"], token: m.at("params", "_meta", keyToken),
		method: m.text("method"), stream: make(chan message, waiting),
	}
	p.mu.Lock()
	p.last++
	x.own = p.last
	p.open[x.own] = x
	p.attended = append(p.attended, x)
	p.mu.Unlock()
	m = m.put(ownID(x.own), "id")
	if x.token != nil {
		m = m.put(ownID(x.own), "params", "_meta", keyToken)
	}
	if err := p.send(ctx, m); err != nil {
		p.forget(x)
		return nil, err
	}
	return x, nil
}

// cancel passes on that a client has no more use for a request, whose id is its own.
func (p *process) cancel(ctx context.Context, m message) error {
	p.mu.Lock()
	for _, x := range p.open {
		if string(x.id) == string(m.at("params", "requestId")) {
			m = m.put(ownID(x.own), "params", "requestId")
			break
		}
	}
	p.mu.Unlock()
	return p.send(ctx, m)
}

// unattend notes that nobody reads the request's stream any more.
func (p *process) unattend(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attended = slices.DeleteFunc(p.attended, func(a *exchange) bool { return a == x })
}

// forget drops a request: what comes for it goes nowhere.
func (p *process) forget(x *exchange) {
	p.unattend(x)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, x.own)
}

// forsake ends the streams of what was not answered.
func (p *process) forsake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.open { // each has its own stream: the order is nobody's
		close(x.stream)
	}
	clear(p.open)
	p.attended = nil
}

func (p *process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		if m, err := parse(lines.Bytes()); err == nil {
			p.take(m)
		}
	}
}

// take finds the stream that a message of the process belongs to. One whose reader is
// far behind loses it.
func (p *process) take(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.answer() {
		own, ok := number(m["id"])
		x := p.open[own]
		if !ok || x == nil {
			return // it came too late, or was never asked for
		}
		delete(p.open, own)
		p.attended = slices.DeleteFunc(p.attended, func(a *exchange) bool { return a == x })
		if x.method == "tools/list" {
			p.learn(m)
		}
		m = m.put(x.id, "id")
		if m.at("result", "_meta", keySubscription) != nil {
			m = m.put(x.id, "result", "_meta", keySubscription)
		}
		hand(x.stream, m)
		close(x.stream)
		return
	}
	stream, m := p.belongs(m)
	hand(stream, m)
}

// belongs is the stream of a notification or question, and what is sent there.
func (p *process) belongs(m message) (chan message, message) {
	if own, ok := number(m.at("params", "_meta", keySubscription)); ok && p.open[own] != nil {
		x := p.open[own]
		return x.stream, m.put(x.id, "params", "_meta", keySubscription)
	}
	switch m.text("method") {
	case "notifications/progress":
		if own, ok := number(m.at("params", keyToken)); ok && p.open[own] != nil {
			x := p.open[own]
			return x.stream, m.put(x.token, "params", keyToken)
		}
	case "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated":
		return p.standing, m
	}
	for _, x := range slices.Backward(p.attended) {
		if x.method != "subscriptions/listen" {
			return x.stream, m
		}
	}
	return p.standing, m
}

func hand(stream chan message, m message) {
	select {
	case stream <- m:
	default:
	}
}

// learn notes what the tools of a list want repeated in headers.
func (p *process) learn(m message) {
	var list struct {
		Tools []struct {
			Name        string
			InputSchema struct {
				Properties map[string]json.RawMessage
			}
		}
	}
	if json.Unmarshal(m["result"], &list) != nil {
		return
	}
	p.repeated = map[string][]parameter{}
	for _, t := range list.Tools {
		for _, name := range slices.Sorted(maps.Keys(t.InputSchema.Properties)) {
			property, err := parse(t.InputSchema.Properties[name])
			if header := property.text("x-mcp-header"); err == nil && header != "" {
				p.repeated[t.Name] = append(p.repeated[t.Name], parameter{name, "Mcp-Param-" + header})
			}
		}
	}
}

// repeats are the parameters of a tool that headers repeat.
func (p *process) repeats(tool string) []parameter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.repeated[tool]
}
