package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == "client" {
		os.Exit(client(ctx, os.Args[2], os.Getenv, os.Stdout, os.Stderr))
	}
	run, args := suites, os.Args[1:]
	if len(args) > 0 && args[0] == "servers" {
		run, args = servers, args[1:]
	}
	err := run(ctx, args, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// suites runs what args select and prints the table.
func suites(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	r := runner{}
	flags.StringVar(&r.junction, "junction", "", "the junction program (required)")
	flags.StringVar(&r.dir, "dir", "examples/conformance", "where expected.yaml, workflows and node_modules are")
	flags.StringVar(&r.keep, "keep", "", "keep what the suites wrote in this directory")
	only := flags.String("run", "", "only the scenarios that match this regular expression, as SUITE/SCENARIO")
	atOnce := flags.Int("parallel", 2, "scenarios at once")
	flags.DurationVar(&r.limit, "timeout", time.Minute, "of one scenario")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.junction == "" || flags.NArg() > 0 || *atOnce < 1 {
		flags.Usage()
		return flag.ErrHelp
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.close()
	expected, err := readExpected(r.dir)
	if err != nil {
		return err
	}
	scenarios, err := r.list(ctx)
	if err != nil {
		return err
	}
	chosen := choose(scenarios, match)
	if len(chosen) == 0 {
		return fmt.Errorf("no scenario matches %q", *only)
	}
	results, err := r.all(ctx, chosen, *atOnce)
	if err != nil {
		return err
	}
	rows := compare(expected, scenarios, results)
	if err := table(out, rows); err != nil {
		return err
	}
	return verdict(rows)
}
