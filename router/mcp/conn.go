package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
)

// farewell bounds the notification that cancels a request.
const farewell = 5 * time.Second

// conn is one live connection: a link after its handshake. mcp-go's client
// did the handshake and answers what the server asks; requests of ours go
// straight to the link, so that their raw answers can be read exactly.
type conn struct {
	server  *router.Server
	secrets secrets // of its Dial
	link    link
	client  *mcpclient.Client
	version string
	modern  bool
	http    bool
	meta    [4][]byte // fixed members of _meta in the later era, each followed by a comma; see metaOf
	open    openCalls // that the server can reach besides their answers
	nonce   string    // goes into the session's handle
	opened  time.Time
	log     *slog.Logger
	limit   int // of a tool list, all pages together, bytes

	ids        atomic.Int64
	known      atomic.Pointer[catalog]
	stale      atomic.Bool   // its tools may have changed
	announced  atomic.Bool   // the server said that they did
	superseded atomic.Bool   // given up for a change that nobody told of
	proven     atomic.Bool   // a call has succeeded here
	refresh    chan struct{} // holds a token while the catalog may be read anew
	pace       *pace         // of such readings
	noticed    func(k *catalog, announced bool)
	held       func(name string, t *tool) *router.CallError // why a tool must not be called

	wire *Wire // that the connection is of; nil: it is hops'

	life    context.Context // ends when the connection is retired
	leave   context.CancelFunc
	heard   atomic.Pointer[subscription]
	backoff Backoff
	replan  func(ReconnectPlan)

	mu       sync.Mutex
	inFlight int
	retired  bool
	idle     chan struct{} // closed once retired and nothing is in flight
	partings errands
}

// newConn wraps a link whose handshake is done. Ids start at a random place:
// some servers let one client cancel another's request by its id.
func newConn(s *router.Server, l link, c *mcpclient.Client, o *Options) *conn {
	var seed [24]byte
	rand.Read(seed[:]) //nolint:errcheck // it cannot fail
	_, overHTTP := l.(transport.HTTPConnection)
	n := &conn{
		server: s, secrets: secretsBehind(l, &s.Dial), link: l, client: c, version: c.ProtocolVersion(), http: overHTTP,
		nonce: hex.EncodeToString(seed[8:]), opened: time.Now(), log: o.Logger.With("server", s.ID), limit: o.MaxResponseBytes,
		idle: make(chan struct{}), refresh: make(chan struct{}, 1),
		pace: &pace{}, backoff: o.Backoff, replan: o.OnReconnect,
	}
	n.life, n.leave = context.WithCancel(context.Background())
	n.modern = protocol.IsModernProtocol(n.version)
	n.ids.Store(1<<40 + int64(binary.LittleEndian.Uint64(seed[:8])>>16))
	n.refresh <- struct{}{}
	if n.modern {
		info, _ := json.Marshal(protocol.Implementation{Name: o.ClientName, Version: o.ClientVersion}) //nolint:errcheck // plain text
		for i := range n.meta {
			n.meta[i] = []byte(`"` + protocol.MetaKeyProtocolVersion + `":"` + n.version + `","` + protocol.MetaKeyClientCapabilities + `":` +
				clientCapabilities(i&1 != 0, i&2 != 0) + `,"` + protocol.MetaKeyClientInfo + `":` + string(info) + `,`)
		}
	}
	n.open.elicitation = o.Elicitation && !n.modern
	c.OnNotification(n.notified)
	if l, ok := l.(transport.BidirectionalInterface); ok {
		l.SetRequestHandler(n.asked)
	}
	return n
}

// acquire counts a use of the connection; false: it is not to be used again.
func (c *conn) acquire() bool {
	select {
	case <-c.link.gone():
		return false
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return false
	}
	c.inFlight++
	return true
}

func (c *conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight--; c.inFlight == 0 && c.retired {
		close(c.idle)
	}
}

// retire lets no new use begin; idle is closed when the last one has ended.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return
	}
	c.retired = true
	c.leave()
	if c.inFlight == 0 {
		close(c.idle)
	}
}

// send makes one request. params is a JSON object; in the later era _meta is
// added to it where it has none.
func (c *conn) send(ctx context.Context, method string, params []byte, header http.Header) (*transport.JSONRPCResponse, *router.CallError) {
	if c.modern && header == nil {
		params = c.withMeta(params)
		header = c.headers(method, "")
	}
	return c.post(ctx, c.ids.Add(1), method, params, header)
}

// metaOf are the fixed members of _meta for a request that says what we can do:
// wait for tasks, ask a person.
func (c *conn) metaOf(tasks, ask bool) []byte {
	i := 0
	if tasks {
		i |= 1
	}
	if ask {
		i |= 2
	}
	return c.meta[i]
}

// withMeta adds the later era's _meta to an object that has none.
func (c *conn) withMeta(params []byte) []byte { return addMeta(params, c.metaOf(false, false)) }

