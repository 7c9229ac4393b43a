package router

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"junction/state"
	"junction/state/expr"
)

// Server is one MCP endpoint: an instance, not a product.
type Server struct {
	ID   string // unique; the name in the servers file, or the Consul service id
	Name string // of the product or service; several instances may share it
	Dial Dial   // how to reach it
	// Declared by the operator, Consul or the server, in this precedence.
	Offers        []Offer
	LatencyP95    time.Duration // 0: undeclared
	MaxConcurrent int           // 0: undeclared
	Depth         string
	Trusted       bool                 // its own effect hints count
	Approval      string               // "": tools may change; "pinned": one that is not as approved is not called
	Approved      map[string]ToolPrint // by tool: what was approved of a pinned server
	Weight        float64              // of the registry; 0: 1
	Source        string               // "file", "consul"
}

// Dial says how to reach a server. Exactly one of Command and URL is set.
type Dial struct {
	Command string
	Args    []string
	Env     map[string]string // the child's own; ours is not passed on
	Dir     string            // working directory; "": that of the servers file
	URL     string
	Headers map[string]string // may hold secrets: never printed
	// ServerName, where the URL is https, is the name that the server's
	// certificate must be valid for; "": the URL's host.
	ServerName string
	CAFile     string       // PEM; who may sign that certificate; "": the system's authorities
	Auth       []Credential // tried in this order against what the server takes; empty: what Headers say
}

// Credential is one way to show the server who we are. It is sent to the origin of
// the URL only, and nothing of it is printed.
type Credential struct {
	Scheme string // "bearer", "api-key", "mcp-jwt" or "oauth"; compared without case
	Header string // that carries it; "": Authorization, or X-API-Key for api-key
	Token  string // of bearer, api-key and mcp-jwt, where it is fixed; else …
	File   string // … the file that holds it, read anew when it changed (a mounted secret)
	OAuth  *OAuthClient
}

// OAuthClient obtains tokens by the client credentials grant (RFC 6749, 4.4) for
// the protected resource that the server's URL is (RFC 8707, RFC 9728).
type OAuthClient struct {
	Issuer       string // authorization server; "": the one the server's metadata names
	ClientID     string
	ClientSecret string // one of the two
	KeyFile      string // PEM of a private key: private_key_jwt (RFC 7523)
	Scopes       []string
}

// Endpoint is the server's address for people and records, without credentials.
func (s *Server) Endpoint() string { return s.Dial.endpoint() }

// Offer is a server's claim to a capability, bound to a tool.
type Offer struct {
	Capability string
	Tool       string              // "": those the server declares for the capability, else the one of its name
	Attributes map[string][]string // for example language → go, rust
	Effect     state.Effect        // "": what a trusted server hints, else unsafe
	Key        string              // conditional: argument that carries the key, or "_meta.NAME"
	Ledger     Ledger
	With       *expr.Template // capability's arguments → the tool's; nil: passed through. Names: with
	Result     *expr.Template // the tool's answer → the capability's; nil: structured content, else {text}. Names: result
	Verify     *Verify        // conditional, unsafe: what says whether a call took effect; nil: a person
	Probe      any            // minimal arguments of the health check; nil: none
}

// Verify is a safe tool of the same server, at the same endpoint, that tells whether
// a call of unknown outcome took effect. A call that it says did not happen is made
// again within the hop's count of attempts.
type Verify struct {
	Tool   string
	With   *expr.Template // its arguments; nil: those of the call. Names: with (the tool's arguments), key
	Result *expr.Template // its answer → {happened, result}; nil: the structured content. Names: result
}

// Ledger is what deduplicates by key. Servers with the same name do so together.
type Ledger struct {
	Name  string
	Keeps time.Duration // how long it keeps keys; 0: 24 h
}

// Contract is what every offer of a capability is held to, after mapping.
type Contract struct {
	Capability string
	Input      json.RawMessage // JSON Schema; nil: anything
	Output     json.RawMessage
}

// Snapshot is the known servers at one time. It is never changed.
type Snapshot struct {
	Servers   []*Server // by ID
	Contracts map[string]Contract
	Version   uint64 // rises with every change
	Stale     bool   // the source cannot be reached; this is the last known
}

// Discovery finds servers.
type Discovery interface {
	// Snapshot returns the current servers without blocking.
	Snapshot() *Snapshot
	// Refresh looks again at once; it is called before "no candidate" is said.
	Refresh(ctx context.Context) error
}

