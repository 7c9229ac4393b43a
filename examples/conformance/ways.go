package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"junction/examples/conformance/gateway"
)

// leg is a suite's server scenarios at one version of the protocol.
type leg struct {
	Suite, Version string // as in scenario
	sessions       bool   // of the server: which era it speaks over HTTP
}

var legs = []leg{
	{"legacy", "", true},
	{"modern", "2025-11-25", true},
	{"modern", "2026-07-28", false},
}

func (l leg) String() string {
	return scenario{Suite: l.Suite, Name: "server", Version: l.Version}.String()
}

// Ways in which a suite reaches the server.
const (
	wayAlone   = "alone"   // over HTTP, as it is
	wayGateway = "gateway" // over the server's own standard streams, by way of a gateway
	wayURL     = "url"     // gateway, junction proxy --url, server over HTTP
	wayCommand = "command" // gateway, junction proxy -- server, over standard streams
)

// ways begins with the one that the others are held against.
var ways = []string{wayAlone, wayGateway, wayURL, wayCommand}

// place is a server that a suite can reach.
type place struct {
	URL   string
	close func()
}

// reach makes the server reachable in a way. What the programs say goes to log.
func (r *serverRunner) reach(ctx context.Context, l leg, way string, log *os.File) (place, error) {
	switch way {
	case wayAlone:
		return r.serve(ctx, l, log)
	case wayGateway:
		return through(ctx, l, log, r.server)
	case wayCommand:
		return through(ctx, l, log, r.junction, "proxy", "--quiet", "--", r.server)
	}
	behind, err := r.serve(ctx, l, log)
	if err != nil {
		return place{}, err
	}
	front, err := through(ctx, l, log, r.junction, "proxy", "--quiet", "--url", behind.URL)
	if err != nil {
		behind.close()
		return place{}, err
	}
	return place{front.URL, func() { front.close(); behind.close() }}, nil
}

// serve starts the server over HTTP.
func (r *serverRunner) serve(ctx context.Context, l leg, log *os.File) (place, error) {
	free, err := listen(ctx)
	if err != nil {
		return place{}, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return place{}, err
	}
	cmd := exec.CommandContext(ctx, r.server, "-http", address, fmt.Sprintf("-stateless=%v", !l.sessions))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return place{}, err
	}
	p := place{"http://" + address, func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // as it was made to
	}}
	if err := answers(ctx, address); err != nil {
		p.close()
		return place{}, fmt.Errorf("the server %s does not listen: %w", filepath.Base(r.server), err)
	}
	return p, nil
}

// answers waits until somebody listens at address.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return err
		}
	}
}

func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// through puts a gateway before a command.
func through(ctx context.Context, l leg, log io.Writer, command ...string) (place, error) {
	at, err := listen(ctx)
	if err != nil {
		return place{}, err
	}
	g := gateway.New(command, l.sessions, log)
	web := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(at) }()
	return place{"http://" + at.Addr().String(), func() {
		_ = web.Close() // the requests that are open are the suite's, which has ended
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(log, "gateway:", err)
		}
		g.Close()
	}}, nil
}
