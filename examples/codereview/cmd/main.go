// Command cmd serves one of the example's MCP servers without the rest of
// Junction; junction example-server does the same.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"junction/examples/codereview/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := server.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