// Description is what a server said of itself in its handshake.
type Description struct {
	Name, Version   string
	ProtocolVersion string
	Modern          bool // 2026-07-28 or later
	Tools           []Tool
	Routing         Routing // extension dev.junction/routing
	Fingerprint     string  // SHA-256 of the canonical capability document
	Session         state.Session
}

// Tool is one tool of a server.
type Tool struct {
	Name         string
	Description  string
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage // nil: none
	Annotations  json.RawMessage // as the server wrote them; nil: none
	ReadOnly     *bool           // hints: untrusted unless the operator trusts the server
	Idempotent   *bool
	Routing      Routing // _meta["dev.junction/routing"]
}

// Routing is what a server declares under dev.junction/routing, for itself or
// for a tool. It is a claim: it seeds scores, measurements override it.
type Routing struct {
	LatencyP95MS  int                 `json:"latency_p95_ms,omitempty"`
	MaxConcurrent int                 `json:"max_concurrent_requests,omitempty"`
	RequiresAuth  bool                `json:"requires_auth,omitempty"`
	Capability    string              `json:"capability,omitempty"`
	Attributes    map[string][]string `json:"attributes,omitempty"` // language_support counts as language
}

// ToolCall is one request to one server.
type ToolCall struct {
	Tool      string
	Arguments map[string]any
	Meta      map[string]any                                // added to _meta, for example the idempotency key
	Idle, Max time.Duration                                 // reset by progress · never reset; queueing included
	Progress  func(progress, total float64, message string) // nil: not asked for; must not block
	// OnTask is told of the task that the server made of the call, before it is
	// waited for; its error ends the wait, and the task goes on. nil: no server is
	// told that it may make a task of the call, and a task is MCP_OUTPUT_INVALID.
	OnTask func(context.Context, state.RemoteTask) error
	// Attach is the task of an earlier call of the same tool at the same server:
	// nothing is called, its end is waited for. A task that the server does not know
	// any more is MCP_SERVER_ERROR with an unknown execution.
	Attach *state.RemoteTask
	// MayAsk says that somebody can answer what the server asks for in the middle of
	// the call: a server of the stateless protocol is told so, and its question is
	// the result (ToolResult.Input).
	MayAsk bool
	// Input are the answers to what the server asked for in an earlier round.
	Input *InputAnswers
	// Ask answers an elicitation of the earlier protocol, whose call stays open
	// meanwhile: its idle clock stands still, its maximum does not. ctx ends with the
	// call. nil: elicitations are declined.
	Ask func(ctx context.Context, q Question) (QuestionAnswer, error)
	// Session is the handle (Description.Session.ID) of the session that the call
	// must be part of; where it has ended nothing is sent, and the call fails with
	// MCP_SESSION_EXPIRED. "": any, and one that was lost is made anew.
	Session string
}

// ToolResult is a server's answer.
type ToolResult struct {
	Structured any    // values of package value; nil: none
	Text       string // text blocks joined by newlines
	Content    []any  // the content blocks as values
	IsError    bool
	Duration   time.Duration // the server's own, where it said so; else 0
	// Input is what the server asks for before it goes on; non-nil: there is no
	// result yet, and the other fields are empty but Duration.
	Input *state.Input
}

// InputAnswers continue a call that its server interrupted with questions.
type InputAnswers struct {
	Responses map[string]json.RawMessage // by the server's key: the result of what it requested
	State     *string                    // of the [state.Input], as it was
}

// Question is an elicitation: what a server asks a person (MCP's form mode, or a
// URL to be opened).
type Question struct {
	Message string
	Schema  json.RawMessage // of the answer's content; nil: none asked for
	URL     string          // to be opened by the person; "": form mode
}

// QuestionAnswer is what a person did with a [Question].
type QuestionAnswer struct {
	Action  string          // "accept", "decline" or "cancel"
	Content json.RawMessage // of an accepted form
}

// Caller speaks to servers. It connects a server once and shares the
// connection; one that dies is restarted or redialled with back-off; one that
// hangs blocks no call to another.
type Caller interface {
	// Describe returns the current description, connecting first if need be.
	Describe(ctx context.Context, s *Server) (*Description, error)
	// Call makes one request. Every error is a *CallError.
	Call(ctx context.Context, s *Server, c ToolCall) (*ToolResult, error)
}

// Forgetter is a [Caller] that wants to know which servers have left. Forget ends
// the connection to one; calls in flight on it finish. It must not block.
type Forgetter interface {
	Forget(id string)
}

// endpoint is the URL without user, query and fragment, any of which may hold a
// credential; "" for a command.
func (d Dial) endpoint() string {
	if d.URL == "" {
		return ""
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		return "" // what cannot be read cannot be trusted to hold no secret
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return bare.String()
}
