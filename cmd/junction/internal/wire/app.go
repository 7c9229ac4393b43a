package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"junction/cmd/junction/internal/metrics"
	"junction/cmd/junction/internal/spans"
	"junction/graph/workflow"
	"junction/router"
	"junction/router/consul"
	"junction/router/history"
	"junction/router/mcp"
	"junction/router/static"
	"junction/router/traces"
	"junction/state"
)

// closeWait bounds how long ending the servers may take.
const closeWait = 5 * time.Second

// ConfigError is a servers file that was not found or cannot be reached.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

// Settings say what to join.
type Settings struct {
	Store      string                    // address; "": the servers file's, else DefaultStore
	Config     string                    // servers file; "": looked for, see static.Find
	Workflow   string                    // the workflow file it is looked for beside
	Dir        string                    // what PWD stands for in the servers file; "": the working directory
	Consul     string                    // address of Consul, for servers found there; "": what the servers file says
	Shared     bool                      // only a store that workers can share will do: ErrNoQueue, and nothing is made
	Detach     bool                      // the thread is left to workers: no server is looked for
	NeedConfig bool                      // without a servers file: *static.NotFoundError instead of no servers
	Worker     string                    // names this process in the history of servers; "": host and process id
	Observer   router.Observer           // watches hops, and may be slow; nil: nobody does
	Prompt     router.Observer           // watches hops as they happen, and never blocks; nil: nobody does
	Probe      router.ProbeOptions       // of servers, in the background
	Stderr     func(server, line string) // is told what children write to their stderr; nil: nobody
	Metrics    *metrics.Metrics          // nil: nothing is counted
	Version    string                    // the program's, for traces
	Log        *slog.Logger
}

// App is a wired Junction.
type App struct {
	Store      state.Store
	Address    string // of the store that Open opened, without password; "" for DefaultStore
	Router     *router.Router
	ConfigPath string // "" without a servers file

	Spans *spans.Spans // nil: none are asked for

	kept      state.Store // Store without what watches it
	tracer    *traces.Tracer
	metrics   *metrics.Metrics
	client    *mcp.Client
	servers   router.Discovery              // all that the router knows
	consul    *consul.Discovery             // of them; nil: none is asked
	config    *static.Config                // nil without a servers file
	watch     *router.Relay                 // nil: nobody watches
	history   *history.Recorder             // nil: the store does not keep how servers fare
	rates     atomic.Pointer[router.Router] // Router, for those who ask it from a goroutine that began before
	ownsStore bool
	log       *slog.Logger // nil: nobody is told
}

// Open reads the servers file, opens the store and builds the router. No
// server is started before it is needed.
func Open(ctx context.Context, s Settings) (*App, error) {
	config, err := loadConfig(s.Config, s.Workflow, s.Dir)
	if none := new(static.NotFoundError); errors.As(err, &none) {
		if s.NeedConfig && s.Consul == "" {
			return nil, err
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	address := s.Store
	if address == "" && config != nil {
		address = config.Store
	}
	if s.Shared {
		if err := shared(address); err != nil {
			return nil, err
		}
	}
	store, err := OpenStore(ctx, address, s.Log)
	if err != nil {
		return nil, err
	}
	app, err := join(ctx, store, config, s)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	app.Address, app.ownsStore = Redact(address), true
	return app, nil
}

// OpenWith is Open on a store that is open already and stays the caller's.
func OpenWith(ctx context.Context, store state.Store, s Settings) (*App, error) {
	config, err := LoadConfig(s.Config, s.Workflow, s.Dir)
	if err != nil {
		return nil, err
	}
	return join(ctx, store, config, s)
}

// LoadConfig finds and reads the servers file; without one it returns nil.
//
// dir is what PWD stands for in it ("": the working directory): a thread that is
// resumed elsewhere means the directory it was started in.
func LoadConfig(flag, workflow, dir string) (*static.Config, error) {
	config, err := loadConfig(flag, workflow, dir)
	if none := new(static.NotFoundError); errors.As(err, &none) {
		return nil, nil
	}
	return config, err
}

// loadConfig is LoadConfig whose error says where a servers file was looked
// for: *static.NotFoundError.
func loadConfig(flag, workflow, dir string) (*static.Config, error) {
	if info, err := os.Stat(workflow); err == nil && info.IsDir() {
		workflow = filepath.Join(workflow, static.FileName) // what stands in it stands beside this
	}
	path, err := static.Find(workflow, flag)
	if err != nil {
		return nil, &ConfigError{err}
	}
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("working directory: %w", err)
		}
	}
	return static.Load(path, &static.Options{LookupEnv: func(name string) (string, bool) {
		if name == "PWD" {
			return dir, true
		}
		return os.LookupEnv(name)
	}})
}

