package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"seed":   seed,
			"large":  func(ts *testscript.TestScript, _ bool, args []string) { fill(ts, args[0], ' ', 50<<20) },
			"binary": func(ts *testscript.TestScript, _ bool, args []string) { fill(ts, args[0], 0, 1000) },
		},
	})
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
