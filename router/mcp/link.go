package mcp

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// link is a transport of mcp-go that reports every failure of SendRequest as a
// *router.CallError and passes on no JSON-RPC error but server/discover's.
type link interface {
	transport.Interface
	// gone is closed when the link can carry nothing any more.
	gone() <-chan struct{}
	// opening is what the link saw of the handshake.
	opening() *opening
	// requests are those that the link carries or carried.
	requests() *requests
	// stop ends the link; when ctx ends first, by force.
	stop(ctx context.Context)
}

// opening watches the handshake that mcp-go's client does over a link. It
// keeps the answers as the server wrote them, and refuses the fall-back to the
// earlier era where the first answer rules that out.
type opening struct {
	mu       sync.Mutex
	answered bool // server/discover got an answer of any kind
	discover json.RawMessage
	initial  json.RawMessage // of initialize
	verdict  *router.CallError
	greeting *Greeting // who stands behind us; nil: nobody
	disputed bool      // the server refused a version that it lists as supported
	again    bool      // … and is to be asked once more
}

// admit returns a request as it is to be sent, or why it must not be.
func (o *opening) admit(req transport.JSONRPCRequest) (transport.JSONRPCRequest, error) {
	initial := req.Method == string(protocol.MethodInitialize)
	if !initial && req.Method != string(protocol.MethodServerDiscover) {
		return req, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if initial && o.verdict != nil {
		return req, o.verdict
	}
	if o.greeting == nil {
		return req, nil
	}
	params, err := o.greeting.of(req)
	if err != nil {
		return req, err
	}
	req.Params = params
	return req, nil
}

// observe learns from the outcome of a request of the handshake.
func (o *opening) observe(method string, resp *transport.JSONRPCResponse, e *router.CallError) {
	switch method {
	case string(protocol.MethodInitialize):
		if e == nil {
			o.mu.Lock()
			o.initial = slices.Clone(resp.Result)
			o.mu.Unlock()
		}
	case string(protocol.MethodServerDiscover):
		o.mu.Lock()
		defer o.mu.Unlock()
		o.discovered(resp, e)
	}
}

func (o *opening) discovered(resp *transport.JSONRPCResponse, e *router.CallError) {
	switch {
	case e != nil:
		o.answered = o.answered || e.HTTPStatus != 0
		if unanswerable(e) {
			o.verdict = e
		}
	case resp.Error != nil:
		o.answered = true
		if resp.Error.Code == rpcUnsupportedVersion {
			o.unsupported(resp.Error)
		}
	default:
		o.answered, o.discover = true, slices.Clone(resp.Result)
	}
}

// unsupported judges the refusal of a version. A server that knows this error is
// of the later era: it is asked again for a version of that era that it lists, and
// for the handshake of the earlier one only when it lists a version of that.
func (o *opening) unsupported(e *protocol.JSONRPCErrorDetails) {
	offered := supported(e.Data)
	common := protocol.NegotiateMutuallySupportedVersion(offered)
	if protocol.IsModernProtocol(common) && !o.disputed {
		o.disputed, o.again = true, true
	} else if earlier := slices.DeleteFunc(slices.Clone(offered), protocol.IsModernProtocol); protocol.NegotiateMutuallySupportedVersion(earlier) != "" {
		return
	}
	o.verdict = refused(e)
	o.verdict.Message += "; it supports " + excerpt(strings.Join(offered, ", "))
}

// askAgain says, once, that the server is to be asked for the later era anew.
func (o *opening) askAgain() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.again {
		return false
	}
	o.again, o.verdict = false, nil
	return true
}

// settled says whether the answer to server/discover lists version.
func (o *opening) settled(version string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	var d struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	return json.Unmarshal(o.discover, &d) == nil && slices.Contains(d.SupportedVersions, version)
}

func (o *opening) wasAnswered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answered
}

// document returns the answer that describes the server.
func (o *opening) document(modern bool) json.RawMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	if modern {
		return o.discover
	}
	return o.initial
}

// conclude turns what a transport received into a result or one CallError.
func conclude(req transport.JSONRPCRequest, resp *transport.JSONRPCResponse) (*transport.JSONRPCResponse, *router.CallError) {
	switch {
	case resp == nil:
		return nil, unknown(router.OutputInvalid, "the server sent no answer", nil)
	case resp.Error != nil && req.Method != string(protocol.MethodServerDiscover):
		return nil, refused(resp.Error)
	case resp.Error == nil && len(resp.Result) == 0:
		return nil, unknown(router.OutputInvalid, "the answer holds neither a result nor an error", nil)
	}
	return resp, nil
}

// requestID reads the id of an answer. Ids of ours are integers; some servers
// hand them back as 7.0.
func requestID(raw json.RawMessage) (int64, bool) {
	if id, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return id, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}
