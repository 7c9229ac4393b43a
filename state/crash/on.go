//go:build crashpoints && unix

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var (
	mu     sync.Mutex
	passed = earlier()
)

// earlier counts what processes before this one passed, by the trace they left:
// the Nth passage is counted over all of them.
func earlier() map[string]int {
	count := map[string]int{}
	path := os.Getenv("JUNCTION_CRASH_TRACE")
	if path == "" {
		return count
	}
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	for _, name := range strings.Fields(string(data)) {
		count[name]++
	}
	return count
}

// Point kills the process when it is the one that JUNCTION_CRASH names.
func Point(name string) {
	mu.Lock()
	defer mu.Unlock()
	passed[name]++
	if path := os.Getenv("JUNCTION_CRASH_TRACE"); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		if _, err := f.WriteString(name + "\n"); err != nil {
			panic(err)
		}
		if err := f.Close(); err != nil {
			panic(err)
		}
	}
	want, nth, _ := strings.Cut(os.Getenv("JUNCTION_CRASH"), ":")
	n, err := strconv.Atoi(nth)
	if err != nil {
		n = 1
	}
	if want == name && passed[name] == n {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {}
	}
}
