package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"junction/state/redis/redistest"
)

// TestScripts runs the command line as people type it: testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	example, err := filepath.Abs(filepath.Join("..", "..", "examples", "codereview", "review.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			// The go command of the Go reviewer keeps its cache at home.
			e.Setenv("HOME", os.Getenv("HOME"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			e.Setenv("EXAMPLE", example)
			if strings.HasPrefix(filepath.Base(e.WorkDir), "script-fleet") {
				e.Setenv("REDIS", redistest.Shared(t).Address()+"?prefix="+uuid.NewString())
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"waits":     waits,
			"jsonlines": jsonLines,
			"seed":      seed,
			"large":     func(ts *testscript.TestScript, _ bool, args []string) { fill(ts, args[0], ' ', 50<<20) },
			"binary":    func(ts *testscript.TestScript, _ bool, args []string) { fill(ts, args[0], 0, 1000) },
		},
	})
}

// waits polls until a thread has a status, for half a minute at most.
func waits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: waits THREAD STATUS")
	}
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	line := regexp.MustCompile("(?m)^" + args[0] + ` +\S+ +` + args[1] + " ")
	for {
		ts.Check(ts.Exec("junction", "threads"))
		list := ts.ReadFile("stdout")
		if line.MatchString(list) {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			ts.Fatalf("thread %s is not %s after half a minute:\n%s", args[0], args[1], list)
		}
	}
}

// exits runs a command and holds its exit code against the first argument.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [args…]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("exits: %v", err)
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}

// jsonLines checks that each line of a file is a message of JSON-RPC, and that so many
// of them are answers.
func jsonLines(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonlines FILE ANSWERS")
	}
	answers := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var m struct {
			Version string `json:"jsonrpc"`
			ID      *int
			Method  string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || m.ID == nil && m.Method == "" {
			ts.Fatalf("no message: %s (%v)", line, err)
		}
		if m.Method == "" {
			answers++
		}
	}
	if want, err := strconv.Atoi(args[1]); err != nil || answers != want {
		ts.Fatalf("%d answers, want %s", answers, args[1])
	}
}

// seed writes a file with an AWS-style key on its second line, made from parts
// so that this repository holds none.
func seed(ts *testscript.TestScript, _ bool, args []string) {
	text := "[default]\naws_access_key_id = " + "AK" + "IA" + "Q7ZLMX4KP2RD" + "VW3T" + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// fill writes a file of size bytes.
func fill(ts *testscript.TestScript, name string, with byte, size int) {
	ts.Check(os.WriteFile(ts.MkAbs(name), bytes.Repeat([]byte{with}, size), 0o600))
}
