package bridge_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var scratch string // of all tests

func TestMain(m *testing.M) {
	if dir := os.Getenv(tillDir); dir != "" {
		if err := serveTill(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "bridge")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}

// installed makes sure that the clients of package-lock.json are there; it skips the
// test only where npm is absent, or under -short.
func installed(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts clients from npm: left out under -short")
	}
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s, which is not on PATH", program)
		}
	}
	if err := install(); err != nil {
		t.Fatal(err)
	}
}

// install installs by the lock file unless what it installed last is of the same one. npm
// ci takes no lock file without a package that only Windows needs, and not every
// registry has that one.
var install = sync.OnceValue(func() error {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(lock)
	stamp, digest := filepath.Join("node_modules", ".installed"), hex.EncodeToString(sum[:])
	last, err := os.ReadFile(stamp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if string(last) == digest {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	args := []string{"install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"}
	if recent("node") {
		args = append(args, "--omit=optional")
	}
	out, err := exec.CommandContext(ctx, "npm", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	return os.WriteFile(stamp, []byte(digest), 0o600)
})

// recent says whether that Node is one that the Inspector runs on: 22.19 or later.
func recent(node string) bool {
	out, err := exec.Command(node, "--version").Output() //nolint:noctx // it ends at once
	var major, minor int
	if _, scanned := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil || scanned != nil {
		return false
	}
	return major > 22 || major == 22 && minor >= 19
}

// node is one that both clients run on: that on PATH, or the one that came along.
func node(t *testing.T) string {
	t.Helper()
	if recent("node") {
		return "node"
	}
	brought := fmt.Sprintf("node_modules/node-%s-%s/bin/node", runtime.GOOS, strings.ReplaceAll(runtime.GOARCH, "amd64", "x64"))
	if !recent(brought) {
		t.Skip("needs Node 22.19 or later, and the one on PATH is older")
	}
	path, err := filepath.Abs(brought)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// built is where the tests' own junction program is, and the error of its build.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "junction")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "junction/cmd/junction") //nolint:noctx // it is for all tests, and no single one's to cancel
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
	}
	return path, nil
})

// program is junction, or the one that the environment variable JUNCTION names.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("JUNCTION"); path != "" {
		return path
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
