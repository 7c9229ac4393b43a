package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"
)

// shutdown bounds how long calls in flight may go on when the server ends.
const shutdown = 2 * time.Second

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
	if o.HTTP != "" {
		return serveHTTP(ctx, s, o.HTTP, stderr)
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

// serveHTTP serves at addr and says on stderr where that is, for addr may end
// in port 0.
func serveHTTP(ctx context.Context, s *Server, addr string, stderr io.Writer) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpserver.NewStreamableHTTPServer(s.mcp))
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	if _, err := fmt.Fprintf(stderr, "serving %s at http://%s/mcp\n", s.name, listener.Addr()); err != nil {
		return errors.Join(err, web.Close(), <-served)
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
	defer cancel()
	err = web.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = web.Close() // calls that hang are cut
	}
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
