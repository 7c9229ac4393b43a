package consultest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Version is that of the agent which the Makefile builds.
const Version = "1.14.11"

// Binary returns the path of the agent's program. Without one the test fails, or
// is skipped under -short.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("JUNCTION_CONSUL"); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("JUNCTION_CONSUL names no program: %v", err)
		}
		return path
	}
	if path := filepath.Join(moduleRoot(t), ".bin", "consul-"+Version); isFile(path) {
		return path
	}
	if path, err := exec.LookPath("consul"); err == nil {
		return path
	}
	if testing.Short() {
		t.Skip("no Consul agent: `make consul` builds it")
	}
	t.Fatal("no Consul agent: `make test` builds it first, `make consul` does nothing else; or let JUNCTION_CONSUL name one")
	return ""
}

// moduleRoot is the nearest directory above with a go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("where the tests run is unknown: %v", err)
	}
	for !isFile(filepath.Join(dir, "go.mod")) {
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
	return dir
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
