package review

import (
	"slices"
	"strings"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Settings are what a review is made under.
type Settings struct {
	Client    mcp.Policy    // of the client that speaks to the server
	Idle, Max time.Duration // clocks that calls set themselves; 0: the router's
	// Strays is what the server sent unasked while it was described (Client.Strays).
	Strays map[mcp.Stray]uint64
	// InFile says that the servers file has offers for the service in Consul that
	// the server is an instance of.
	InFile bool
}

// Review is the reliability review of one server.
type Review struct {
	Server    Server            `json:"server"`
	Findings  []Finding         `json:"findings"` // risks first
	Tools     []Tool            `json:"tools"`    // offered ones first
	Retry     []router.RetryRow `json:"retry"`    // codes × effects
	Clocks    Clocks            `json:"clocks"`
	Transport Transport         `json:"transport"`
	Races     []Race            `json:"races"`
	Queue     []Bound           `json:"queue"`
	Flow      []Bound           `json:"flow"`
	Recovery  Recovery          `json:"recovery"`
	Faults    []Fault           `json:"faults"`
}

// Server is who is reviewed.
type Server struct {
	ID       string `json:"id"`
	Endpoint string `json:"endpoint,omitempty"` // without credentials; "": a command
	Source   string `json:"source"`             // file or consul
	Name     string `json:"name,omitempty"`     // as the server calls itself
	Version  string `json:"version,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Trusted  bool   `json:"trusted"`         // its own effect hints count
	Pinned   bool   `json:"pinned"`          // its tools are called only as they were approved
	Error    string `json:"error,omitempty"` // why it could not be described
}

// Tool is one operation of the server.
type Tool struct {
	Capability    string       `json:"capability,omitempty"` // "": called by its name only
	Name          string       `json:"tool"`
	Missing       bool         `json:"missing,omitempty"` // offered, and the server has none of that name
	Held          string       `json:"held,omitempty"`    // why it is not called: it is not as approved
	Effect        state.Effect `json:"effect"`
	From          string       `json:"from"`  // who said the effect
	Hints         []string     `json:"hints"` // what the server says of it: reads, writes, idempotent
	Key           string       `json:"key,omitempty"`
	Ledger        string       `json:"ledger,omitempty"`
	KeepsMS       int64        `json:"keeps_ms,omitempty"`
	Sharing       []string     `json:"sharing,omitempty"` // other servers that deduplicate with it
	Verify        string       `json:"verify,omitempty"`  // the tool that tells whether a call took effect
	Boundary      string       `json:"boundary"`          // within which a call happens once
	LatencyP95MS  int64        `json:"latency_p95_ms,omitempty"`
	MaxConcurrent int          `json:"max_concurrent,omitempty"` // 0: undeclared
	Input         bool         `json:"input_schema"`
	Output        bool         `json:"output_schema"` // of the tool, or the capability's contract
	Retry         []Next       `json:"retry"`         // what follows each code for this tool
	terms         *router.Terms
}

// Next is what follows a failure of one tool.
type Next struct {
	Code      router.Code     `json:"code"`
	Execution state.Execution `json:"execution"`
	Next      router.Step     `json:"next"`
}

// Clocks are the two of an attempt.
type Clocks struct {
	IdleMS int64 `json:"idle_ms"` // set back by progress that rises, by nothing else
	MaxMS  int64 `json:"max_ms"`  // never set back; queueing and connecting count
}

// New reviews a server.
func New(in *router.Inspection, s Settings) *Review {
	idle, maximum := in.Policy.Idle, in.Policy.Max
	switch {
	case s.Idle > 0 && s.Max > 0:
		idle, maximum = s.Idle, s.Max
	case s.Idle > 0:
		idle, maximum = s.Idle, max(s.Idle, maximum)
	case s.Max > 0:
		idle, maximum = s.Max, s.Max
	}
	rv := &Review{
		Server: Server{
			ID: in.Server.ID, Endpoint: in.Server.Endpoint(), Source: in.Server.Source, Trusted: in.Server.Trusted, Pinned: in.Server.Approval != "",
		},
		Clocks: Clocks{idle.Milliseconds(), maximum.Milliseconds()},
		Retry:  router.RetryTable(),
		Races:  Races(KindOf(in.Server, in.Description)),
		Queue:  queue(&in.Policy, &s.Client, in.Terms),
		Flow:   flow(&s.Client, KindOf(in.Server, in.Description)),
		Faults: slices.Clone(Faults),
	}
	if d := in.Description; d != nil {
		rv.Server.Name, rv.Server.Version, rv.Server.Protocol = d.Name, d.Version, d.ProtocolVersion
	}
	if in.Err != nil {
		rv.Server.Error = in.Err.Error()
	}
	rv.Transport = transport(in)
	rv.Recovery = recovery(in, &s.Client)
	for i := range in.Terms {
		rv.Tools = append(rv.Tools, tool(in, &in.Terms[i], rv.Retry, s.InFile))
	}
	rv.Findings = findings(&look{in: in, rv: rv, clocks: clocks{idle, maximum}, strays: s.Strays})
	return rv
}

// clocks of the calls under review.
type clocks struct{ idle, max time.Duration }

func tool(in *router.Inspection, m *router.Terms, table []router.RetryRow, inFile bool) Tool {
	t := Tool{
		Capability: m.Capability, Name: m.Name, Missing: m.Tool == nil && in.Err == nil, Effect: m.Effect,
		From: from(in.Server, m, inFile), Key: m.Key, Ledger: m.Ledger.Name, KeepsMS: m.Ledger.Keeps.Milliseconds(), Sharing: m.Sharing,
		Held:     in.Held[m.Name],
		Boundary: boundary(m), LatencyP95MS: m.LatencyP95.Milliseconds(), MaxConcurrent: m.MaxConcurrent,
		Output: len(m.Contract.Output) > 0, terms: m,
	}
	if m.Tool != nil {
		t.Input = len(m.Tool.InputSchema) > 0
		t.Output = t.Output || len(m.Tool.OutputSchema) > 0
	}
	if v := m.Offer.Verify; v != nil {
		t.Verify = v.Tool
	}
	t.Hints = hints(&t)
	for _, row := range table {
		t.Retry = append(t.Retry, Next{row.Code, row.Execution, row.Next(m.Effect)})
	}
	return t
}

// hints are the server's own words on a tool's effect, whether they count or not.
func hints(t *Tool) []string {
	said := []string{} // none is a list, too
	if t.reads() {
		said = append(said, "reads")
	}
	if t.writes() {
		said = append(said, "writes")
	}
	if m := t.terms.Tool; m != nil && m.Idempotent != nil && *m.Idempotent {
		said = append(said, "idempotent")
	}
	return said
}

// from says who said a tool's effect.
func from(s *router.Server, m *router.Terms, inFile bool) string {
	switch {
	case m.From == router.Hinted:
		return "the server's hint, which is trusted"
	case m.From == router.Unsaid && m.Capability == "":
		return "nobody (called by name)"
	case m.From == router.Unsaid:
		return "nobody, so it is unsafe"
	case s.Source == "consul" && !inFile:
		return "Consul, which is trusted"
	}
	return "the servers file"
}

// boundary says within what a call of the tool happens once.
func boundary(m *router.Terms) string {
	switch m.Effect {
	case state.Safe:
		return "none needed: it may run any number of times"
	case state.Conditional:
		alone := "no other server shares it"
		if len(m.Sharing) > 0 {
			alone = "shared with " + strings.Join(m.Sharing, ", ")
		}
		return "the ledger " + m.Ledger.Name + ", for " + span(m.Ledger.Keeps) + " after the first attempt; " + alone
	}
	if m.Offer.Verify != nil {
		return "one attempt; " + m.Offer.Verify.Tool + " says whether it took effect"
	}
	return "one attempt; then a person says whether it took effect"
}

// span is a duration without its zeros: 24h, not 24h0m0s.
func span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
