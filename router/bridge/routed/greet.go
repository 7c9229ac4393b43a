package routed

import (
	"encoding/json"
	"fmt"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// modernVersion is the one version of the later era that is spoken here.
const modernVersion = protocol.ProtocolVersion20260728

// request is what a [Handler] reads of a request's parameters.
type request struct {
	Version      string                     `json:"protocolVersion"` // initialize
	Capabilities json.RawMessage            `json:"capabilities"`    // initialize
	Name         string                     `json:"name"`            // tools/call …
	Arguments    json.RawMessage            `json:"arguments"`
	Responses    map[string]json.RawMessage `json:"inputResponses"`
	State        string                     `json:"requestState"`
	Meta         map[string]json.RawMessage `json:"_meta"`

	modern bool
}

// readRequest reads the parameters, and of which era they are.
func readRequest(params json.RawMessage) (request, *mcp.RPCError) {
	var q request
	if len(params) > 0 {
		if err := json.Unmarshal(params, &q); err != nil {
			return q, &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: "the parameters cannot be read: " + err.Error()}
		}
	}
	raw, told := q.Meta[protocol.MetaKeyProtocolVersion]
	if !told {
		return q, nil
	}
	q.modern = true
	var version string
	if err := json.Unmarshal(raw, &version); err != nil || version != modernVersion {
		return q, unsupported(version)
	}
	return q, nil
}

func unsupported(version string) *mcp.RPCError {
	data, err := json.Marshal(protocol.UnsupportedProtocolVersionData{Supported: []string{modernVersion}, Requested: version})
	if err != nil {
		data = nil // two texts: it cannot be
	}
	return &mcp.RPCError{Code: protocol.UNSUPPORTED_PROTOCOL_VERSION, Message: fmt.Sprintf("protocol version %q is not spoken here", version), Data: data}
}

// abilities are what a client can be asked for.
type abilities struct{ form, url bool }

func abilitiesOf(capabilities json.RawMessage) abilities {
	var c struct {
		Elicitation *struct {
			Form *struct{} `json:"form"`
			URL  *struct{} `json:"url"`
		} `json:"elicitation"`
	}
	if len(capabilities) == 0 || json.Unmarshal(capabilities, &c) != nil || c.Elicitation == nil {
		return abilities{}
	}
	// An empty object means forms (MCP 2025-11-25, "Elicitation").
	return abilities{form: c.Elicitation.Form != nil || c.Elicitation.URL == nil, url: c.Elicitation.URL != nil}
}

// able is what the client that made a request can be asked for.
func (r *Handler) able(q *request) abilities {
	if q.modern {
		return abilitiesOf(q.Meta[protocol.MetaKeyClientCapabilities])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.greeted
}

func (r *Handler) self() map[string]any {
	return map[string]any{"name": "junction", "version": r.options.Version}
}

func (r *Handler) instructions() string {
	return "Each tool is a capability; a call of it goes to whichever server can do it best at that time."
}

// initialize greets a client of the earlier era, in its version where that is known.
func (r *Handler) initialize(q request) mcp.Reply {
	return answer(map[string]any{
		"protocolVersion": protocol.NegotiateLegacyVersion(q.Version), "serverInfo": r.self(), "instructions": r.instructions(),
		"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
	})
}

// discover greets a client of the later one.
func (r *Handler) discover() mcp.Reply {
	return answer(r.complete(map[string]any{
		"supportedVersions": []string{modernVersion}, "instructions": r.instructions(),
		"capabilities": map[string]any{"tools": map[string]any{}}, "ttlMs": 0, "cacheScope": "private",
	}))
}

// complete marks a result as the later era wants it.
func (r *Handler) complete(result map[string]any) map[string]any {
	meta, _ := result["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[protocol.MetaKeyServerInfo] = r.self()
	result["_meta"], result["resultType"] = meta, "complete"
	return result
}
