package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/examples/codereview/gitdiff"
	"junction/examples/codereview/ledger"
	"junction/examples/codereview/report"
	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/rustreview"
)

// safe marks a tool that changes nothing.
func safe() mcp.ToolOption {
	return mcp.WithToolAnnotation(mcp.ToolAnnotation{
		ReadOnlyHint:    mcp.ToBoolPtr(true),
		DestructiveHint: mcp.ToBoolPtr(false),
		IdempotentHint:  mcp.ToBoolPtr(true),
		OpenWorldHint:   mcp.ToBoolPtr(false),
	})
}

func schemas(in, out string) mcp.ToolOption {
	return func(t *mcp.Tool) {
		t.RawInputSchema, t.RawOutputSchema = json.RawMessage(in), json.RawMessage(out)
		t.InputSchema = mcp.ToolInputSchema{}
	}
}

func reviewTool(o Options, v reviewer.Reviewer) mcpserver.ServerTool {
	tool := mcp.NewTool("review",
		mcp.WithDescription("Review one file and report its faults, each with line and column."),
		schemas(reviewInput, reviewOutput), safe())
	return mcpserver.ServerTool{Tool: tool, Handler: handler(func(ctx context.Context, r reviewer.Request) (reviewer.Review, error) {
		if r.Context.Repo != "" {
			r.Context.Repo = resolve(o.Dir, r.Context.Repo)
		}
		return v.Review(ctx, r)
	})}
}

func diffTool(o Options) mcpserver.ServerTool {
	type input struct {
		Repo string `json:"repo"`
	}
	tool := mcp.NewTool("diff",
		mcp.WithDescription("List the files of a git repository's last change with their contents, and those that are skipped with the reason."),
		schemas(diffInput, diffOutput), safe())
	return mcpserver.ServerTool{Tool: tool, Handler: handler(func(ctx context.Context, in input) (*gitdiff.Diff, error) {
		opts := &gitdiff.Options{}
		if err := rustreview.Available(); err != nil {
			opts.Unavailable = map[string]string{reviewer.Rust: err.Error()}
		}
		return gitdiff.Read(ctx, resolve(o.Dir, in.Repo), opts)
	})}
}

func reportTool() mcpserver.ServerTool {
	tool := mcp.NewTool("render",
		mcp.WithDescription("Write findings as a Markdown report."),
		schemas(reportInput, reportOutput), safe())
	return mcpserver.ServerTool{Tool: tool, Handler: handler(func(_ context.Context, in report.Input) (report.Output, error) {
		return report.Render(in), nil
	})}
}

func publishTool(o Options, l *lazyLedger) mcpserver.ServerTool {
	type input struct {
		Key string `json:"idempotencyKey"`
		ledger.Publication
	}
	tool := mcp.NewTool("publish",
		mcp.WithDescription("Publish a text, once for each idempotency key, and write it to a file if a path is given."),
		schemas(publishInput, publishOutput),
		mcp.WithToolAnnotation(mcp.ToolAnnotation{
			ReadOnlyHint:    mcp.ToBoolPtr(false),
			DestructiveHint: mcp.ToBoolPtr(true),
			IdempotentHint:  mcp.ToBoolPtr(true),
			OpenWorldHint:   mcp.ToBoolPtr(false),
		}))
	return mcpserver.ServerTool{Tool: tool, Handler: handler(func(ctx context.Context, in input) (ledger.Receipt, error) {
		open, err := l.open(ctx)
		if err != nil {
			return ledger.Receipt{}, outage{err}
		}
		if in.Path != "" {
			in.Path = resolve(o.Dir, in.Path)
		}
		r, err := open.Publish(ctx, in.Key, in.Publication)
		switch {
		case errors.Is(err, ledger.ErrConflict):
			return r, refusal{conflict, err}
		case errors.Is(err, ledger.ErrInProgress):
			return r, refusal{inProgress, err}
		case err != nil:
			return r, outage{err}
		}
		return r, nil
	})}
}

func executionsTool(l *lazyLedger) mcpserver.ServerTool {
	tool := mcp.NewTool("executions",
		mcp.WithDescription("Tell how often each idempotency key was executed."),
		schemas(executionsInput, executionsOutput), safe())
	return mcpserver.ServerTool{Tool: tool, Handler: handler(func(ctx context.Context, _ struct{}) (ledger.Executions, error) {
		open, err := l.open(ctx)
		if err != nil {
			return ledger.Executions{}, err
		}
		return open.Executions(ctx)
	})}
}

// lazyLedger opens its file with the first call, so that a server nobody calls
// leaves none behind.
type lazyLedger struct {
	path string

	mu     sync.Mutex
	ledger *ledger.Ledger
	closed bool
}

func (l *lazyLedger) open(ctx context.Context) (*ledger.Ledger, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("the server is ending")
	}
	if l.ledger != nil {
		return l.ledger, nil
	}
	opened, err := ledger.Open(ctx, l.path)
	if err != nil {
		return nil, err
	}
	l.ledger = opened
	return opened, nil
}

// room says why a ledger cannot be made at the path.
func (l *lazyLedger) room() error {
	for dir := filepath.Dir(l.path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil:
			return fmt.Errorf("ledger %s: %s is no directory; choose another place with --ledger", l.path, dir)
		case !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir):
			return fmt.Errorf("ledger %s: %w", l.path, err)
		}
	}
}

func (l *lazyLedger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.ledger == nil {
		return nil
	}
	return l.ledger.Close()
}
