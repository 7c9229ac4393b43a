package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/lmittmann/tint"

	"junction/cmd/junction/internal/metrics"
	"junction/cmd/junction/internal/spans"
	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/worker"
	"junction/router"
	"junction/router/static"
	"junction/state"
)

type serveCmd struct {
	Threads int           `default:"64" help:"Threads run at once."`
	Lease   time.Duration `default:"10s" help:"Time to live of a thread's lease: how long after a worker's death others may take its threads over."`
	Grace   time.Duration `default:"30s" help:"How long threads may go on after SIGTERM before they are handed back."`
	Name    string        `placeholder:"NAME" help:"Name of this worker in leases and logs. Default: host, process id and a random part."`
	Store   string        `placeholder:"ADDRESS" env:"JUNCTION_STORE" help:"Store that the workers share, redis://HOST:PORT and its other forms. Default: what the servers file says."`
	Metrics *string       `placeholder:"ADDR" help:"Where /metrics, /healthz and /readyz are served, for example :9464; empty: nowhere. Default: 127.0.0.1:9464, or a free port where that is taken."`
	JSON    bool          `name:"json" help:"Log one JSON document a line on stderr."`
	Config  string        `placeholder:"FILE" type:"path" help:"This worker's servers file. Default: the one in the user's configuration directory."`
	Consul  string        `placeholder:"URL" help:"Consul whose services tagged mcp are servers too, for example http://127.0.0.1:8500. Default: what the servers file says."`
}

func (*serveCmd) Help() string {
	return `Runs queued threads, many at once, until SIGTERM; takes over those of workers that died. Start it
on as many machines as you like, all on one store. The servers are those of this worker's own servers
file and of Consul, never of the machine a thread was queued on; a worker that knows no place to find
servers does not start. A second signal cuts off what the first one let go on.

Examples:
  junction serve --store redis://127.0.0.1:6379 --config junction.yaml --consul http://127.0.0.1:8500
  junction run review.yaml --detach --store redis://127.0.0.1:6379`
}

// collectAt is the garbage collector's target of a worker, which lives on small
// short-lived values: at Go's 100 it takes a tenth of the worker's time. GOGC and
// GOMEMLIMIT win.
const collectAt = 400

func (c *serveCmd) Run(ctx context.Context, con console) error {
	if err := c.check(); err != nil {
		return usage(err)
	}
	log := c.logger(con)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	counts := metrics.New(buildVersion)
	app, err := wire.Open(ctx, wire.Settings{Store: c.Store, Config: c.Config, Consul: c.Consul, Shared: true, NeedConfig: true, Worker: c.Name, Probe: probesOfWorker(), Log: log, Metrics: counts, Version: buildVersion})
	if none := new(static.NotFoundError); errors.As(err, &none) {
		return usage(fmt.Errorf("this worker would fail every thread that calls a server: %w, or give --consul URL", err))
	}
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	queue, err := app.Queue()
	if err := errors.Join(err, app.Fit(ctx)); err != nil {
		return usage(err)
	}
	ready := &readiness{queue: queue}
	endpoint, err := c.endpoint(ctx, counts, ready, log)
	if err != nil {
		return usage(err)
	}
	defer closeEndpoint(endpoint, log)
	counts.Ask(metrics.Sources{Queue: queue, Health: metrics.Fares(app.Router)})
	w := worker.New(queue, app.Store, goOn(ctx, wire.NewGraphs(app), counts, app.Spans),
		&worker.Options{Owner: c.Name, Threads: c.Threads, Turn: c.Lease, Grace: c.Grace, Log: log, OnEvent: tell(log, counts), Elsewhere: lacksServer})
	serving, stop := untilDrain(ctx)
	defer stop()
	defer context.AfterFunc(serving, func() {
		ready.draining.Store(true)
		log.Info("told to stop; a second signal cuts off what still runs", "grace", c.Grace.String())
	})()
	log.Info("serving", "store", app.Address, "servers_file", orWord(app.ConfigPath, "none"), "threads", c.Threads, "lease", c.Lease.String())
	var tidying sync.WaitGroup
	tidying.Go(func() { app.Tidy(serving, retention, log) })
	defer func() { // before the store is closed
		stop()
		tidying.Wait()
	}()
	app.AwaitServers(serving, log)
	ready.taking.Store(true)
	err = w.Serve(serving)
	if err == nil {
		log.Info("drained")
	}
	return err
}

// goOn runs the threads that the worker is given.
func goOn(signals context.Context, graphs *wire.Graphs, counts *metrics.Metrics, seen *spans.Spans) worker.RunFunc {
	return func(runs context.Context, t state.Thread, o graph.RunOptions) (graph.Result, error) {
		runs, end := cutBy(signals, runs)
		defer end()
		g, err := graphs.Of(runs, t)
		if err != nil {
			return graph.Result{}, err
		}
		on, ended := counts.Run()
		defer ended()
		runs, on, over := seen.Run(runs, t.Workflow, on)
		o.OnEvent = on
		res, err := g.Resume(runs, t.ID, o)
		over(res, err)
		return res, err
	}
}

// cutBy is runs that ends with signals, too: the second signal hands the threads
// back at once, as the end of the grace does.
func cutBy(signals, runs context.Context) (context.Context, func()) {
	ctx, cut := context.WithCancelCause(runs)
	unhook := context.AfterFunc(signals, func() { cut(fmt.Errorf("the worker was told twice to stop: %w", state.ErrDraining)) })
	return ctx, func() {
		unhook()
		cut(nil)
	}
}

// lacksServer says of a failed run that its worker knows no server for a call:
// another worker, of another version perhaps, may know one.
func lacksServer(err error) bool {
	var none *router.NoCandidateError
	return errors.As(err, &none)
}

// tell counts what happens to the worker, and logs the threads that are gone on
// with: of a worker that died, or handed back.
func tell(log *slog.Logger, counts *metrics.Metrics) func(worker.Event) {
	return func(e worker.Event) {
		counts.OnWorker(e)
		if e.Kind == worker.EventTaken && e.Status == state.StatusRunning {
			log.Info("going on with a thread that was begun before", "thread", e.Thread)
		}
	}
}

func (c *serveCmd) check() error {
	var faults []error
	if c.Threads < 1 {
		faults = append(faults, fmt.Errorf("--threads %d: at least one", c.Threads))
	}
	faults = append(faults, checkLease(c.Lease))
	if c.Grace < 0 {
		faults = append(faults, fmt.Errorf("--grace %s: not negative", c.Grace))
	}
	return errors.Join(faults...)
}

// logger writes what the worker does, for people or for programs.
func (c *serveCmd) logger(con console) *slog.Logger {
	if c.JSON {
		return slog.New(slog.NewJSONHandler(con.err, nil))
	}
	return slog.New(tint.NewTextHandler(con.err, &tint.Options{TimeFormat: time.DateTime, NoColor: !con.colorErr}))
}
