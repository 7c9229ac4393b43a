package mcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestAServerThatDoesNotStartShowsItsLastWords(t *testing.T) {
	s := stdioServer(t, "never starts")
	s.Dial.Env["API_TOKEN"] = "hunter2hunter2"
	c := newClient(t, nil)
	_, err := c.Describe(t.Context(), s)
	e := callError(t, err)
	if e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "exit status 3") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
	want := []string{`config.toml:3: unknown key [31m"prot"`, "token is [masked]"}
	if fmt.Sprint(e.Stderr) != fmt.Sprint(want) {
		t.Errorf("stderr %q, want %q", e.Stderr, want)
	}
}

func TestACommandThatDoesNotExist(t *testing.T) {
	s := &router.Server{ID: "gone", Dial: router.Dial{Command: "no-such-command-anywhere"}}
	var told router.Code
	c := newClient(t, &mcp.Options{OnHandshake: func(_ string, _ time.Duration, failed router.Code) { told = failed }})
	_, err := c.Call(t.Context(), s, call("echo", nil))
	e := callError(t, err)
	if e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "no-such-command-anywhere") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
	if told != router.Transport {
		t.Errorf("of the handshake %q was told", told)
	}
}

func TestAServerThatDiesInMidCallIsStartedAgain(t *testing.T) {
	s := stdioServer(t, "modern")
	var mu sync.Mutex
	var states []mcp.State
	var handshakes atomic.Int32
	c := newClient(t, &mcp.Options{
		OnStateChange: func(_ string, is mcp.State) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, is)
		},
		OnHandshake: func(_ string, took time.Duration, failed router.Code) {
			if took <= 0 || failed != "" {
				t.Errorf("a handshake of %s failed with %q", took, failed)
			}
			handshakes.Add(1)
		},
	})
	first, err := c.Call(t.Context(), s, call("where", nil))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Call(t.Context(), s, call("die", nil))
	e := callError(t, err)
	if e.Code != router.Transport || e.Execution != state.Unknown || !strings.Contains(e.Message, "exit status 7") ||
		fmt.Sprint(e.Stderr) != "[panic: out of ideas]" {
		t.Errorf("%s %s %s %q", e.Code, e.Execution, e.Message, e.Stderr)
	}
	second, err := c.Call(t.Context(), s, call("where", nil))
	if err != nil {
		t.Fatal(err)
	}
	if first.Text == second.Text {
		t.Error("the same process answered")
	}
	mu.Lock()
	defer mu.Unlock()
	if got := fmt.Sprint(states); got != "[connecting ready lost connecting ready]" {
		t.Error("states", got)
	}
	if n := handshakes.Load(); n != 2 {
		t.Errorf("told of %d handshakes, not of 2", n)
	}
}

func TestAServerThatStopsReadingHoldsNobodyBeyondItsClocks(t *testing.T) {
	s := stdioServer(t, "stops reading")
	c := newClient(t, &mcp.Options{Grace: 50 * time.Millisecond})
	if _, err := c.Describe(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	big := map[string]any{"text": strings.Repeat("x", 100<<10)}
	var all sync.WaitGroup
	begin := time.Now()
	var unsent sync.Map
	for i := range 20 {
		all.Go(func() {
			_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Arguments: big, Max: time.Second})
			e := callError(t, err)
			if e.Code != router.Timeout || e.Clock != "maximum" {
				t.Errorf("%s %s", e.Code, e.Message)
			}
			if e.Execution == state.NotExecuted {
				unsent.Store(i, true)
			}
		})
	}
	all.Wait()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	n := 0
	unsent.Range(func(any, any) bool { n++; return true })
	if n < 19 {
		t.Errorf("%d of 20 are known not to have been sent, want all but the one being written", n)
	}
}

func TestAServerThatHangsInItsHandshake(t *testing.T) {
	s := stdioServer(t, "hangs")
	c := newClient(t, &mcp.Options{ConnectTimeout: 300 * time.Millisecond})
	_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Max: 100 * time.Millisecond})
	if e := callError(t, err); e.Code != router.Timeout || e.Execution != state.NotExecuted {
		t.Errorf("the caller's clock: %s %s", e.Code, e.Execution)
	}
	_, err = c.Describe(t.Context(), s)
	if e := callError(t, err); e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "300ms") {
		t.Errorf("the attempt's own limit: %s %s %s", e.Code, e.Execution, e.Message)
	}
}

