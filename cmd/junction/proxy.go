package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

type proxyCmd struct {
	Command []string `arg:"" optional:"" help:"Command of a stdio server and its arguments, behind --."`
	URL     string   `name:"url" placeholder:"URL" help:"Address of one server."`
	Header  []string `sep:"none" placeholder:"\"NAME: VALUE\"" help:"With --url: a header of each request (repeatable); $${NAME} in it is an environment variable's value."`
	Env     []string `sep:"none" placeholder:"NAME[=VALUE]" help:"With a command: a variable of its environment (repeatable), else it gets PATH, HOME, locale and a temporary directory only; without a value it is ours."`
	Server  []string `placeholder:"NAME" help:"Server of the servers file or of Consul (repeatable); several are one to the client."`

	Capability []string `placeholder:"NAME" help:"Capability that becomes a tool (repeatable): each call goes to whichever server is best then."`
	Need       []string `sep:"none" placeholder:"KEY=VALUE" help:"With --capability: attribute that must match (repeatable)."`
	Prefer     []string `sep:"none" placeholder:"KEY=VALUE" help:"With --capability: attribute that raises the score (repeatable)."`
	Store      string   `placeholder:"ADDRESS" env:"JUNCTION_STORE" help:"With --capability: where its calls are recorded. Default: what the servers file says, else sqlite:.junction/state.db."`

	PingInterval *span `placeholder:"D" help:"Silence before a heartbeat, 0 for none; a bare number is milliseconds. Default: the servers file's, else 20s."`
	PingTimeout  *span `placeholder:"D" help:"Time for a heartbeat; three missed in a row are an end. Default: 5s."`
	Queue        int   `placeholder:"N" help:"Requests that wait for one server that is away. Default: 100."`
	Wait         *span `placeholder:"D" help:"How long they wait, then they have an error that says who is away. Default: 50s; many clients give up after 60s."`
	TrustHints   bool  `help:"A server's own readOnlyHint and idempotentHint count as its tools' effects."`

	LogLevel string `enum:"debug,info,warn,error" default:"info" help:"What is told on stderr: debug, info, warn or error."`
	Quiet    bool   `help:"Errors only, on stderr."`
	configFlag
}

func (*proxyCmd) Help() string {
	return `Serves an MCP client over stdin and stdout, and keeps its connection whole while the servers behind
it die, restart and move: requests wait meanwhile, and a call whose outcome nobody knows is made again
only where its tool is declared safe, or conditional and its key is in the call. Say what is behind it in
one way:

  junction proxy --url https://docs.example.com/mcp          one server over HTTP
  junction proxy -- npx -y @modelcontextprotocol/server-memory    one over stdio
  junction proxy --config junction.yaml                      all of a servers file, as one
  junction proxy --server docs --server search               some of them
  junction proxy --capability code-review --need language=go whichever server is best, call by call

In the client's own configuration:

  {"mcpServers": {"docs": {"command": "junction", "args": ["proxy", "--url", "https://docs.example.com/mcp"]}}}

Credentials other than a header stand in the servers file (auth), and so may what is said of effects,
and the values of heartbeats, queue and wait under proxy. None of these three, nor --trust-hints, goes
with --capability. Names of tools get their server's before them where two servers have the same. The
calls of --capability are in "junction history". It ends with its client, 0 then.`
}

// span is a length of time, of which a bare number is milliseconds (R37).
type span time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n >= 0 && n <= int64(24*time.Hour/time.Millisecond) {
		*s = span(time.Duration(n) * time.Millisecond)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no length of time such as 20s, nor a number of milliseconds", text)
	}
	*s = span(d)
	return nil
}

// Ways to say what stands behind a proxy.
type proxyMode int

const (
	proxyURL proxyMode = iota
	proxyCommand
	proxyServers
	proxyCapability
)

func (c *proxyCmd) mode() (proxyMode, error) {
	var modes []proxyMode
	for mode, said := range map[proxyMode]bool{
		proxyURL: c.URL != "", proxyCommand: len(c.Command) > 0, proxyCapability: len(c.Capability) > 0,
		proxyServers: len(c.Server) > 0 || len(c.Capability) == 0 && (c.Config != "" || c.Consul != ""),
	} {
		if said {
			modes = append(modes, mode)
		}
	}
	if len(modes) != 1 {
		how := "nothing says what is behind it"
		if len(modes) > 1 {
			how = "it is said in more than one way what is behind it"
		}
		return 0, errors.New(how + ": give --url URL, or -- COMMAND ARGS…, or --config FILE (with --server NAME for some of its servers), or --capability NAME")
	}
	return modes[0], c.belong(modes[0])
}

// belong refuses flags of another way.
func (c *proxyCmd) belong(mode proxyMode) error {
	var faults []error
	for _, f := range []struct {
		flag  string
		given bool
		of    proxyMode
		with  string
	}{
		{"--header", len(c.Header) > 0, proxyURL, "--url; a server of the servers file has its headers there"},
		{"--env", len(c.Env) > 0, proxyCommand, "a command"},
		{"--need", len(c.Need) > 0, proxyCapability, "--capability"},
		{"--prefer", len(c.Prefer) > 0, proxyCapability, "--capability"},
	} {
		if f.given && f.of != mode {
			faults = append(faults, fmt.Errorf("%s needs %s", f.flag, f.with))
		}
	}
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"--ping-interval", c.PingInterval != nil}, {"--ping-timeout", c.PingTimeout != nil},
		{"--queue", c.Queue != 0}, {"--wait", c.Wait != nil}, {"--trust-hints", c.TrustHints},
	} {
		if f.given && mode == proxyCapability {
			faults = append(faults, fmt.Errorf("%s means nothing with --capability: each of its calls looks for a server itself", f.flag))
		}
	}
	for _, f := range []struct {
		flag string
		d    *span
	}{{"--ping-timeout", c.PingTimeout}, {"--wait", c.Wait}} {
		if f.d != nil && *f.d == 0 {
			faults = append(faults, fmt.Errorf("%s 0: a length of time above zero", f.flag))
		}
	}
	if c.Queue < 0 {
		faults = append(faults, fmt.Errorf("--queue %d: at least 1", c.Queue))
	}
	return errors.Join(faults...)
}

// Run serves the client until it has gone, or a signal ends that.
func (c *proxyCmd) Run(ctx context.Context, con console) error {
	mode, err := c.mode()
	if err != nil {
		return &exitError{code: exitUsage, err: err, next: "junction proxy --help"}
	}
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	unbroken()
	in, release := ready(con.in, con.out, con.err)
	defer release()
	con.in = in
	aside := newAside(con.err)
	defer aside.close()
	log := c.logger(con, aside)
	switch mode {
	case proxyCapability:
		err = c.route(ctx, con, log)
	default:
		err = c.bridge(ctx, con, log, mode)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // a signal ended it in order
	}
	return err
}

// logger tells people what happens, on stderr: stdout is the protocol's.
func (c *proxyCmd) logger(con console, to io.Writer) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[c.LogLevel]
	if c.Quiet {
		level = slog.LevelError
	}
	con.err = to
	return leveled(con, level)
}

// listed joins names for people.
func listed(names []string) string { return clean(strings.Join(names, ", ")) }
