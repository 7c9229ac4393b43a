package static

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"junction/router"
	"junction/state/document"
)

// Keys of a server. What MCP clients' own files say besides (type, disabled) is
// read as they mean it.
var serverKeys = []string{
	"type", "disabled", "command", "args", "env", "cwd", "url", "headers", "auth", "server_name", "ca",
	"offers", "trust", "approval", "latency_p95", "max_concurrent", "weight",
}

// maxConcurrent bounds what may be declared as calls at once.
const maxConcurrent = 1 << 20

// server reads one entry of mcpServers; nil for a disabled one, of which only
// the keys are checked.
func (r *reader) server(e document.Entry) *router.Server {
	if e.Key == "" {
		e.At.Fault("", "a server needs a name")
	}
	name(e.At, "server", e.Key)
	m := e.Node.Mapping(serverKeys...)
	if m == nil || m.Get("disabled").Bool() {
		return nil
	}
	s := &router.Server{
		ID: e.Key, Name: e.Key, Source: "file",
		Dial:       r.dial(m),
		Trusted:    m.Get("trust").Bool(),
		Approval:   m.Get("approval").OneOf(router.Pinned),
		LatencyP95: m.Get("latency_p95").Duration(),
		Weight:     weight(m.Get("weight")),
	}
	s.MaxConcurrent = int(m.Get("max_concurrent").Int(1, maxConcurrent))
	who := claimant{name: "server " + s.ID, ledger: func(at *document.Node) string { return r.ownLedger(s, at) }}
	for _, n := range m.Get("offers").List() {
		s.Offers = append(s.Offers, r.offer(who, n))
	}
	repeated(s.Offers, m.Get("offers"))
	return s
}

func weight(n *document.Node) float64 {
	if n == nil {
		return 0
	}
	var w float64
	switch v := n.Value().(type) {
	case int64:
		w = float64(v)
	case float64:
		w = v
	}
	if w <= 0 || w > 1e6 {
		n.Fault("write disabled: true to take the server out", "a number above 0 and up to 1000000 is expected here")
	}
	return w
}

// dial reads how the server is reached: a command or a URL.
func (r *reader) dial(m *document.Mapping) router.Dial {
	command, address := m.Get("command"), m.Get("url")
	stdio := address == nil
	switch {
	case command != nil && address != nil:
		address.Fault("remove one of them", "a server has a command or a url, not both")
	case command == nil && address == nil:
		unreachable(m)
		return router.Dial{}
	}
	kind := m.Get("type")
	switch t := kind.OneOf("stdio", "http", "streamable-http", "streamableHttp", "sse"); {
	case t == "" || command != nil && address != nil:
	case stdio != (t == "stdio"):
		kind.Fault("remove it: command or url says it already", "type %s does not go with %s", t, map[bool]string{true: "a command", false: "a url"}[stdio])
	}
	misplaced(m, stdio)
	if !stdio {
		return r.remote(m, address)
	}
	d := router.Dial{
		Command: r.command(command),
		Env:     r.expandedMap(m.Get("env"), checkVariable),
		Dir:     r.dir,
	}
	for _, n := range m.Get("args").List() {
		arg, _ := r.expanded(n)
		d.Args = append(d.Args, arg)
	}
	if dir := r.literal(m.Get("cwd")); dir != "" {
		d.Dir = r.file(dir)
	}
	return d
}

// remote reads how a server with a URL is reached.
func (r *reader) remote(m *document.Mapping, address *document.Node) router.Dial {
	d := router.Dial{
		URL:        r.address(address),
		Headers:    r.expandedMap(m.Get("headers"), checkHeader),
		Auth:       r.credentials(m),
		ServerName: certified(m.Get("server_name"), r.literal(m.Get("server_name"))),
		CAFile:     r.file(r.literal(m.Get("ca"))),
	}
	for _, n := range []*document.Node{m.Get("server_name"), m.Get("ca")} {
		if n != nil && n.Kind == document.Text {
			n.Word() // empty, it would say nothing
		}
	}
	if strings.HasPrefix(strings.ToLower(d.URL), "http://") {
		uncertified(m, "url", "server_name", "ca")
	}
	return d
}