func TestAServerThatDiesAtTheProbeIsAskedInTheEarlierEra(t *testing.T) {
	s := stdioServer(t, "dies at the probe")
	c := newClient(t, nil)
	d, err := c.Describe(t.Context(), s)
	if err != nil || d.Modern {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, err := c.Call(t.Context(), s, call("die", nil)); err == nil {
		t.Fatal("die answered")
	}
	if _, err := c.Call(t.Context(), s, call("where", nil)); err != nil {
		t.Errorf("the era is not remembered: %v", err)
	}
}

func TestJunkAndStrayAnswersDoNotReachACall(t *testing.T) {
	s := stdioServer(t, "floods")
	var stray atomic.Int64
	c := newClient(t, &mcp.Options{MaxResponseBytes: 100 << 10, OnStray: func(server string, _ mcp.Stray) {
		if server == s.ID {
			stray.Add(1)
		}
	}})
	_, err := c.Call(t.Context(), s, call("echo", nil))
	if e := callError(t, err); e.Code != router.OutputInvalid || e.Execution != state.Unknown {
		t.Errorf("a huge line: %s %s", e.Code, e.Execution)
	}
	if r, err := c.Call(t.Context(), s, call("echo", nil)); err != nil || r.Text != "fine" {
		t.Errorf("%+v, %v", r, err)
	}
	if n := stray.Load(); n != 2 {
		t.Errorf("%d stray answers were told of, want 2", n)
	}
	if got := c.Strays(s.ID); got[mcp.DuplicateAnswer] != 2 { // under the id of the handshake
		t.Errorf("counted %v", got)
	}
}

func TestAnAnswerThatComesAfterItsCallEndedIsToldOfAndDropped(t *testing.T) {
	late := make(chan string, 1)
	s := stdioServer(t, "answers late")
	c := newClient(t, &mcp.Options{OnStray: func(server string, kind mcp.Stray) { late <- server + " " + string(kind) }})
	if _, err := c.Describe(t.Context(), s); err != nil { // starting it is no part of the clocks below
		t.Fatal(err)
	}
	k := call("echo", nil)
	k.Idle, k.Max = 500*time.Millisecond, 500*time.Millisecond
	_, err := c.Call(t.Context(), s, k)
	if e := callError(t, err); e.Code != router.Timeout || e.Execution != state.Unknown {
		t.Fatal(e, e.Execution)
	}
	select {
	case got := <-late:
		if got != s.ID+" late_answer" {
			t.Errorf("told of %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody was told of the late answer")
	}
}

func TestAChildGetsItsOwnEnvironmentAndDirectory(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "ours")
	t.Setenv("LC_ALL", "C")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := stdioServer(t, "modern")
	s.Dial.Dir, s.Dial.Env["OWN"] = dir, "theirs"
	s.Dial.Command = "junction" // stands for this executable
	c := newClient(t, nil)
	r, err := c.Call(t.Context(), s, call("env", nil))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.Text, "AWS_") || !strings.Contains(r.Text, "OWN=theirs") || !strings.Contains(r.Text, "LC_ALL=C") ||
		!strings.Contains(r.Text, "PATH="+os.Getenv("PATH")) {
		t.Error(r.Text)
	}
	if r, err = c.Call(t.Context(), s, call("where", nil)); err != nil || !strings.HasSuffix(r.Text, " "+dir) {
		t.Errorf("%+v, %v; want %s", r, err, dir)
	}
}

func TestAChangedToolListIsReadAgain(t *testing.T) {
	s := stdioServer(t, "legacy")
	c := newClient(t, nil)
	before, err := c.Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Call(t.Context(), s, call("grow", nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new tool is seen", func() bool {
		after, err := c.Describe(t.Context(), s)
		return err == nil && len(after.Tools) == len(before.Tools)+1 && after.Fingerprint != before.Fingerprint
	})
	if r, err := c.Call(t.Context(), s, call("grown", nil)); err != nil || r.Text != "new" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCloseEndsChildrenAndFailsTheirCalls(t *testing.T) {
	s := stdioServer(t, "modern")
	c := mcp.New(&mcp.Options{Grace: 100 * time.Millisecond})
	if _, err := c.Describe(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		_, err := c.Call(context.Background(), s, router.ToolCall{Tool: "steps",
			Arguments: map[string]any{"at": []any{1}, "every": 1, "stuck": true}, Max: time.Minute,
			Progress: func(float64, float64, string) { close(begun) }})
		failed <- err
	}()
	<-begun
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := callError(t, <-failed); e.Code != router.Transport || e.Execution != state.Unknown {
		t.Errorf("%s %s", e.Code, e.Execution)
	}
}

func TestAForgottenServersChildEnds(t *testing.T) {
	s := stdioServer(t, "modern")
	closed := make(chan struct{})
	c := newClient(t, &mcp.Options{OnStateChange: func(_ string, is mcp.State) {
		if is == mcp.Closed {
			close(closed)
		}
	}})
	r, err := c.Call(t.Context(), s, call("where", nil))
	if err != nil {
		t.Fatal(err)
	}
	c.Forget(s.ID)
	<-closed
	var pid int
	fmt.Sscan(r.Text, &pid)
	eventually(t, "the process is gone", func() bool { return !alive(pid) })
}
