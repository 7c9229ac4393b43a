package diagnose_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"junction/router"
	"junction/router/diagnose"
)

// child is a server that is this test binary.
func child(t *testing.T, does string) *router.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &router.Server{ID: "child", Name: "child", Dial: router.Dial{Command: self, Env: map[string]string{stdioEnv: does}}}
}

// textFile is a file that is no program.
func textFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("127.0.0.1 localhost\n"), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAServerThatIsAProcess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server *router.Server
		layer  int
		want   string
		says   []string
	}{
		{"healthy", child(t, "serve"), 0, "pppaapa", nil},
		{"no such command", &router.Server{ID: "x", Dial: router.Dial{Command: "no-such-command-here"}}, diagnose.Network, "frraara", []string{"no command", "install it"}},
		{"no program", &router.Server{ID: "x", Dial: router.Dial{Command: textFile(t, 0o755)}}, diagnose.Network, "frraara", []string{"cannot be run", "#!/bin/sh"}},
		{"not executable", &router.Server{ID: "x", Dial: router.Dial{Command: textFile(t, 0o644)}}, diagnose.Network, "frraara", []string{"may not be run"}},
		{"no such directory", &router.Server{ID: "x", Dial: router.Dial{Command: "true", Dir: "/no/such/place"}}, diagnose.Network, "frraara", []string{"working directory"}},
		{"dies", child(t, "die"), diagnose.Network, "frraara", []string{"ends before it answers", "config.toml: no such file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := diagnosed(t, tt.server, nil)
			if tt.layer > 0 {
				blames(t, r, tt.layer, tt.says...)
			}
			has(t, r, tt.want)
		})
	}
}

func TestAProcessThatDoesNotAnswerIsNoEndpoint(t *testing.T) {
	t.Parallel()
	r := diagnosed(t, child(t, "chat"), &diagnose.Options{Patience: time.Second, Start: 2 * time.Second})
	blames(t, r, diagnose.Endpoint, "runs, and does not answer the handshake")
	has(t, r, "pfraara")
}
