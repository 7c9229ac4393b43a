package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"junction/cmd/junction/internal/view"
	"junction/state"
)

// cli is the command line; every verb has a file of its own.
type cli struct {
	Run           runCmd           `cmd:"" help:"Run a workflow file."`
	Resume        resumeCmd        `cmd:"" help:"Go on with a thread where it stopped; answer its questions."`
	Serve         serveCmd         `cmd:"" help:"Run queued threads as one worker of a fleet; take over those of dead workers."`
	Proxy         proxyCmd         `cmd:"" help:"Serve an MCP client and keep its connection whole while the servers behind it die, restart and move."`
	Cancel        cancelCmd        `cmd:"" help:"Ask whoever runs a thread to stop."`
	Threads       threadsCmd       `cmd:"" help:"List threads, newest first, and the questions that wait."`
	History       historyCmd       `cmd:"" help:"Show which server did what, how long and with which errors."`
	Explain       explainCmd       `cmd:"" help:"Say why each server was chosen, and why a run failed."`
	Validate      validateCmd      `cmd:"" help:"Check a workflow file and its servers file; report every fault."`
	Graph         graphCmd         `cmd:"" help:"Draw a workflow as a mermaid flowchart."`
	Servers       serversCmd       `cmd:"" help:"Show the servers, what they offer and whether they answer."`
	Route         routeCmd         `cmd:"" help:"Show which server a capability would go to, and why."`
	Review        reviewCmd        `cmd:"" help:"Judge a server before it is trusted with effects: risks, races, retries, bounds."`
	Diagnose      diagnoseCmd      `cmd:"" help:"Say what is wrong with a server, layer by layer: network, endpoint, document, credentials, TLS, proxies."`
	Lab           labCmd           `cmd:"" help:"Compare ways of choosing servers in a simulation, on the gates or on recorded calls."`
	Version       versionCmd       `cmd:"" help:"Print the version."`
	ExampleServer exampleServerCmd `cmd:"" name:"example-server" passthrough:"" help:"Serve one of the code-review example's MCP servers (used by examples/codereview)."`
}

// Exit codes of every verb.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2 // bad usage or a bad file
	exitWaiting   = 3 // waits for an answer
	exitCancelled = 4
)

// exitError ends the command with a code. Its error, if any, is printed.
type exitError struct {
	code int
	err  error
	next string // what to try
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks err as bad usage or a bad file.
func usage(err error) error { return &exitError{code: exitUsage, err: err} }

// failed marks err as a failure, with a next step.
func failed(err error, next string, args ...any) error {
	return &exitError{code: exitFailed, err: err, next: fmt.Sprintf(next, args...)}
}

// run parses args, runs the verb and returns the exit code.
func run(args []string, con console) (code int) {
	type helpShown struct{}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case helpShown: // kong printed the help and asked to exit
			code = exitDone
		default:
			panic(r)
		}
	}()
	parser, err := kong.New(&cli{},
		kong.Name("junction"),
		kong.Description("Durable workflows across MCP servers: never twice, never lost, and it can tell you why it chose.\n\n"+
			"Example: junction run examples/codereview/review.yaml --set repo=."),
		kong.Writers(con.out, con.err),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Bind(con),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintf(con.err, "junction: %v\n", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		verb := ""
		var perr *kong.ParseError
		if errors.As(err, &perr) && perr.Context != nil && perr.Context.Selected() != nil {
			verb = " " + perr.Context.Selected().Name
		}
		return exitCode(&exitError{code: exitUsage, err: err, next: "junction" + verb + " --help"}, con, wantsJSON(args))
	}
	ctx, stop := withSignals(context.Background(), con)
	defer stop()
	kctx.BindTo(ctx, (*context.Context)(nil))
	return exitCode(kctx.Run(), con, wantsJSON(args))
}

// wantsJSON reports whether a program reads what is printed on stdout.
func wantsJSON(args []string) bool { return slices.Contains(args, "--json") }

// exitCode prints err for people, and for programs where they asked for JSON and
// got no other document, and says how the process ends.
func exitCode(err error, con console, asJSON bool) int {
	if err == nil {
		return exitDone
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: exitFailed, err: err}
		if isBadFile(err) {
			e.code = exitUsage
		}
	}
	if e.err != nil {
		fmt.Fprintf(con.err, "junction: %s\n", clean(e.err.Error()))
		if asJSON {
			failure := state.FailureOf(e.err)
			if e.code == exitUsage {
				failure.Code = "usage"
			}
			if err := view.JSON(con.out, map[string]any{"error": view.NewProblem(failure, e.next)}); err != nil {
				fmt.Fprintf(con.err, "junction: %v\n", err)
			}
		}
	}
	if e.next != "" {
		fmt.Fprintf(con.err, "  try: %s\n", e.next)
	}
	return e.code
}
