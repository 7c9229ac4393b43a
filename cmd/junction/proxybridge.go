package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"junction/cmd/junction/internal/wire"
	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
	"junction/router/static"
	"junction/state"
	"junction/state/value"
)

// bridge serves what one server, or several, offer.
func (c *proxyCmd) bridge(ctx context.Context, con console, log *slog.Logger, mode proxyMode) error {
	b, end, err := c.build(ctx, con, log, mode)
	if err != nil {
		return err
	}
	defer end()
	err = b.Serve(ctx, con.in, con.out)
	log.Info("the client is gone")
	return err
}

func (c *proxyCmd) build(ctx context.Context, con console, log *slog.Logger, mode proxyMode) (*bridge.Bridge, func(), error) {
	if mode == proxyServers {
		return c.ofFile(ctx, con, log)
	}
	only, err := c.single(mode)
	if err != nil {
		return nil, nil, usage(err)
	}
	client := mcp.New(&mcp.Options{Logger: log, ClientVersion: buildVersion, OnStderr: sayStderr(log)})
	f := &fronted{discovery: static.Fixed(only), open: client.Open, hints: c.TrustHints}
	log.Info("serving one server", "server", only.ID, "at", orWord(only.Endpoint(), only.Dial.Command))
	return bridge.New(f.servers([]string{only.ID}), c.options(static.Proxy{}, log)), func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		if err := client.Close(ctx); err != nil {
			log.Warn("ending the server", "error", err)
		}
	}, nil
}

// closeWithin bounds how long ending the servers may take.
const closeWithin = 5 * time.Second

// single is the one server that the flags tell of. They are read by the rules of a
// servers file.
func (c *proxyCmd) single(mode proxyMode) (*router.Server, error) {
	name, entry := "", map[string]any{}
	if mode == proxyURL {
		headers := map[string]any{}
		for _, h := range c.Header {
			key, text, found := strings.Cut(h, ":")
			if !found {
				return nil, errors.New(`--header: write "NAME: VALUE", for example --header 'Authorization: Bearer ${TOKEN}'`)
			}
			headers[strings.TrimSpace(key)] = strings.TrimSpace(text)
		}
		entry["url"] = c.URL
		if len(headers) > 0 {
			entry["headers"] = headers
		}
		if u, err := url.Parse(c.URL); err == nil {
			name = u.Host
		}
	} else {
		args := make([]any, 0, len(c.Command))
		for _, arg := range c.Command[1:] {
			args = append(args, literal(arg))
		}
		entry["command"], entry["args"], entry["env"] = literal(c.Command[0]), args, c.environment()
		name = strings.TrimSuffix(filepath.Base(c.Command[0]), ".exe")
	}
	if name = namely(name); name == "" {
		name = "server"
	}
	text, err := value.Encode(map[string]any{"mcpServers": map[string]any{name: entry}})
	if err != nil {
		return nil, err
	}
	config, err := static.Parse("the command line", text, nil)
	if err != nil {
		return nil, err
	}
	return config.Servers[0], nil
}

// environment is what --env says, as a servers file does.
func (c *proxyCmd) environment() map[string]any {
	env := map[string]any{}
	for _, e := range c.Env {
		if name, text, given := strings.Cut(e, "="); given {
			env[name] = literal(text)
		} else {
			env[name] = "${" + name + "}"
		}
	}
	return env
}

// literal keeps a shell's words from being expanded again.
func literal(word string) string { return strings.ReplaceAll(word, "${", "$${") }

var unnamed = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// namely makes a server's name of a word.
func namely(word string) string {
	name := strings.TrimLeft(unnamed.ReplaceAllString(word, "-"), "._-")
	return name[:min(len(name), 64)]
}

// options are the flags', else the file's, else the bridge's own.
func (c *proxyCmd) options(file static.Proxy, log *slog.Logger) *bridge.Options {
	pick := func(flag *span, otherwise time.Duration) time.Duration {
		switch {
		case flag == nil:
			return otherwise
		case *flag == 0:
			return -1
		}
		return time.Duration(*flag)
	}
	o := &bridge.Options{
		PingInterval: pick(c.PingInterval, file.PingInterval), PingTimeout: pick(c.PingTimeout, file.PingTimeout),
		Wait: pick(c.Wait, file.Wait), Queue: c.Queue, Version: buildVersion, Logger: log,
	}
	if o.Queue == 0 {
		o.Queue = file.Queue
	}
	return o
}

// sayStderr shows what children write to their stderr to who wants everything.
func sayStderr(log *slog.Logger) func(server, line string) {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	return func(server, line string) { log.Debug(clean(server) + ": " + clean(line)) }
}

// ofFile bridges the servers of a servers file and of Consul: all of them, which may
// come and go, or those that were named.
func (c *proxyCmd) ofFile(ctx context.Context, con console, log *slog.Logger) (*bridge.Bridge, func(), error) {
	app, err := wire.Open(ctx, wire.Settings{Store: "memory:", Config: c.Config, Consul: c.Consul, NeedConfig: true, Stderr: sayStderr(log), Log: log, Version: buildVersion})
	if err != nil {
		return nil, nil, wireError(err)
	}
	f := &fronted{discovery: app.Discovery(), open: app.Open, hints: c.TrustHints}
	o := c.options(app.Proxy(), log)
	names := f.names(c.Server)
	if known := f.names(nil); len(c.Server) > 0 {
		for _, name := range c.Server {
			if !slices.Contains(known, name) {
				closeApp(app, con)
				return nil, nil, &exitError{code: exitUsage, err: fmt.Errorf("there is no server %q; there are %s", name, listed(known)), next: "junction servers"}
			}
		}
	}
	log.Info("serving servers", "servers", orWord(listed(names), "none yet"), "file", orWord(app.ConfigPath, "none"))
	build := bridge.NewSeveral
	if len(c.Server) == 1 {
		build = bridge.New // transparent; its server is looked up anew for each connection
	}
	b := build(f.servers(names), o)
	following, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.follow(following, b, c.Server, log)
	}()
	return b, func() {
		stop()
		<-done
		closeApp(app, con)
	}, nil
}

// leastKept is how long a ledger must keep keys for a call to be made again under one:
// by then it has waited for the last time, or the client has given it up.
const leastKept = time.Hour

// effectIn is what an operator's offers say of a tool: its effect, and where a
// conditional one's key stands.
func effectIn(offers []router.Offer, tool string) (state.Effect, string, string) {
	for _, o := range offers {
		if o.Effect != "" && (o.Tool == tool || o.Tool == "" && o.Capability == tool) {
			if o.Effect == state.Conditional && o.Ledger.Keeps > 0 && o.Ledger.Keeps < leastKept {
				return state.Unsafe, "", ""
			}
			key := o.Key
			if key == "" {
				key = "_meta.dev.junction/idempotency-key"
			}
			return o.Effect, key, o.Ledger.Name
		}
	}
	return "", "", ""
}
