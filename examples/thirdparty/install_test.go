package thirdparty_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"junction/router"
	"junction/router/mcp"
	"junction/router/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything is the program that runs as two servers.
const everything = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// installed makes sure that the servers of package-lock.json are there; it
// skips the test only where npm is absent, or under -short.
func installed(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers from npm: left out under -short")
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

// install runs npm ci unless what it installed last is of the same lock file.
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
	out, err := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(stamp, []byte(digest), 0o600)
})

// servers loads junction.yaml with the HTTP server at address.
func servers(t *testing.T, address string) *static.Config {
	t.Helper()
	config, err := static.Load(static.FileName, &static.Options{LookupEnv: func(name string) (string, bool) {
		if name == "EVERYTHING_URL" {
			return address, true
		}
		return os.LookupEnv(name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func named(t *testing.T, config *static.Config, id string) *router.Server {
	t.Helper()
	for _, s := range config.Servers {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("%s declares no server %s", config.Path, id)
	return nil
}

// client speaks to the servers until the test ends.
func client(t *testing.T) *mcp.Client { return closed(t, mcp.New(nil)) }

// closed has c closed when the test ends.
func closed(t *testing.T, c *mcp.Client) *mcp.Client {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return c
}

// nowhere is an address at which nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("http://127.0.0.1:%d/mcp", freePort(t))
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// overHTTP runs server-everything over Streamable HTTP until the test ends and
// returns its address.
func overHTTP(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), "node", everything, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		heard := sync.OnceFunc(func() { close(listening) })
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if strings.Contains(lines.Text(), "listening") {
				heard()
			}
		}
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("ending the server: %v", err)
		}
		<-read
		_ = cmd.Wait() // killed: its status says nothing
	})
	select {
	case <-listening:
	case <-read:
		t.Fatal("the server ended before it listened")
	case <-time.After(time.Minute):
		t.Fatal("the server does not listen")
	}
	return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
}
