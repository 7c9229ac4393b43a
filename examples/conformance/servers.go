package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sync/errgroup"
)

// serverRunner runs the suites' server scenarios against one server, in each way.
type serverRunner struct {
	runner
	server string
}

// servers runs what args select and prints the table.
func servers(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("conformance servers", flag.ContinueOnError)
	r := serverRunner{}
	flags.StringVar(&r.junction, "junction", "", "the junction program (required)")
	flags.StringVar(&r.server, "server", "", "the server program: MCP on its standard streams, or over HTTP with -http ADDRESS -stateless=BOOL (required)")
	flags.StringVar(&r.dir, "dir", "examples/conformance", "where expected-proxy.yaml and node_modules are")
	flags.StringVar(&r.keep, "keep", "", "keep what the suites wrote in this directory")
	atOnce := flags.Int("parallel", 2, "suites at once")
	flags.DurationVar(&r.limit, "timeout", 3*time.Minute, "of one suite in one way")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.junction == "" || r.server == "" || flags.NArg() > 0 || *atOnce < 1 {
		flags.Usage()
		return flag.ErrHelp
	}
	var err error
	if r.server, err = filepath.Abs(r.server); err != nil {
		return err
	}
	if _, err := os.Stat(r.server); err != nil {
		return fmt.Errorf("the server program: %w", err)
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.close()
	expected, err := readDifferences(r.dir)
	if err != nil {
		return err
	}
	runs, err := r.everyWay(ctx, *atOnce)
	if err != nil {
		return err
	}
	report := hold(runs, expected)
	if err := report.table(out); err != nil {
		return err
	}
	return report.verdict()
}

// run is what a suite found in one way.
type run struct {
	leg
	way   string
	found findings
}

// everyWay runs each leg in each way, some at once.
func (r *serverRunner) everyWay(ctx context.Context, atOnce int) ([]run, error) {
	var runs []run
	for _, l := range legs {
		for _, way := range ways {
			runs = append(runs, run{leg: l, way: way})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range runs {
		group.Go(func() (err error) {
			begun := time.Now()
			runs[i].found, err = r.suite(ctx, runs[i].leg, runs[i].way)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", runs[i].leg, runs[i].way, err)
			}
			fmt.Fprintf(os.Stderr, "%s, %s: %d checks in %v\n", runs[i].leg, runs[i].way, len(runs[i].found), time.Since(begun).Round(time.Second))
			return nil
		})
	}
	return runs, group.Wait()
}

// suite runs a leg in one way. What goes wrong in it is in the findings.
func (r *serverRunner) suite(ctx context.Context, l leg, way string) (findings, error) {
	dir := filepath.Join(r.scratch, l.Suite+l.Version, way)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "programs.txt"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // it is for people who look for what went wrong
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	p, err := r.reach(ctx, l, way, log)
	if err != nil {
		return nil, err
	}
	defer p.close()
	args := []string{r.program(l.Suite), "server", "--url", p.URL, "--suite", "all", "--output-dir", dir}
	if l.Version != "" {
		args = append(args, "--spec-version", l.Version)
	}
	cmd := exec.CommandContext(ctx, r.node, args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	failed := cmd.Run()
	if err := os.WriteFile(filepath.Join(dir, "suite.txt"), output.Bytes(), 0o600); err != nil {
		return nil, err
	}
	var exit *exec.ExitError
	if failed != nil && (!errors.As(failed, &exit) || !exit.Exited()) {
		return nil, fmt.Errorf("the suite: %w", failed)
	}
	found, err := readFindings(dir)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no check was made:\n%s", output.Bytes())
	}
	return found, err
}

// kept is the name of the directory in which a suite leaves the checks of a server
// scenario: its name and the time.
var kept = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readFindings reads what a suite left below dir.
func readFindings(dir string) (findings, error) {
	scenarios, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := findings{}
	for _, d := range scenarios {
		name := kept.FindStringSubmatch(d.Name())
		if name == nil {
			continue
		}
		checks, err := readChecks(filepath.Join(dir, d.Name()))
		if err != nil {
			return nil, fmt.Errorf("the checks of %s: %w", name[1], err)
		}
		found.add(name[1], checks)
	}
	return found, nil
}