func addMeta(params, meta []byte) []byte {
	out := append([]byte(`{"_meta":{`), meta[:len(meta)-1]...)
	out = append(out, '}')
	if len(params) > len("{}") {
		out = append(out, ',')
	}
	return append(out, params[1:]...)
}

// headers are those that the later era wants beside the body.
func (c *conn) headers(method, name string) http.Header {
	h := http.Header{}
	if !c.modern || !c.http {
		return h
	}
	h.Set(protocol.HeaderMethod, method)
	if name != "" {
		if v, ok := protocol.EncodeHeaderValue(name); ok {
			h.Set(protocol.HeaderName, v)
		}
	}
	return h
}

// post sends a request as it is, and tells the server when its context ended
// first. Closing the stream tells it over HTTP in the later era; elsewhere it
// takes a notification.
func (c *conn) post(ctx context.Context, id int64, method string, params []byte, header http.Header) (*transport.JSONRPCResponse, *router.CallError) {
	ctx, ex := withExchange(ctx, id)
	resp, err := c.link.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: protocol.JSONRPC_VERSION, ID: protocol.NewRequestId(id),
		Method: method, Params: json.RawMessage(params), Header: header,
	})
	if ex.rebadged {
		c.stale.Store(true)
	}
	if err == nil {
		return resp, nil
	}
	e := asCallError(err)
	if !(c.http && c.modern) && e.Execution == state.Unknown && ex.flight.owesNotice() {
		c.sayCancelled(id, e.Message)
	}
	return nil, e
}

// sayCancelled runs off the caller's path: a server that does not listen must
// not hold it up.
func (c *conn) sayCancelled(id int64, reason string) {
	c.partings.Go(func() {
		// A link that ends fails the notification by itself.
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		err := c.link.SendNotification(ctx, protocol.JSONRPCNotification{
			JSONRPC: protocol.JSONRPC_VERSION,
			Notification: protocol.Notification{
				Method: string(protocol.MethodNotificationCancelled),
				Params: protocol.NotificationParams{AdditionalFields: map[string]any{"requestId": id, "reason": reason}},
			},
		})
		if err != nil {
			c.log.Debug("the server was not told of a cancel", "error", excerpt(err.Error()))
		}
	})
}

// notified runs in the link's reader and never waits.
func (c *conn) notified(n protocol.JSONRPCNotification) {
	switch n.Method {
	case protocol.MethodNotificationToolsListChanged, protocol.MethodNotificationSubscriptionsAcknowledged:
		c.told(&n)
	case string(protocol.MethodNotificationTasksStatus):
		if id, ok := n.Params.AdditionalFields["taskId"].(string); ok {
			c.open.stir(id)
		}
	case string(protocol.MethodNotificationProgress):
		f := n.Params.AdditionalFields
		token, _ := f["progressToken"].(float64) // ours are numbers, and none is 0
		done, ok := f["progress"].(float64)
		if !ok {
			done = math.NaN() // rises above nothing
		}
		total, _ := f["total"].(float64)
		message, _ := f["message"].(string)
		c.link.requests().progress(int64(token), update{done, total, message}, c.secrets.text)
	}
}

// goesOn keeps a call going whose answer was the promise of a result (a task): its
// progress counts until the returned function is called, with the result or
// without. A failure: the call has ended.
func (c *conn) goesOn(f *flight) (done func(), e *router.CallError) {
	id, e := f.goesOn()
	if e != nil {
		return nil, e
	}
	all := c.link.requests()
	all.add(id, f, nil)
	return func() { all.end(id, f.finish()) }, nil
}

// session is the connection's handle for people and records. It names this
// connection only, and gives away nothing of the wire's session.
func (c *conn) session(fingerprint string) state.Session {
	scheme := schemeBehind(c.link, &c.server.Dial)
	where := c.server.Endpoint()
	id := sha256.Sum256([]byte(strings.Join([]string{c.server.ID, where, c.version, c.nonce}, "\n")))
	about := sha256.Sum256([]byte(strings.Join([]string{c.server.ID, where, c.version, scheme, fingerprint}, "\n")))
	var ends time.Time
	if l := c.lifetime(); l != nil {
		ends = l.ends
	}
	return state.Session{
		ID: hex.EncodeToString(id[:16]), Server: c.server.ID, Endpoint: where, ProtocolVersion: c.version,
		Scheme: scheme, ContextHash: "sha256:" + hex.EncodeToString(about[:]), Opened: c.opened, Expires: ends,
	}
}

// end closes the connection; force says that calls in flight are not waited for.
func (c *conn) end(ctx context.Context, force bool) {
	c.retire()
	if !force {
		select {
		case <-c.idle:
		case <-c.link.gone():
		case <-ctx.Done():
		}
	}
	c.link.stop(ctx)
	c.partings.Wait()
}
