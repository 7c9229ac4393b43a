package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/examples/codereview/goreview"
	"junction/examples/codereview/jsreview"
	"junction/examples/codereview/pyreview"
	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/rustreview"
	"junction/examples/codereview/secrets"
	"junction/examples/inventory"
	"junction/router"
	"junction/router/traces"
	"junction/state"
)

// version of the example servers, as they tell it.
const version = "0.1.0"

// routingKey is the extension under which a server declares how to route to it.
const routingKey = "dev.junction/routing"

// ledgerKeeps is how long a ledger says it keeps keys. This one removes none.
const ledgerKeeps = 720 * time.Hour

// Server is one MCP server. Close removes what its tools keep.
type Server struct {
	o      Options
	name   string
	mcp    *mcpserver.MCPServer
	faults *faults
	offer  router.Offer
	more   []router.Offer   // beside offer
	stock  *inventory.Stock // nil: no inventory
	health *health
	counts *counts
	tracer *traces.Tracer // nil: no traces are asked for
	close  []func() error // in this order
}

// New builds a server; a reviewer whose tool this machine lacks is an error.
func New(o Options) (*Server, error) {
	s := &Server{o: o, name: o.Name, faults: newFaults(o)}
	if s.name == "" {
		s.name = "review-" + o.Reviewer
	}
	tools, probe, err := s.tools(o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.counts = newCounts(s.name)
	s.health = newHealth(s.offer.Capability, s.faults.probed(probe))
	s.close = append([]func() error{s.health.close}, s.close...)
	routing := map[string]any{"max_concurrent_requests": o.Capacity, "capability": s.offer.Capability}
	if len(s.offer.Attributes) > 0 {
		routing["attributes"] = s.offer.Attributes
	}
	if o.Latency > 0 {
		routing["latency_p95_ms"] = o.Latency.Milliseconds()
	}
	options := []mcpserver.ServerOption{
		mcpserver.WithToolCapabilities(false),
		mcpserver.WithInputSchemaValidation(),
		mcpserver.WithRecovery(),
		mcpserver.WithExtensions(map[string]any{routingKey: routing}),
		mcpserver.WithToolHandlerMiddleware(s.middleware),
	}
	hooks := &mcpserver.Hooks{}
	if s.stock != nil {
		options, hooks = append(options, mcpserver.WithResourceCapabilities(true, false)), inventory.Hooks(s.stock)
	}
	s.counts.watch(hooks)
	s.mcp = mcpserver.NewMCPServer(s.name, o.version(), append(options, mcpserver.WithHooks(hooks))...)
	s.mcp.AddTools(tools...)
	if s.stock != nil {
		inventory.Equip(s.mcp, s.stock)
	}
	return s, nil
}

// Close ends what the tools keep.
func (s *Server) Close() error {
	var errs []error
	for _, c := range s.close {
		errs = append(errs, c())
	}
	s.close = nil
	return errors.Join(errs...)
}

// tools returns a server's tools and the probe of its capability, and says what
// it offers.
func (s *Server) tools(o Options) ([]mcpserver.ServerTool, func(context.Context) error, error) {
	switch o.Reviewer {
	case "diff":
		s.offer = router.Offer{Capability: "diff", Tool: "diff", Effect: state.Safe}
		return []mcpserver.ServerTool{diffTool(o)}, probeDiff, nil
	case "report":
		s.offer = router.Offer{Capability: "report", Tool: "render", Effect: state.Safe}
		return []mcpserver.ServerTool{reportTool()}, probeReport, nil
	case "ledger":
		l := &lazyLedger{path: resolve(o.Dir, o.Ledger)}
		s.close = append(s.close, l.close)
		s.offer = router.Offer{
			Capability: "publish", Tool: "publish", Effect: state.Conditional, Key: "idempotencyKey",
			Ledger: router.Ledger{Name: o.Fleet.LedgerName, Keeps: ledgerKeeps},
		}
		return []mcpserver.ServerTool{publishTool(o, l), executionsTool(l)}, l.probe, nil
	case "inventory":
		return s.inventory(o)
	}
	v, err := newReviewer(o)
	if err != nil {
		return nil, nil, err
	}
	s.close = append(s.close, v.Close)
	s.offer = router.Offer{
		Capability: "code-review", Tool: "review", Effect: state.Safe,
		Attributes: map[string][]string{"language": v.Languages(), "review_depth": {string(o.Depth)}},
	}
	return []mcpserver.ServerTool{reviewTool(o, v)}, probeReview(v), nil
}

// inventory serves the stock of the example of that name.
func (s *Server) inventory(o Options) ([]mcpserver.ServerTool, func(context.Context) error, error) {
	stock, err := inventory.Open(context.Background(), resolve(o.Dir, o.Ledger))
	if err != nil {
		return nil, nil, err
	}
	s.close = append(s.close, stock.Close)
	s.offer = router.Offer{
		Capability: "reservation", Tool: "reserve_inventory", Effect: state.Conditional, Key: "idempotencyKey",
		Ledger: router.Ledger{Name: o.Fleet.LedgerName, Keeps: 24 * time.Hour},
	}
	s.more = []router.Offer{{Capability: "inventory", Tool: "get_inventory", Effect: state.Safe}}
	s.stock = stock
	tools, err := inventory.Tools(stock)
	return tools, stock.Check, err
}

func newReviewer(o Options) (reviewer.Reviewer, error) {
	switch o.Reviewer {
	case "go":
		return goreview.New(&goreview.Options{Depth: o.Depth}), nil
	case "js":
		return jsreview.New(), nil
	case "python":
		return pyreview.New(), nil
	case "secrets":
		return secrets.New(), nil
	case "rust":
		return rustreview.New()
	}
	return nil, fmt.Errorf("no reviewer %q", o.Reviewer)
}

// outage is a failure of the server and not an answer of its tool: a tool's
// error is final under an idempotency key, and a full disk must not be.
type outage struct{ error }

func (o outage) Unwrap() error { return o.error }

// refusal is a tool's own error with a code that a client can act on. These two
// are what Junction reads of a server that deduplicates by key.
type refusal struct {
	code string
	error
}

const (
	conflict   = "idempotency_conflict"    // the key stands for other arguments
	inProgress = "idempotency_in_progress" // a call with the key is under way: wait, and ask again with it
)

func (r refusal) Unwrap() error { return r.error }

func (r refusal) result() *mcp.CallToolResult {
	result := mcp.NewToolResultStructured(map[string]any{"code": r.code, "message": r.Error()}, r.Error())
	result.IsError = true
	return result
}

// handler makes a tool's handler of a function from arguments to an answer.
// What the function returns as an error is the tool's own, unless it is an outage.
func handler[In, Out any](f func(context.Context, In) (Out, error)) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw, err := json.Marshal(r.GetArguments())
		if err != nil {
			return nil, err
		}
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return mcp.NewToolResultError("arguments: " + err.Error()), nil //nolint:nilerr // the caller's fault is the tool's answer
		}
		out, err := f(ctx, in)
		if down := (outage{}); errors.As(err, &down) {
			return nil, down.error
		}
		if no := (refusal{}); errors.As(err, &no) {
			return no.result(), nil
		}
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultStructuredOnly(out), nil
	}
}

// resolve takes a relative path from a directory.
func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
