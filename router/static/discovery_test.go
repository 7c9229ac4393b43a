package static_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"junction/router"
	"junction/router/static"
	"junction/state/document"
)

// file is a servers file that changes.
type file struct {
	t    *testing.T
	path string
}

func newFile(t *testing.T, text string) file {
	t.Helper()
	f := file{t, filepath.Join(t.TempDir(), static.FileName)}
	f.write(text)
	return f
}

func (f file) write(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f file) discovery() router.Discovery {
	f.t.Helper()
	c, err := static.Load(f.path, options(nil))
	if err != nil {
		f.t.Fatal(err)
	}
	return c.Discovery()
}

func ids(s *router.Snapshot) string {
	var all []string
	for _, server := range s.Servers {
		all = append(all, server.ID)
	}
	return strings.Join(all, " ")
}

func TestRefreshShowsAChangedFile(t *testing.T) {
	f := newFile(t, "mcpServers: {b: {command: x}, a: {command: x}, gone: {command: x}}\n")
	d := f.discovery()
	before := d.Snapshot()
	if ids(before) != "a b gone" || before.Stale {
		t.Fatalf("servers %q, stale %v", ids(before), before.Stale)
	}

	f.write("mcpServers: {a: {command: x}, b: {command: y}, new: {command: x}}\ncapabilities: {c: {input: true}}\n")
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := d.Snapshot()
	if ids(after) != "a b new" || after.Version <= before.Version || len(after.Contracts) != 1 {
		t.Errorf("servers %q, version %d after %d, contracts %v", ids(after), after.Version, before.Version, after.Contracts)
	}
	if after.Servers[0] != before.Servers[0] {
		t.Error("a server that did not change has lost its identity")
	}
	if after.Servers[1] == before.Servers[1] || after.Servers[1].Dial.Command != "y" {
		t.Error("a server that changed is still the old one")
	}
	if ids(before) != "a b gone" {
		t.Error("a snapshot was changed after it was handed out")
	}
}

func TestRefreshOfAnUnchangedFileShowsTheSameSnapshot(t *testing.T) {
	f := newFile(t, "mcpServers: {a: {command: x}}\n")
	d := f.discovery()
	before := d.Snapshot()
	f.write("# a comment changes nothing\nmcpServers: {a: {command: x}}\n")
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Snapshot() != before {
		t.Error("another snapshot for the same servers")
	}
}

func TestAFaultyVersionLeavesTheLastGoodOneInForce(t *testing.T) {
	f := newFile(t, "mcpServers: {a: {command: x}}\n")
	d := f.discovery()
	good := d.Snapshot()

	f.write("mcpServers: {a: {comand: x}}\n")
	err := d.Refresh(t.Context())
	var faults document.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("Refresh = %v, want the faults", err)
	}
	if s := d.Snapshot(); ids(s) != "a" || s.Servers[0] != good.Servers[0] || !s.Stale {
		t.Errorf("servers %q, stale %v; want the last good ones, stale", ids(s), s.Stale)
	}

	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	if err := d.Refresh(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Refresh without a file = %v", err)
	}
	if s := d.Snapshot(); ids(s) != "a" || !s.Stale {
		t.Errorf("servers %q, stale %v after the file went", ids(s), s.Stale)
	}

	f.write("mcpServers: {a: {command: x}}\n")
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := d.Snapshot(); s.Stale || s.Servers[0] != good.Servers[0] || s.Version <= good.Version {
		t.Errorf("stale %v, version %d after the file was mended", s.Stale, s.Version)
	}
}

func TestAFileWithoutBoundIsRefused(t *testing.T) {
	f := newFile(t, strings.Repeat("# padding\n", document.MaxBytes/9))
	_, err := static.Load(f.path, options(nil))
	var faults document.Faults
	if !errors.As(err, &faults) || !strings.Contains(err.Error(), "at most 1048576 are read") {
		t.Errorf("Load = %v", err)
	}
}

func TestRefreshEndsWithItsContext(t *testing.T) {
	d := newFile(t, "mcpServers: {}\n").discovery()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Refresh = %v", err)
	}
}

func TestSnapshotsAreReadWhileTheFileChanges(t *testing.T) {
	f := newFile(t, "mcpServers: {a: {command: x}}\n")
	d := f.discovery()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := uint64(0)
			for range 50 {
				if err := d.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
				s := d.Snapshot()
				if ids(s) != "a" || s.Version < last {
					t.Errorf("servers %q, version %d after %d", ids(s), s.Version, last)
				}
				last = s.Version
			}
		})
	}
	wg.Wait()
}

func TestAConfigurationThatWasParsedHasNoFileToFollow(t *testing.T) {
	d := parse(t, "mcpServers: {a: {command: x}}", nil).Discovery()
	if err := d.Refresh(t.Context()); err != nil || ids(d.Snapshot()) != "a" {
		t.Errorf("Refresh = %v, servers %q", err, ids(d.Snapshot()))
	}
}