// uncertified reports keys that are about a certificate, where the address has none.
func uncertified(m *document.Mapping, address string, about ...string) {
	for _, e := range m.Entries() {
		if slices.Contains(about, e.Key) {
			e.At.Fault(fmt.Sprintf("write https:// in %s, or remove it", address),
				"%s means nothing for an address that does not begin with https://", e.Key)
		}
	}
}

// unreachable reports that there is neither command nor url, unless a misspelt
// one is a fault already.
func unreachable(m *document.Mapping) {
	for _, e := range m.Entries() {
		if !slices.Contains(serverKeys, e.Key) && document.Suggest(e.Key, []string{"command", "url"}) != "" {
			return
		}
	}
	m.Node().Fault("add command: … or url: …", "nothing says how to reach this server")
}

// misplaced reports keys that belong to the other way of reaching a server.
func misplaced(m *document.Mapping, stdio bool) {
	if m.Has("command") && m.Has("url") {
		return // said already
	}
	wrong, has := []string{"args", "env", "cwd"}, "a url"
	if stdio {
		wrong, has = []string{"headers", "auth", "server_name", "ca"}, "a command"
	}
	for _, e := range m.Entries() {
		if slices.Contains(wrong, e.Key) {
			e.At.Fault("remove it", "%s means nothing for a server with %s", e.Key, has)
		}
	}
}

// command is looked up on PATH when it is a bare name; a relative path is
// relative to the servers file.
func (r *reader) command(n *document.Node) string {
	c, ok := r.expanded(n)
	switch {
	case !ok:
	case c == "":
		n.Fault("", "the command is empty")
	case filepath.IsAbs(c):
	case strings.ContainsRune(c, '/') || strings.ContainsRune(c, filepath.Separator):
		c = filepath.Join(r.dir, filepath.FromSlash(c))
	}
	return c
}

// address checks a URL without quoting it: it may hold a credential.
func (r *reader) address(n *document.Node) string {
	raw, ok := r.expanded(n)
	if !ok {
		return ""
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		n.Fault("such as http://127.0.0.1:8080/mcp", "this is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		n.Fault("such as http://127.0.0.1:8080/mcp", "the URL of a server begins with http:// or https://")
	case u.Hostname() == "":
		n.Fault("such as http://127.0.0.1:8080/mcp", "the URL names no host")
	}
	return raw
}

// protocolHeaders are those that the protocol sets for each request.
var protocolHeaders = []string{
	"accept", "connection", "content-length", "content-type", "host", "transfer-encoding",
	"mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "last-event-id",
}

func checkHeader(key *document.Node, name, value string) {
	switch lower := strings.ToLower(name); {
	case slices.Contains(protocolHeaders, lower):
		key.Fault("remove it", "the header %s is set for each request by itself", name)
	case lower == "idempotency-key" || lower == "x-idempotency-key":
		key.Fault("give the offer effect: conditional and key: with the argument that carries its key",
			"%s would be the same for every call, and a server that deduplicates would make the first one only", name)
	}
	token := func(c rune) bool {
		return c > ' ' && c < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !token(c) }) {
		key.Fault("", "%q cannot be the name of a header", name)
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		key.Fault("a file's last line break often gets into a variable", "the value of header %s holds a line break", name)
	}
}

func checkVariable(key *document.Node, name, value string) {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		key.Fault("", "%q cannot be the name of an environment variable", name)
	}
	if strings.ContainsRune(value, 0) {
		key.Fault("", "the value of %s holds a zero byte", name)
	}
}

// digest sums up all that is declared of a server, so that a new version of the
// file leaves alone the servers it does not change.
func digest(s *router.Server, n *document.Node) string {
	data, err := json.Marshal([]any{s.Dial, n.Value()})
	if err != nil {
		return fmt.Sprintf("%p", s) // like no other
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
