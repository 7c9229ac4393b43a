//go:build unix

package childtest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"junction/state/childtest"
)

const busy = "JUNCTION_CHILDTEST_BUSY"

func TestMain(m *testing.M) {
	if os.Getenv(busy) != "" {
		count()
		return
	}
	os.Exit(m.Run())
}

// count writes to a file from several threads for as long as it may.
func count() {
	for range 4 {
		go func() {
			file, err := os.OpenFile(os.Getenv(busy), os.O_APPEND|os.O_WRONLY, 0o600)
			for err == nil {
				_, err = file.WriteString(".")
			}
		}()
	}
	fmt.Println("begun")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return
	}
}

func TestAStoppedChildStandsStillOnceStopReturns(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/counts"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), busy+"="+file)
	childtest.Bound(child)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "begun" {
		t.Fatalf("%q, %v", line, err)
	}
	size := func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for range 200 {
		if err := childtest.Stop(child.Process); err != nil {
			t.Fatal(err)
		}
		at := size()
		for range 50 {
			if now := size(); now != at {
				t.Fatalf("it wrote on after it was stopped: %d, then %d", at, now)
			}
		}
		if err := childtest.Cont(child.Process); err != nil {
			t.Fatal(err)
		}
		for size() == at {
			continue
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}
