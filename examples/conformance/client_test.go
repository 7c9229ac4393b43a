package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeVar makes the test binary play junction: it notes how it was called in the
// file of this name.
const fakeVar = "FAKE_JUNCTION_LOG"

// playJunction asks a question after a run, and while one is under way in the
// scenario "live". It returns the exit code.
func playJunction(args []string, log string) int {
	before, err := os.ReadFile(log)
	if err != nil {
		return 9
	}
	if err := os.WriteFile(log, fmt.Appendln(before, strings.Join(args, " ")), 0o600); err != nil {
		return 9
	}
	const asks = `[{"id":"q","schema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}]`
	live := os.Getenv(envScenario) == "live"
	switch {
	case args[0] == "servers":
		fmt.Println(`[{"id":"suite","error":"` + os.Getenv("FAKE_JUNCTION_ERROR") + `"}]`)
	case args[0] == "threads" && live:
		fmt.Println(`[{"id":"t","status":"running","questions":` + asks + `}]`)
	case args[0] == "threads":
		fmt.Println("[]")
	case args[0] == "run" && live: // until somebody has answered
		for range 200 {
			if now, err := os.ReadFile(log); err == nil && strings.Contains(string(now), "resume t") {
				return 0
			}
			<-time.After(50 * time.Millisecond)
		}
		return 1
	case args[0] == "run":
		fmt.Println(`{"thread":"t","interrupts":` + asks + `}`)
		return waiting
	}
	return 0
}

// play runs the client in a scenario that has a workflow or none, and returns its
// exit code and how junction was called.
func play(t *testing.T, scenario string, workflow bool, more map[string]string) (code int, calls []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	files := []string{log}
	if workflow {
		files = append(files, filepath.Join(dir, scenario+".yaml"))
	}
	for _, f := range files {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{envJunction: self, envWorkflows: dir, envScenario: scenario, envLimit: "20s"}
	t.Setenv(fakeVar, log)
	t.Setenv(envScenario, scenario)
	for k, v := range more {
		env[k] = v
		t.Setenv(k, v)
	}
	code = client(t.Context(), "http://localhost:1/mcp", func(name string) string { return env[name] }, io.Discard, io.Discard)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		calls = append(calls, strings.Split(strings.TrimSpace(line), " --")[0]+answerIn(line))
	}
	return code, calls
}

// answerIn is the answer that a call of junction gives, behind a space.
func answerIn(line string) string {
	_, rest, found := strings.Cut(line, "--answer ")
	if !found {
		return ""
	}
	answer, _, _ := strings.Cut(rest, " --")
	return " " + answer
}

func TestQuestionsAreAnsweredAfterTheRunThatPutThem(t *testing.T) {
	code, calls := play(t, "ends-with-a-question", true, nil)
	calls = slices.DeleteFunc(calls, func(c string) bool { return c == "threads" })
	if code != 0 || len(calls) != 2 || !strings.HasPrefix(calls[0], "run ") || calls[1] != `resume t q={"sure":true}` {
		t.Errorf("exit code %d, calls %q", code, calls)
	}
}

func TestQuestionsAreAnsweredOnceWhileTheRunThatPutsThemWaits(t *testing.T) {
	code, calls := play(t, "live", true, nil)
	answers := 0
	for _, c := range calls {
		if c == `resume t q={"sure":true}` {
			answers++
		}
	}
	if code != 0 || answers != 1 {
		t.Errorf("exit code %d, calls %q", code, calls)
	}
}

func TestAScenarioWithoutAWorkflowListsTheServers(t *testing.T) {
	if code, calls := play(t, "initialize", false, nil); code != 0 || len(calls) != 1 || calls[0] != "servers" {
		t.Errorf("exit code %d, calls %q", code, calls)
	}
	if code, _ := play(t, "initialize", false, map[string]string{"FAKE_JUNCTION_ERROR": "it is off"}); code != 1 {
		t.Errorf("exit code %d for a server that cannot be used", code)
	}
}

func TestAClientOfTheSuitesAuthorizationServerIsSetUp(t *testing.T) {
	code, calls := play(t, "auth/client-credentials-jwt", false, map[string]string{envContext: `{"client_id":"c","private_key_pem":"PEM"}`})
	if code != 0 || len(calls) != 1 {
		t.Errorf("exit code %d, calls %q", code, calls)
	}
	c := caller{workflows: "w", dir: t.TempDir()}
	if err := c.authorize(`{"client_id":"c","private_key_pem":"PEM"}`); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(c.dir, "key.pem"))
	if err != nil || string(key) != "PEM" || c.servers != filepath.Join("w", "oauth-key.yaml") || !slices.Contains(c.env, "CONFORMANCE_CLIENT_ID=c") {
		t.Errorf("servers file %s, environment %q, key %q, %v", c.servers, c.env, key, err)
	}
}
