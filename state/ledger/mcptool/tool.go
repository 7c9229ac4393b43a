package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/state/ledger"
)

// Where a call carries its key unless Options say otherwise: the argument, else
// the member of _meta in which Junction's router sends it unasked.
const (
	DefaultArgument = "idempotencyKey"
	DefaultMeta     = "_meta.dev.junction/idempotency-key"
)

// MetaName is the member of a result's _meta that tells of its execution.
const MetaName = "dev.junction/ledger"

// Options configure a tool; nil is the zero value.
type Options struct {
	// Key is the argument that carries the key, or "_meta.NAME". "": DefaultArgument
	// or DefaultMeta.
	Key string
	// Keyless lets a call without a key run, with no protection. The zero value
	// refuses it.
	Keyless bool
	// Ignore are arguments that may differ between two tries of one intent, or that
	// must not even be fingerprinted.
	Ignore []string
	// Secrets are paths (ledger.ParsePaths) in structured content, and in text that
	// is JSON, of what is replaced by ledger.Masked in what is stored and answered.
	// Other text has the same values replaced.
	Secrets []string
	// FreeOnError makes a tool's own error free its key, where the handler promises
	// that it changed nothing.
	FreeOnError bool
}

// Tool wraps handlers.
type Tool struct {
	ledger  *ledger.Ledger
	o       Options
	places  []string
	secrets ledger.Paths
}

// New returns what wraps handlers in a ledger.
func New(l *ledger.Ledger, o *Options) (*Tool, error) {
	t := &Tool{ledger: l, places: []string{DefaultArgument, DefaultMeta}}
	if o != nil {
		t.o = *o
	}
	if t.o.Key != "" {
		t.places = []string{t.o.Key}
	}
	var err error
	if t.secrets, err = ledger.ParsePaths(t.o.Secrets...); err != nil {
		return nil, fmt.Errorf("secrets of a tool: %w", err)
	}
	return t, nil
}

// Handle is a server.ToolHandlerMiddleware.
func (t *Tool) Handle(next mcpserver.ToolHandlerFunc) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if readOnly(ctx, r.Params.Name) {
			return next(ctx, r)
		}
		key, err := t.key(r)
		switch {
		case errors.Is(err, errNoKey) && t.o.Keyless:
			return next(ctx, r)
		case err != nil:
			return refusal(codeMissing, err.Error()), nil
		}
		fingerprint, err := t.fingerprint(r)
		if err != nil {
			return mcp.NewToolResultError("arguments: " + err.Error()), nil //nolint:nilerr // the caller's fault is the answer
		}
		var unfinished *mcp.CallToolResult
		a, err := t.ledger.Do(ctx, ledger.Call{Key: key, Fingerprint: fingerprint}, func(ctx context.Context, run ledger.Run) (any, error) {
			result, err := next(context.WithValue(ctx, runKey{}, run), r)
			switch {
			case err != nil:
				return nil, err
			case result == nil:
				return nil, fmt.Errorf("%w: the tool returned nothing", ledger.ErrUnsure)
			case result.ResultType == mcp.ResultTypeInputRequired:
				unfinished = result
				return nil, errUnfinished
			}
			return t.stored(result)
		})
		if errors.Is(err, errUnfinished) && unfinished != nil {
			return unfinished, nil
		}
		return answer(a, err)
	}
}

// RunOf tells a handler of the run that it is in: its receipt, and whether an
// earlier one may have happened. ok is false where it runs without a key.
func RunOf(ctx context.Context) (r ledger.Run, ok bool) {
	r, ok = ctx.Value(runKey{}).(ledger.Run)
	return r, ok
}

type runKey struct{}

var (
	errNoKey      = fmt.Errorf("%w: send one, the same for every try of one intent", ledger.ErrNoKey)
	errTwoKeys    = fmt.Errorf("%w: the arguments and _meta carry different ones", ledger.ErrNoKey)
	errUnfinished = errors.New("the tool asks for input")
)

// readOnly reports a tool that its server declares to change nothing.
func readOnly(ctx context.Context, name string) bool {
	s := mcpserver.ServerFromContext(ctx)
	if s == nil {
		return false
	}
	tool := s.GetTool(name)
	return tool != nil && tool.Tool.Annotations.ReadOnlyHint != nil && *tool.Tool.Annotations.ReadOnlyHint
}

// key finds the key of a call.
func (t *Tool) key(r mcp.CallToolRequest) (string, error) {
	var key string
	for _, place := range t.places {
		var found any
		if name, meta := strings.CutPrefix(place, "_meta."); meta {
			found = r.Params.Meta.GetMetaField(name)
		} else {
			found = r.GetArguments()[place]
		}
		text, isText := found.(string)
		switch {
		case found == nil || isText && text == "":
		case !isText:
			return "", fmt.Errorf("%w: %s is no text", ledger.ErrNoKey, place)
		case key != "" && key != text:
			return "", errTwoKeys
		default:
			key = text
		}
	}
	if key == "" {
		return "", errNoKey
	}
	return key, nil
}

// fingerprint stands for the tool and its arguments, as they came.
func (t *Tool) fingerprint(r mcp.CallToolRequest) (string, error) {
	arguments := r.GetRawArguments()
	if raw, ok := arguments.(json.RawMessage); ok && string(raw) == "null" || arguments == nil {
		arguments = map[string]any{} // none
	}
	without := append([]string{}, t.o.Ignore...)
	for _, place := range t.places {
		if !strings.HasPrefix(place, "_meta.") {
			without = append(without, place)
		}
	}
	return ledger.Fingerprint(r.Params.Name, arguments, without...)
}
