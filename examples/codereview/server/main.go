package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router/diagnose/debug"
	"junction/router/mcp/sse"
	"junction/router/traces"
)

// leaving bounds how long taking the server out of the registry may take.
const leaving = 3 * time.Second

// Main serves what the flags say until ctx ends or the input is closed, and
// returns the exit code: 0 done, 1 failed, 2 wrong flags.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "example-server: %v\n", err)
		return 2
	}
	if err := serve(ctx, o, stdin, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "example-server %s: %v\n", o.Reviewer, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, o Options, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	s, err := New(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.tracer, err = traces.FromEnv(ctx, s.name, o.version(), slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.tracer.Close(ctx)) }()
	if o.HTTP != "" {
		return serveHTTP(ctx, s, stderr)
	}
	stdio := mcpserver.NewStdioServer(s.mcp)
	stdio.SetErrorLogger(log.New(stderr, "", 0))
	mcpserver.WithWorkerPoolSize(o.Capacity)(stdio)
	err = stdio.Listen(ctx, stdin, stdout)
	if ctx.Err() != nil || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// serveHTTP serves where the flags say and tells on stderr where that is, for the
// address may end in port 0. Others learn of it once it listens, and that it goes
// before it does not: then calls in flight may end.
func serveHTTP(ctx context.Context, s *Server, stderr io.Writer) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", s.o.HTTP)
	if err != nil {
		return err
	}
	web := s.web()
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	leave, err := s.register(ctx, listener.Addr(), slog.New(slog.NewTextHandler(stderr, nil)))
	if err == nil {
		_, err = fmt.Fprintf(stderr, "serving %s at http://%s/mcp\n", s.name, listener.Addr())
	}
	if err != nil {
		return errors.Join(err, web.Close(), ended(<-served))
	}
	select {
	case err = <-served: // it broke: whoever would still come is sent elsewhere
		return errors.Join(err, within(ctx, leaving, leave))
	case <-ctx.Done():
	}
	err = within(ctx, leaving, leave)
	down := within(ctx, s.o.Grace, web.Shutdown)
	if errors.Is(down, context.DeadlineExceeded) {
		down = web.Close() // calls that hang are cut
	}
	return errors.Join(err, down, ended(<-served))
}

// web is the HTTP server. A stream that only listens has no end of its own: it
// ends when the server is told to.
func (s *Server) web() *http.Server {
	ending, end := context.WithCancel(context.Background())
	endpoint := sse.Handler(debug.Handler(mcpserver.NewStreamableHTTPServer(s.mcp)), nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", endpoint)
	mux.HandleFunc("GET /mcp", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ending, cancel)()
		endpoint.ServeHTTP(w, r.WithContext(ctx))
	})
	mux.Handle("GET "+healthPath, s.health)
	mux.Handle("GET /metrics", s.counts.handler())
	mux.Handle("GET /mcp/metrics", s.counts.handler())
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	web.RegisterOnShutdown(end)
	return web
}

// within runs what must end although ctx has.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	defer cancel()
	return f(ctx)
}

// ended is the error of a server that was closed, which is none.
func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
