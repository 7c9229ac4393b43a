package goreview_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"junction/examples/codereview/repo/repotest"
	"junction/examples/codereview/reviewer"
)

// TestForeignCodeIsNotRun reviews a module that asks for commands, downloads
// and files of this machine wherever the go command knows a way.
func TestForeignCodeIsNotRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the trap is a shell script")
	}
	outside := t.TempDir()
	ran := filepath.Join(outside, "ran")
	trap := filepath.Join(outside, "trap")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\ntouch '"+ran+"'\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "secret")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(secret, "go.mod"), "module example.com/secret\n")
	write(t, filepath.Join(secret, "s.go"), "package secret\n\nconst Key = 1\n")
	t.Setenv("GOFLAGS", "-toolexec="+trap)

	r := commit(t, tree{
		"go.mod": "module example.org/hostile\n\ngo 1.99\n\ntoolchain go1.99.0\n\nrequire example.com/secret v0.0.0\n\n" +
			"replace example.com/secret => " + secret + "\n",
		"a.go": "package hostile\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/secret\"\n)\n\n" +
			"//go:generate " + trap + "\n\nvar _ string = secret.Key\n\nfunc F() { fmt.Sprint(1) }\n",
		"cgo.go": "package hostile\n\n// #cgo pkg-config: " + trap + "\n// #cgo CFLAGS: -fplugin=" + trap + "\nimport \"C\"\n",
		"go.env": "GOTOOLCHAIN=path\nGOFLAGS=-toolexec=" + trap + "\n",
	})
	got := review(t, newReviewer(t, reviewer.Deep), r, "a.go")
	expect(t, got,
		"0:0 info incomplete analysed in part: these imports are not available offline: example.com/secret",
		"13:12 medium unusedresult result of fmt.Sprint call not used")
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Errorf("a command of the reviewed module was run (%v)", err)
	}
}

func TestALinkOutOfTheRepositoryIsNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "b.go"), "package m\n\nfunc B() {}\n")
	r := repotest.New(t)
	r.Write("go.mod", mod)
	r.Write("a.go", "package m\n\nfunc A() { B() }\n")
	r.Symlink(filepath.Join(outside, "b.go"), "b.go")
	r.Commit()
	got := review(t, newReviewer(t, reviewer.Shallow), r, "a.go")
	if len(got) != 1 || !strings.Contains(got[0].Message, "undefined: B") {
		t.Errorf("findings %v, want B undefined", brief(got))
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
