package diagnose

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/diagnose/debug"
)

// measurement is what package debug's wrapper at the server tells of what arrived.
type measurement struct {
	reply  *reply
	sent   map[string]string // headers of our families, by canonical name
	report *debug.Report     // nil: the server does not tell
	at     []int64           // when each event was sent, ms since the first; the answer included
	names  []string          // from the answer's header: what arrived; nil: it does not say
}

// probe asks what arrives at the server. What looks like a buffer is looked at once
// more: a busy machine may have been late to read.
func (p *patient) probe(ctx context.Context) *measurement {
	m := p.ask(ctx, p.o.Idle)
	if m.report == nil || !m.buffered() {
		return m
	}
	if again := p.ask(ctx, 0); again.report != nil && !again.buffered() {
		return again
	}
	return m
}

func (p *patient) ask(ctx context.Context, quiet time.Duration) *measurement {
	m := &measurement{sent: map[string]string{}}
	params := "{" + laterMeta + "}"
	if quiet > 0 {
		params = `{"quiet_ms":` + count(int(quiet.Milliseconds())) + "," + laterMeta + "}"
	}
	header := p.known.headers("")
	header[protocol.HeaderProtocolVersion] = cmp.Or(p.known.version, laterEra)
	header[protocol.HeaderMethod] = debug.Method
	header[protocol.HeaderName] = "junction"
	header["Mcp-Param-Probe"] = "junction"
	header[debug.HeaderAsk] = "true"
	header["X-MCP-Timeout-Seconds"] = "30"
	for name, v := range header {
		if debug.Ours(name) {
			m.sent[http.CanonicalHeaderKey(name)] = debug.Value(name, v)
		}
	}
	m.reply = p.post(ctx, p.courier.Do, request{method: debug.Method, params: params, header: header, within: quiet})
	m.hear()
	return m
}

