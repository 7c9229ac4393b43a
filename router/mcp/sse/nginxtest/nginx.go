// Package nginxtest puts a real nginx in front of a test's server.
package nginxtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nginxVar names the program, where it is not on PATH.
const nginxVar = "JUNCTION_NGINX"

// Start runs an nginx in front of a server until the test ends, with directives of
// its location, and returns its address. A port that was free a moment ago may be
// taken: it is tried again with another.
func Start(t testing.TB, upstream, directives string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real nginx is left out of short runs")
	}
	program := os.Getenv(nginxVar)
	if program == "" {
		var err error
		if program, err = exec.LookPath("nginx"); err != nil {
			t.Fatalf("nginx is needed: make nginx installs it, or name the program in %s", nginxVar)
		}
	}
	for try := 1; ; try++ {
		address, said := start(t, program, upstream, directives)
		if address != "" {
			return address
		}
		if try == 5 || !strings.Contains(said, "in use") {
			t.Fatalf("nginx did not start: %s", said)
		}
	}
}

// start returns the address once nginx accepts connections, or what it said.
func start(t testing.TB, program, upstream, directives string) (address, said string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var stderr bytes.Buffer
	cmd := exec.Command(program, "-e", "stderr", "-p", dir, "-c", configure(t, dir, address, upstream, directives))
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // how it ended is told by what it said
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
	})
	limit := time.After(20 * time.Second)
	for {
		if c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address); err == nil {
			_ = c.Close() // it was only to see that somebody listens
			select {
			case <-ended: // and it was not somebody else
				return "", stderr.String()
			case <-time.After(20 * time.Millisecond):
				return "http://" + address, ""
			}
		}
		select {
		case <-ended:
			return "", stderr.String()
		case <-limit:
			t.Fatal("nginx accepts no connections")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// configure writes the configuration, and returns its path.
func configure(t testing.TB, dir, address, upstream, directives string) string {
	t.Helper()
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	text := fmt.Sprintf(`daemon off;
master_process off;
pid %s/pid;
error_log stderr warn;
events { worker_connections 64; }
http {
	access_log off;
	%s
	server {
		listen %s;
		location / {
			proxy_pass %s;
			%s
		}
	}
}
`, dir, temp.String(), address, upstream, directives)
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf
}
