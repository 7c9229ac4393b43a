package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/router"
	"junction/router/diagnose"
	"junction/router/diagnose/debug"
)

type diagnoseCmd struct {
	Target  string        `arg:"" optional:"" name:"server" help:"The server's URL, its name in the servers file, or in Consul its id or the service: every instance then."`
	File    string        `arg:"" optional:"" help:"Workflow file whose servers file is meant, or the directory of one."`
	Server  string        `placeholder:"URL|NAME" help:"The server, in place of the first argument."`
	Timeout time.Duration `default:"60s" help:"Longest time for the whole diagnosis."`
	Idle    time.Duration `placeholder:"D" help:"Measure too whether a stream that is quiet for so long, 5m at most, is cut; takes as long, and a server that answers X-MCP-Debug."`
	JSON    bool          `name:"json" help:"Print one JSON document on stdout and nothing else there."`
	configFlag
}

func (*diagnoseCmd) Help() string {
	return `Says what is wrong with a server, in seven layers: network, endpoint, capability document,
authentication, session and TLS, context hash, middleboxes. Each is passed, failed or warned of,
with what was seen, and a cause and a fix for what is wrong; or not reached, since what it needs
failed. No tool is called. A server with a URL is asked with the credentials that the servers file
has for it, none of which is printed. Of a service in Consul every instance is diagnosed; one whose
check is critical is not listed there: give its URL. Which headers and events arrive at a server, only
one can tell that answers X-MCP-Debug, as the example servers do (junction/router/diagnose/debug).

The exit code is 1 where a layer failed.

Examples:
  junction diagnose https://search.example.com/mcp
  junction diagnose billing --config junction.yaml
  junction diagnose --server code-review-go --consul http://127.0.0.1:8500 --json`
}

func (c *diagnoseCmd) Run(ctx context.Context, con console) error {
	if err := c.arrange(); err != nil {
		return &exitError{code: exitUsage, err: err, next: "junction diagnose --help"}
	}
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	app, err := wire.Open(ctx, wire.Settings{Store: "memory:", Config: c.Config, Consul: c.Consul, Workflow: c.File, NeedConfig: !c.isURL(), Log: logger(con)})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	bounded, stop := context.WithTimeout(ctx, c.Timeout+c.Idle)
	defer stop()
	servers, err := c.servers(bounded, app)
	if unknown, ok := errors.AsType[*router.UnknownServerError](err); ok {
		return &exitError{code: exitUsage, err: unknown, next: "junction servers, or the server's URL"}
	}
	if err != nil {
		return err
	}
	d := view.NewDiagnosis(c.Target, diagnose.Servers(bounded, servers, &diagnose.Options{Idle: c.Idle}))
	if c.JSON {
		err = view.JSON(con.out, d)
	} else {
		err = view.Diagnose(con.out, d, view.Style{Color: con.color})
	}
	if err == nil && d.Status == diagnose.Failed {
		return &exitError{code: exitFailed}
	}
	return err
}

// arrange puts what the flag names where the argument would have.
func (c *diagnoseCmd) arrange() error {
	switch {
	case c.Server != "" && c.File != "":
		return errors.New("--server and an argument both name a server")
	case c.Server != "":
		c.Target, c.File = c.Server, c.Target
	case c.Target == "":
		return errors.New("name a server: its URL, or its name in the servers file or in Consul")
	}
	if c.Timeout <= 0 || c.Idle < 0 {
		return errors.New("--timeout and --idle: a length of time such as 10s")
	}
	if c.Idle > debug.LongestQuiet {
		return fmt.Errorf("--idle %s: no server keeps a stream quiet for more than %s", c.Idle, debug.LongestQuiet)
	}
	if !c.isURL() {
		return nil
	}
	u, err := url.Parse(c.Target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("the URL must begin with http:// or https:// and name a host")
	}
	return nil
}

func (c *diagnoseCmd) isURL() bool { return strings.Contains(c.Target, "://") }

// servers are those that the target names. A URL that the servers file has is that
// server, with its credentials.
func (c *diagnoseCmd) servers(ctx context.Context, app *wire.App) ([]*router.Server, error) {
	if !c.isURL() {
		return app.Lookup(ctx, c.Target)
	}
	s := app.At(c.Target)
	if s == nil {
		s = &router.Server{Dial: router.Dial{URL: c.Target}}
		s.ID = s.Endpoint()
	}
	return []*router.Server{s}, nil
}
