// Command reliability runs four laboratories on what becomes of a request when
// its end meets another event, with Junction's MCP client against small servers
// over stdio and Streamable HTTP, in both protocol eras:
//
//	go run ./examples/reliability
//
// Each lab prints a table: terminal state, final response, wire signal, ignored
// event. What is printed was observed, and is held to the race table that
// `junction review` prints: the exit code is 1 where they differ.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if address := os.Getenv(relayVar); address != "" {
		os.Exit(relay(address, os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "reliability:", err)
		os.Exit(1)
	}
}