func join(ctx context.Context, store state.Store, config *static.Config, s Settings) (*App, error) {
	app := &App{Store: store, kept: store, config: config, metrics: s.Metrics, log: s.Log}
	if s.Metrics != nil {
		app.Store = s.Metrics.Store(store)
	}
	tracer, err := traces.FromEnv(ctx, "junction", s.Version, s.Log)
	if err != nil {
		return nil, &ConfigError{err}
	}
	app.tracer, app.Spans = tracer, spans.New(tracer)
	var found []router.Discovery
	if config != nil {
		found, app.ConfigPath = append(found, config.Discovery()), config.Path
	}
	routes := &router.Options{Probe: s.Probe}
	if err := app.routing(config, s, routes); err != nil {
		return nil, errors.Join(err, tracer.Close(ctx))
	}
	registry, err := openConsul(ctx, config, s)
	if err != nil {
		return nil, errors.Join(err, tracer.Close(ctx))
	}
	if registry != nil {
		found, app.consul = append(found, registry), registry
	}
	speaks := &mcp.Options{Logger: s.Log, Elicitation: true, OnStderr: s.Stderr}
	app.observe(s, speaks, routes)
	app.client = mcp.New(speaks)
	app.servers = router.Join(found...)
	app.Router = router.New(app.servers, app.Spans.Caller(app.client), routes)
	app.rates.Store(app.Router)
	return app, nil
}

// observe has those who watch told of what happens.
func (a *App) observe(s Settings, speaks *mcp.Options, routes *router.Options) {
	var all []router.Observer
	if m := s.Metrics; m != nil {
		speaks.OnStateChange, speaks.OnHandshake, speaks.OnStray, speaks.OnReconnect = m.OnStateChange, m.OnHandshake, m.OnStray, m.OnReconnect
		all = append(all, m)
	}
	if s.Prompt != nil {
		all = append(all, s.Prompt)
	}
	if s.Observer != nil {
		a.watch = router.NewRelay(s.Observer)
		all = append(all, a.watch)
	}
	if h := a.keepHealth(s); h != nil {
		all = append(all, h)
	}
	if len(all) == 0 {
		return
	}
	routes.Observer = router.Observers(all...)
	if servers, ok := routes.Observer.(router.ServerObserver); ok {
		speaks.OnDrift = servers.OnDrift
	}
}

// Tools makes the hops of workflows.
func (a *App) Tools() workflow.Tools {
	var t workflow.Tools = a.Router
	if a.metrics != nil {
		t = a.metrics.Tools(t)
	}
	return a.Spans.Tools(t)
}

// Close ends the servers and closes a store that Open opened.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	a.Router.Close() // so that no handshake begins while connections end
	err := a.client.Close(ctx)
	if a.watch != nil {
		err = errors.Join(err, a.watch.Close(ctx))
	}
	if a.consul != nil {
		a.consul.Close()
	}
	a.closeHealth(ctx)
	if a.ownsStore {
		err = errors.Join(err, a.Store.Close())
	}
	if lost := a.tracer.Close(ctx); lost != nil && a.log != nil { // no fault of what was done
		a.log.Warn("traces were not sent to the end", "error", lost)
	}
	return err
}
