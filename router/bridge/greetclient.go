package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// versions are those that a bridge speaks with its client, newest first. What the
// client's and a server's differ in, the bridge translates.
var versions = protocol.ValidProtocolVersions

// asked is a request of the client, read as far as a bridge must know it.
type asked struct {
	id           json.RawMessage
	method       string
	params       json.RawMessage
	modern       bool            // the era of the request
	token        json.RawMessage // of progress; nil: none is wanted
	capabilities json.RawMessage // the client's, as of this request
	level        string          // of the messages wanted while it runs; the later era
	state        string          // requestState that it brings back; the later era
	tool         string          // of tools/call
}

// subject is what the request is, for people.
func (a *asked) subject() string {
	if a.tool != "" {
		return "tool " + clean(a.tool)
	}
	return clean(a.method)
}

// mostEarly is how many notifications are kept for a client that has not finished its
// handshake, and mostEarlyBytes how much they may hold together.
const (
	mostEarly      = 64
	mostEarlyBytes = 1 << 20
)

// downstream is what is known of the client.
type downstream struct {
	mu       sync.Mutex
	legacy   bool // it has begun a handshake of the earlier era
	modern   bool
	greeting mcp.Greeting
	early    []mcp.Notification // that came before it may be spoken to
	held     int                // bytes of these
	ready    chan struct{}      // closed once it may be
}

// read takes a request in: the first one says who the client is.
func (d *downstream) read(ctx context.Context, method string, params json.RawMessage) (*asked, *mcp.RPCError) {
	a := &asked{id: RequestID(ctx), method: method, params: params}
	meta := member(params, "_meta")
	version := textIn(meta, protocol.MetaKeyProtocolVersion)
	a.token = member(meta, "progressToken")
	if method == string(protocol.MethodToolsCall) {
		a.tool = textIn(params, "name")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case method == string(protocol.MethodInitialize) && !protocol.IsModernProtocol(version):
		d.legacy = true
		d.greeting = mcp.Greeting{
			ClientInfo: member(params, "clientInfo"), Capabilities: earlier(member(params, "capabilities")), Earlier: true,
		}
		return a, nil
	case version == "" || d.legacy && slices.Contains(versions, version) && !protocol.IsModernProtocol(version):
		if d.modern && !d.legacy || method == string(protocol.MethodServerDiscover) {
			return nil, &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: "the request's _meta lacks " + protocol.MetaKeyProtocolVersion}
		}
		if !d.legacy && method != string(protocol.MethodPing) {
			return nil, &mcp.RPCError{Code: protocol.INVALID_REQUEST, Message: "the first request is initialize, or carries " + protocol.MetaKeyProtocolVersion + " in its _meta"}
		}
		a.capabilities = d.greeting.Capabilities
		return a, nil
	case !slices.Contains(versions, version) || !protocol.IsModernProtocol(version):
		return nil, unspoken(version)
	}
	a.modern = true
	a.capabilities = member(meta, protocol.MetaKeyClientCapabilities)
	a.level = textIn(meta, protocol.MetaKeyLogLevel)
	a.state = textIn(params, "requestState")
	if !isObject(a.capabilities) {
		return nil, &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: "the request's _meta lacks " + protocol.MetaKeyClientCapabilities}
	}
	if !d.modern || method == string(protocol.MethodServerDiscover) {
		d.greeting = mcp.Greeting{ClientInfo: member(meta, protocol.MetaKeyClientInfo), Capabilities: a.capabilities}
	}
	d.modern = true
	return a, nil
}

// unspoken refuses a version.
func unspoken(version string) *mcp.RPCError {
	return &mcp.RPCError{
		Code:    protocol.UNSUPPORTED_PROTOCOL_VERSION,
		Message: fmt.Sprintf("the protocol version %q is not supported", clean(version)),
		Data:    marshal(protocol.UnsupportedProtocolVersionData{Supported: versions, Requested: version}),
	}
}

// earlier is what a client of the earlier era can do, without what only the later one
// can deal with: results that are tasks.
func earlier(capabilities json.RawMessage) json.RawMessage {
	const tasks = "io.modelcontextprotocol/tasks"
	if extensions := member(capabilities, "extensions"); member(extensions, tasks) != nil {
		return setMember(capabilities, "extensions", dropMembers(extensions, tasks))
	}
	return capabilities
}

// who is the client, as servers are told.
func (d *downstream) who() mcp.Greeting {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.greeting
}

// later reports whether the client speaks the later era.
func (d *downstream) later() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.modern && !d.legacy
}

// keep holds a notification back while the client may not be spoken to, the first
// ones of them; false: it may.
func (d *downstream) keep(n mcp.Notification) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ended(d.ready) {
		return false
	}
	if size := len(n.Method) + len(n.Params); len(d.early) < mostEarly && d.held+size <= mostEarlyBytes {
		d.early, d.held = append(d.early, n), d.held+size
	}
	return true
}

// open lets the client be spoken to; tell is called for what waited.
func (d *downstream) open(tell func(mcp.Notification)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ended(d.ready) {
		return
	}
	for _, n := range d.early {
		tell(n) // does not block
	}
	d.early = nil
	close(d.ready)
}
