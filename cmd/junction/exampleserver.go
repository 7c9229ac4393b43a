package main

import (
	"context"
	"os"

	"junction/examples/codereview/server"
)

// exampleServerCmd serves one of the example's review servers: with them in
// the binary, the first run needs nothing but Go.
type exampleServerCmd struct {
	Args []string `arg:"" optional:"" help:"Flags of the server; --help lists them."`
}

func (*exampleServerCmd) Help() string {
	return "Example:\n  junction example-server --reviewer go --http 127.0.0.1:8081"
}

func (c *exampleServerCmd) Run(ctx context.Context, con console) error {
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	if code := server.Main(ctx, c.Args, os.Stdin, con.out, con.err); code != 0 {
		return &exitError{code: code}
	}
	return nil
}
