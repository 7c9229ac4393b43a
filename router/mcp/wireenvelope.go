package mcp

import (
	"bytes"
	"encoding/json"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// envelope is any JSON-RPC message of a server, its parts as they were written.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// reply is what an answer says.
func (m *envelope) reply() (Reply, *router.CallError) {
	if m == nil {
		return Reply{}, unknown(router.OutputInvalid, "the server sent no answer", nil)
	}
	if absent(m.Error) {
		if len(m.Result) == 0 {
			return Reply{}, unknown(router.OutputInvalid, "the answer holds neither a result nor an error", nil)
		}
		return Reply{Result: m.Result}, nil
	}
	var e RPCError
	if err := json.Unmarshal(m.Error, &e); err != nil {
		return Reply{}, unknown(router.OutputInvalid, "the answer's error cannot be read: "+excerpt(err.Error()), nil)
	}
	if e.Code == rpcUnsupportedVersion {
		return Reply{}, refused(m.details())
	}
	return Reply{Error: &e}, nil
}

// details are the error as mcp-go reads it; nil: there is none.
func (m *envelope) details() *protocol.JSONRPCErrorDetails {
	if absent(m.Error) {
		return nil
	}
	var d protocol.JSONRPCErrorDetails
	if json.Unmarshal(m.Error, &d) != nil {
		return &protocol.JSONRPCErrorDetails{Code: protocol.INTERNAL_ERROR, Message: "an error that cannot be read"}
	}
	return &d
}

// shown is what the server was shown in confidence over a link.
func (w *Wire) shown(over link) []secrets {
	all := []secrets{w.peer.secrets}
	if l, ok := over.(*httpLink); ok {
		if id := l.GetSessionId(); id != "" {
			all = append(all, sessionSecret(id))
		}
	}
	return all
}

// unshown is a server's error without what the server was shown in confidence: one that
// refuses a token often repeats it.
func (w *Wire) unshown(e *RPCError) *RPCError {
	v := *e
	for _, s := range w.shown(w.conn.link) {
		v.Message = s.whole(v.Message)
		v.Data = s.unshown(v.Data)
	}
	return &v
}

// unshown is JSON without the credentials in its texts; as it was written where there
// are none.
func (s secrets) unshown(raw json.RawMessage) json.RawMessage {
	if s.whole(string(raw)) == string(raw) && bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var v any
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	if in.Decode(&v) != nil {
		return raw // of an answer that was read it is JSON
	}
	before, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	after, err := json.Marshal(s.value(v))
	if err != nil || bytes.Equal(before, after) {
		return raw
	}
	return after
}
