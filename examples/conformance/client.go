package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What the suites and the runner tell the client, by environment variable.
const (
	envScenario  = "MCP_CONFORMANCE_SCENARIO"
	envContext   = "MCP_CONFORMANCE_CONTEXT" // a JSON object, of some scenarios
	envJunction  = "CONFORMANCE_JUNCTION"    // the program
	envWorkflows = "CONFORMANCE_WORKFLOWS"   // the directory
	envLimit     = "CONFORMANCE_LIMIT"       // how long it may take: the suite ends only the shell around it
	envURL       = "CONFORMANCE_URL"         // of the suite's server, for the servers file
)

// rounds bounds how often a thread is resumed with answers.
const rounds = 10

// lookEvery is how often somebody looks whether a running thread asks something.
const lookEvery = 500 * time.Millisecond

// waiting is junction's exit code where a question waits.
const waiting = 3

// client uses the server at url as the scenario asks for, by way of junction, and
// returns the exit code. out and errs are written to by several at once, as files
// may be.
func client(ctx context.Context, url string, env func(string) string, out, errs io.Writer) int {
	limit, err := time.ParseDuration(env(envLimit))
	if err != nil {
		fmt.Fprintln(errs, "conformance client:", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance-client-")
	if err != nil {
		fmt.Fprintln(errs, "conformance client:", err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	c := caller{
		program: env(envJunction), workflows: env(envWorkflows), scenario: env(envScenario), dir: dir,
		env: append(os.Environ(), envURL+"="+url), out: out, errs: errs,
	}
	code, err := c.act(ctx, env(envContext))
	if err != nil {
		fmt.Fprintln(errs, "conformance client:", err)
		return 1
	}
	return code
}

// caller runs junction for one scenario.
type caller struct {
	program, workflows, scenario string
	dir                          string // of the store and of files in passing
	servers                      string // the servers file
	env                          []string
	out, errs                    io.Writer
}

// act runs the scenario's workflow where there is one, else asks the server what it
// is.
func (c *caller) act(ctx context.Context, given string) (int, error) {
	c.servers = filepath.Join(c.workflows, "junction.yaml")
	input, err := c.prepare(ctx, given)
	if err != nil {
		return 0, err
	}
	workflow := filepath.Join(c.workflows, filepath.FromSlash(c.scenario)+".yaml")
	switch _, err := os.Stat(workflow); {
	case errors.Is(err, fs.ErrNotExist):
		return c.look(ctx)
	case err != nil:
		return 0, err
	}
	args := []string{"run", workflow, "--config", c.servers}
	if input != nil {
		file := filepath.Join(c.dir, "input.json")
		if err := os.WriteFile(file, input, 0o600); err != nil {
			return 0, err
		}
		args = append(args, "--input", file)
	}
	return c.run(ctx, args)
}

// look lists the servers. One that cannot be used is a failure here.
func (c *caller) look(ctx context.Context) (int, error) {
	code, printed, err := c.junction(ctx, "servers", "--config", c.servers, "--json")
	if err != nil || code != 0 {
		return code, err
	}
	var servers []struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(printed, &servers); err != nil {
		return 0, err
	}
	if len(servers) != 1 || servers[0].Error != "" {
		return 1, nil
	}
	return 0, nil
}

// run runs a workflow to its end, and answers what is asked on the way.
func (c *caller) run(ctx context.Context, args []string) (int, error) {
	for range rounds {
		code, printed, err := c.attend(ctx, args)
		if err != nil || code != waiting {
			return code, err
		}
		var outcome struct {
			Thread     string     `json:"thread"`
			Interrupts []question `json:"interrupts"`
		}
		if err := json.Unmarshal(printed, &outcome); err != nil {
			return 0, err
		}
		if args, err = resumption(outcome.Thread, outcome.Interrupts); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("questions without an end, after %d rounds of answers", rounds)
}

// resumption are the arguments that answer questions of a thread.
func resumption(thread string, questions []question) ([]string, error) {
	args := []string{"resume", thread}
	for _, q := range questions {
		answer, err := q.answer()
		if err != nil {
			return nil, err
		}
		args = append(args, "--answer", q.ID+"="+answer)
	}
	return args, nil
}

// attend runs junction, and meanwhile answers what a server asks while its call
// stays open, as a person would from another terminal.
func (c *caller) attend(ctx context.Context, args []string) (code int, printed []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		code, printed, err = c.junction(ctx, c.stored(args...)...)
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var trouble error
	for answered := map[string]bool{}; ; {
		select {
		case <-done:
			return code, printed, errors.Join(err, trouble)
		case <-look.C:
			trouble = c.answerLive(ctx, answered)
		}
	}
}

// answerLive answers the questions that wait while their threads run.
func (c *caller) answerLive(ctx context.Context, answered map[string]bool) error {
	code, printed, err := c.junction(ctx, c.stored("threads")...)
	if err != nil || code != 0 {
		return err // there may be no store yet
	}
	var threads []struct {
		ID        string     `json:"id"`
		Status    string     `json:"status"`
		Questions []question `json:"questions"`
	}
	if err := json.Unmarshal(printed, &threads); err != nil {
		return err
	}
	for _, t := range threads {
		open := slices.DeleteFunc(t.Questions, func(q question) bool { return answered[q.ID] })
		if t.Status != "running" || len(open) == 0 {
			continue
		}
		args, err := resumption(t.ID, open)
		if err != nil {
			return err
		}
		if code, _, err := c.junction(ctx, c.stored(args...)...); err != nil || code != 0 {
			return err // the thread may have stopped just then: its questions wait for the next round
		}
		for _, q := range open {
			answered[q.ID] = true
		}
	}
	return nil
}

// stored adds what finds the threads.
func (c *caller) stored(args ...string) []string {
	return append(slices.Clone(args), "--json", "--store", "sqlite:"+filepath.Join(c.dir, "state.db"))
}

// junction runs the program and returns its exit code and what it printed.
func (c *caller) junction(ctx context.Context, args ...string) (int, []byte, error) {
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env, cmd.Dir = c.env, c.dir
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&printed, c.out), c.errs
	fmt.Fprintln(c.errs, "$ junction", strings.Join(args, " "))
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), printed.Bytes(), nil
	}
	return 0, printed.Bytes(), err
}
