package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// runner runs scenarios.
type runner struct {
	junction, dir, keep string
	limit               time.Duration
	node, self, scratch string
}

// open finds the programs and makes room for what the suites write.
func (r *runner) open(ctx context.Context) (err error) {
	for _, path := range []*string{&r.junction, &r.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if _, err := os.Stat(r.junction); err != nil {
		return fmt.Errorf("the junction program: %w", err)
	}
	if r.self, err = os.Executable(); err != nil {
		return err
	}
	if r.node, err = findNode(ctx, r.dir); err != nil {
		return err
	}
	r.scratch = r.keep
	if r.keep == "" {
		r.scratch, err = os.MkdirTemp("", "conformance-")
	}
	return err
}

func (r *runner) close() {
	if r.keep == "" {
		os.RemoveAll(r.scratch) //nolint:errcheck // a temporary directory
	}
}

// oldest is the major version of Node that the suites need.
const oldest = 22

// findNode returns a Node that is new enough: the one on PATH, else the one that
// package.json brings along.
func findNode(ctx context.Context, dir string) (string, error) {
	candidates, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("node"); err == nil {
		candidates = slices.Insert(candidates, 0, path)
	}
	var seen []string
	for _, path := range candidates {
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		version := strings.TrimSpace(string(out))
		major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
		if n, bad := strconv.Atoi(major); err == nil && bad == nil && n >= oldest {
			return path, nil
		}
		seen = append(seen, path+" "+version)
	}
	return "", fmt.Errorf("the suites need Node %d or newer; there is: %q", oldest, seen)
}

// list returns the scenarios of both suites.
func (r *runner) list(ctx context.Context) ([]scenario, error) {
	var all []scenario
	for _, name := range packages {
		suite := strings.TrimPrefix(name, "conformance-")
		cmd := exec.CommandContext(ctx, r.node, r.program(suite), "list", "--client")
		out, err := cmd.Output()
		some := parseList(suite, string(out))
		if err != nil || len(some) == 0 {
			return nil, fmt.Errorf("listing the scenarios of %s: %w\n%s", name, errors.Join(err, errNone(some)), out)
		}
		all = append(all, some...)
	}
	return all, nil
}

func errNone(some []scenario) error {
	if len(some) == 0 {
		return errors.New("none is listed")
	}
	return nil
}

func (r *runner) program(suite string) string {
	return filepath.Join(r.dir, "node_modules", "conformance-"+suite, "dist", "index.js")
}

// timed is the scenario in which the suite times the client: it warns of what comes
// 200 ms late, so it has the machine to itself.
const timed = "sse-retry"

// all runs the scenarios, some at once, and returns their results in their order.
func (r *runner) all(ctx context.Context, scenarios []scenario, atOnce int) ([]result, error) {
	results := make([]result, len(scenarios))
	var said atomic.Int64
	run := func(ctx context.Context, i int) (err error) {
		results[i], err = r.one(ctx, scenarios[i])
		fmt.Fprintf(os.Stderr, "%d/%d %s\n", said.Add(1), len(scenarios), scenarios[i])
		return err
	}
	for i, s := range scenarios {
		if s.Name == timed {
			if err := run(ctx, i); err != nil {
				return nil, err
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, s := range scenarios {
		if s.Name != timed {
			group.Go(func() error { return run(ctx, i) })
		}
	}
	return results, group.Wait()
}

// one runs a scenario. What goes wrong in it is in the result; an error is of the
// run itself.
func (r *runner) one(ctx context.Context, s scenario) (result, error) {
	dir := filepath.Join(r.scratch, s.Suite, s.Name+"-"+s.Version)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return result{}, err
	}
	// The suite hands the command to a shell.
	args := []string{r.program(s.Suite), "client", "--command", "'" + r.self + "' client", "--scenario", s.Name,
		"--timeout", strconv.FormatInt(r.limit.Milliseconds(), 10), "--output-dir", dir}
	if s.Version != "" {
		args = append(args, "--spec-version", s.Version)
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit+20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.node, args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), envJunction+"="+r.junction, envWorkflows+"="+filepath.Join(r.dir, "workflows"),
		envLimit+"="+(r.limit-r.limit/6).String(), "NO_COLOR=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if err := os.WriteFile(filepath.Join(dir, "suite.txt"), output.Bytes(), 0o600); err != nil {
		return result{}, err
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result{}, fmt.Errorf("running %s: %w", s, err)
	}
	checks, missing := readChecks(dir)
	if missing != nil && err == nil {
		return result{}, fmt.Errorf("%s left no checks: %w\n%s", s, missing, output.Bytes())
	}
	return judge(s, checks, err == nil, output.String()), nil
}

// readChecks finds the one checks.json below dir.
func readChecks(dir string) ([]check, error) {
	var found []check
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &found)
	})
	if err == nil && found == nil {
		err = fs.ErrNotExist
	}
	return found, err
}