// hear reads what the wrapper said.
func (m *measurement) hear() {
	r := m.reply
	if v := r.header.Get(debug.HeaderArrived); v != "" {
		for name := range strings.SplitSeq(v, ",") {
			m.names = append(m.names, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for _, raw := range r.events {
		var e struct {
			Method string      `json:"method"`
			Params debug.Event `json:"params"`
		}
		if json.Unmarshal(raw, &e) == nil && e.Method == debug.Notification {
			m.at = append(m.at, e.Params.AtMS)
		}
	}
	if r.message == nil || r.message.Error != nil {
		return
	}
	var result struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var report debug.Report
	if json.Unmarshal(r.message.Result, &result) == nil && json.Unmarshal(result.Meta[debug.MetaKey], &report) == nil && report.Headers != nil {
		m.report = &report
		m.at = append(m.at, report.AtMS)
	}
}

// missesHeaders reports whether the server refuses us for standard headers that it
// misses, and that were sent.
func (p *patient) missesHeaders() bool {
	for _, r := range []*reply{p.known.discover, p.known.last} {
		if e := rpcErrorOf(r); !p.known.ok && e != nil && e.Code == headerMismatch {
			return true
		}
	}
	return false
}

// headersMissed puts that where it belongs.
func (p *patient) headersMissed() {
	if !p.missesHeaders() {
		return
	}
	p.layer(Document).skip(NotReached, "the server misses headers that it needs: layer %d", Middleboxes)
	l := p.layer(Middleboxes)
	l.TookMS = millis(p.debug.reply.took)
	if p.debug.report != nil {
		l.add(p.debug.removed()...)
	}
	if len(l.Troubles) == 0 {
		l.add(failed("a header that was sent does not arrive: "+p.says(p.known.discover), passOn).paste(passOnLines))
	}
}

const (
	passOn      = "have what lies between pass on all headers X-MCP-* and Mcp-*; a gateway may want a list of them, and in nginx the lines that empty them have to go"
	passOnLines = "proxy_set_header Mcp-Method $http_mcp_method;    # nginx, where another line empties it"
)

// middleboxes judges what lies between.
func (p *patient) middleboxes() {
	l, m := p.layer(Middleboxes), p.debug
	if l.Status != "" || m == nil {
		return
	}
	l.TookMS = millis(m.reply.took)
	if m.report == nil {
		p.unmeasured(l, m)
		return
	}
	l.pass(m.reply.took, "%s arrived as sent%s; %s", counted(len(m.sent), "header"), passed(m.report), m.pace())
	if p.o.Idle > 0 {
		l.Saw += fmt.Sprintf("; a stream held that was quiet for %s", brief(p.o.Idle))
	}
	l.add(m.removed()...)
	if name := http.CanonicalHeaderKey(debug.HeaderArrived); m.report.Headers["X-Mcp-Debug"] != "" && m.names == nil {
		l.add(failed("the answer's header "+name+" was removed on the way back", "have what lies between pass on the headers X-MCP-* and Mcp-* of answers: session ids and credentials' demands come in such"))
	}
	if m.buffered() {
		l.add(failed("event streams are held back: "+m.pace(),
			"turn buffering off in what lies between, and have the server send X-Accel-Buffering: no with its streams; a file for nginx is in deploy/nginx").paste("proxy_buffering off;    # nginx"))
	}
	if len(l.Troubles) > 0 {
		l.Saw = strings.TrimPrefix(passed(m.report), ", ")
	}
}

// unmeasured is about a server without the wrapper, or a stream that did not come to
// its end.
func (p *patient) unmeasured(l *Layer, m *measurement) {
	if len(m.at) == 0 {
		if len(m.names) > 0 {
			m.byNames(l)
			return
		}
		l.skip(NotMeasurable, "the server does not answer X-MCP-Debug; junction/router/diagnose/debug makes it")
		return
	}
	if p.o.Idle > 0 && len(m.at) == debug.Events {
		last := m.reply.arrived[len(m.reply.arrived)-1]
		l.add(failed(fmt.Sprintf("a quiet stream is cut after %s, and %s was asked for", brief(m.cutAfter(last)), brief(p.o.Idle)),
			"have what lies between wait longer for the next byte, and the server send a comment line every 15 s").paste("proxy_read_timeout 1h;    # nginx"))
		return
	}
	l.add(failed("an event stream is cut in the middle: "+p.says(m.reply), "look at what lies between, and at the server's log"))
}

// cutAfter is how long the stream was quiet before it ended.
func (m *measurement) cutAfter(last time.Time) time.Duration { return m.reply.ended.Sub(last) }

// byNames judges by the answer's header alone, of a server that has no timed events.
func (m *measurement) byNames(l *Layer) {
	l.pass(m.reply.took, "%s arrived; buffering is not measurable with this server", counted(len(m.names), "header"))
	var gone []string
	for name := range m.sent {
		if !slices.Contains(m.names, name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if len(gone) > 0 {
		l.add(failed("headers are removed on the way: "+strings.Join(gone, ", "), passOn).paste(passOnLines))
	}
}

// passed says what stands between, as far as it tells.
func passed(r *debug.Report) string {
	if len(r.Passed) == 0 {
		return ""
	}
	var all []string
	for _, name := range r.Passed {
		all = append(all, clean(name))
	}
	return ", through something that adds " + some(all)
}

// removed names headers that did not arrive, or not as they were sent.
func (m *measurement) removed() []Trouble {
	var gone, changed []string
	for _, name := range slices.Sorted(maps.Keys(m.sent)) {
		switch got, ok := m.report.Headers[name]; {
		case !ok:
			gone = append(gone, name)
		case got != m.sent[name]:
			changed = append(changed, name)
		}
	}
	var all []Trouble
	if len(gone) > 0 {
		all = append(all, failed("headers are removed on the way: "+strings.Join(gone, ", "), passOn).paste(passOnLines))
	}
	if len(changed) > 0 {
		all = append(all, failed("headers are changed on the way: "+strings.Join(changed, ", "), passOn))
	}
	return all
}

// buffered reports whether events that were sent one after another arrived at once.
func (m *measurement) buffered() bool {
	sent, came := m.spread()
	return sent >= debug.Every && came < sent/2
}

// spread is how long the events took to be sent, and to arrive. The answer does not
// count: it may come after a long silence.
func (m *measurement) spread() (sent, came time.Duration) {
	n := min(len(m.at), len(m.reply.arrived), debug.Events)
	if n < 2 {
		return 0, 0
	}
	sent = time.Duration(m.at[n-1]-m.at[0]) * time.Millisecond
	return sent, m.reply.arrived[n-1].Sub(m.reply.arrived[0])
}

// pace is that for people.
func (m *measurement) pace() string {
	sent, came := m.spread()
	return fmt.Sprintf("%s sent over %s came over %s", counted(debug.Events, "event"), brief(sent), brief(came))
}
