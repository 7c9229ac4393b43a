package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"junction/cmd/junction/internal/wire"
	"junction/router/bridge/routed"
)

// route serves capabilities as tools, each call a hop that is recorded.
func (c *proxyCmd) route(ctx context.Context, con console, log *slog.Logger) error {
	need, err := parsePairs("need", c.Need)
	prefer, err2 := parsePairs("prefer", c.Prefer)
	if err := errors.Join(err, err2); err != nil {
		return usage(err)
	}
	var tools []routed.Capability
	for _, name := range c.Capability {
		tools = append(tools, routed.Capability{Name: name, Need: need, Prefer: prefer})
	}
	hops := &hopsOf{}
	app, err := wire.Open(ctx, wire.Settings{Store: c.Store, Config: c.Config, Consul: c.Consul, NeedConfig: true, Prompt: hops, Probe: probesOfRun(), Stderr: sayStderr(log), Log: log, Version: buildVersion})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	thread, err := openProxyThread(ctx, app.Store, log)
	if err != nil {
		return err
	}
	defer func() {
		if err := thread.close(ctx); err != nil {
			log.Error("closing the proxy's thread", "thread", thread.id, "error", err)
		}
	}()
	h := routed.New(app.Discovery(), tools, &routed.Options{Thread: thread, Version: buildVersion, Logger: log})
	hops.Handler = h
	defer h.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-thread.stopped:
			stop(fmt.Errorf("somebody asked for the end of thread %s", thread.id))
		case <-ctx.Done():
		}
	}()
	log.Info("serving capabilities", "tools", listed(c.Capability), "thread", thread.id, "store", orWord(app.Address, wire.DefaultStore))
	err = h.Serve(ctx, app.Router, con.in, con.out)
	log.Info("the client is gone")
	return err
}

// hopsOf is the observer of a handler that is made after its router.
type hopsOf struct{ *routed.Handler }
