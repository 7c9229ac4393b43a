package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Environment variables that steer the tests.
const (
	EnvServer = "JUNCTION_REDIS_SERVER" // the program to run
	EnvLong   = "JUNCTION_LONG"         // "1": run what takes seconds
)

// Long skips a test that takes seconds, unless JUNCTION_LONG is 1.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(EnvLong) != "1" {
		t.Skipf("takes seconds; set %s=1 to run it", EnvLong)
	}
}

// binary returns the path of redis-server.
func binary(t testing.TB) string {
	t.Helper()
	path, err := findBinary()
	if err == nil {
		return path
	}
	if testing.Short() {
		t.Skip(err)
	}
	t.Fatal(err)
	return ""
}

func findBinary() (string, error) {
	if path := os.Getenv(EnvServer); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("%s names no program: %w", EnvServer, err)
		}
		return path, nil
	}
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	if root, ok := moduleRoot(); ok {
		if path, err := exec.LookPath(filepath.Join(root, ".bin", "redis-server")); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("redis-server is neither on PATH nor in .bin: `apt-get install redis-server`, "+
		"or `make test`, which gets it, or set %s to the program", EnvServer)
}

// moduleRoot finds go.mod above this file, and above the working directory
// where the tests were built with -trimpath.
func moduleRoot() (string, bool) {
	_, file, _, _ := runtime.Caller(0)
	working, err := os.Getwd()
	if err != nil {
		working = "."
	}
	for _, dir := range []string{filepath.Dir(file), working} {
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				return dir, true
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", false
}
