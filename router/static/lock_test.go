package static_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/static"
)

const pinnedFile = "mcpServers:\n  a: {url: http://127.0.0.1:1/mcp, approval: pinned}\n  b: {url: http://127.0.0.1:2/mcp}\n"

func tools(names ...string) []router.Tool {
	var all []router.Tool
	for _, name := range names {
		all = append(all, router.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return all
}

func lock(t *testing.T, f file) *static.Lock {
	t.Helper()
	l, err := static.ReadLock(static.LockPath(f.path))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestApprovalsLieBesideTheServersFile(t *testing.T) {
	t.Parallel()
	f := newFile(t, pinnedFile)
	load := func() []*router.Server {
		t.Helper()
		c, err := static.Load(f.path, options(nil))
		if err != nil {
			t.Fatal(err)
		}
		return c.Servers
	}
	if s := load()[0]; s.Approval != router.Pinned || s.Held("x", tools("x")[0].Print()) == "" {
		t.Errorf("without a lock: %+v", s)
	}
	l := lock(t, f)
	l.Approve("a", tools("x", "y"))
	l.Approve("b", tools("x"))
	if err := l.Write(); err != nil {
		t.Fatal(err)
	}
	if l.Path != filepath.Join(filepath.Dir(f.path), "junction.lock.json") {
		t.Error(l.Path)
	}
	s := load()
	if s[0].Held("x", tools("x")[0].Print()) != "" || s[0].Held("x", tools("y")[0].Print()) == "" || len(s[0].Approved) != 2 {
		t.Errorf("with a lock: %+v", s[0])
	}
	if s[1].Approved != nil || s[1].Held("z", router.ToolPrint{}) != "" {
		t.Errorf("a server that is not pinned is held to something: %+v", s[1])
	}
	left, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil || len(left) != 2 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

func TestTheLockIsTheSameForTheSameApprovals(t *testing.T) {
	t.Parallel()
	f := newFile(t, pinnedFile)
	write := func(names ...string) string {
		t.Helper()
		l := lock(t, f)
		for _, server := range names {
			l.Approve(server, tools("y", "x"))
		}
		if err := l.Write(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(l.Path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := write("b", "a")
	if diff := cmp.Diff(first, write("a", "b")); diff != "" {
		t.Error(diff)
	}
	if strings.Index(first, `"a"`) > strings.Index(first, `"b"`) || strings.Count(first, "\n") < 10 || !strings.HasSuffix(first, "}\n") {
		t.Errorf("it is not sorted, or not in lines:\n%s", first)
	}
	var whole map[string]any
	if err := json.Unmarshal([]byte(first), &whole); err != nil {
		t.Error(err)
	}
}

func TestChangesNameToolsAndParts(t *testing.T) {
	t.Parallel()
	f := newFile(t, pinnedFile)
	l := lock(t, f)
	l.Approve("a", tools("gone", "same", "told"))
	now := tools("new", "same", "told")
	now[2].Description, now[2].OutputSchema = "Does told, and more.", json.RawMessage(`{}`)
	want := []static.Change{
		{Tool: "gone", Kind: "removed"}, {Tool: "new", Kind: "added"},
		{Tool: "told", Kind: "changed", Parts: []string{"description", "output schema"}},
	}
	if diff := cmp.Diff(want, l.Changes("a", now)); diff != "" {
		t.Error(diff)
	}
	l.Approve("a", now)
	if left := l.Changes("a", now); left != nil {
		t.Errorf("%+v", left)
	}
	l.Approve("a", nil)
	if len(l.Servers()) != 0 {
		t.Errorf("%v", l.Servers())
	}
}

func TestALockThatCannotBeUnderstoodApprovesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"half":            `{"version": 1, "servers": {"a": {`,
		"another version": `{"version": 2, "servers": {}}`,
		"no version":      `{"servers": {}}`,
		"unknown part":    `{"version": 1, "servers": {"a": {"x": {"title": "00"}}}}`,
		"two documents":   `{"version": 1, "servers": {}} {}`,
		"empty":           ``,
		"conflict":        "<<<<<<< ours\n{}\n",
	} {
		f := newFile(t, pinnedFile)
		if err := os.WriteFile(static.LockPath(f.path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := static.Load(f.path, options(nil)); err == nil || !strings.Contains(err.Error(), "junction.lock.json") {
			t.Errorf("%s: %v", name, err)
		}
		f.write("mcpServers:\n  b: {url: http://127.0.0.1:2/mcp}\n")
		if _, err := static.Load(f.path, options(nil)); err != nil {
			t.Errorf("%s: a file that pins nothing needs no lock: %v", name, err)
		}
	}
}

func TestAnApprovalIsSeenByThoseWhoFollowTheFile(t *testing.T) {
	t.Parallel()
	f := newFile(t, pinnedFile)
	d := f.discovery()
	before := d.Snapshot()
	l := lock(t, f)
	l.Approve("a", tools("x"))
	if err := l.Write(); err != nil {
		t.Fatal(err)
	}
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := d.Snapshot()
	if after.Version == before.Version || after.Servers[0] == before.Servers[0] || after.Servers[1] != before.Servers[1] {
		t.Fatalf("version %d, then %d", before.Version, after.Version)
	}
	if after.Servers[0].Held("x", tools("x")[0].Print()) != "" {
		t.Error("it is held back still")
	}
	if err := os.Remove(l.Path); err != nil {
		t.Fatal(err)
	}
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Snapshot().Servers[0].Held("x", tools("x")[0].Print()) == "" {
		t.Error("the lock is gone, and what stood in it counts")
	}
}

func TestAnotherWordThanPinnedIsAFault(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"pined", "true", "[pinned]"} {
		_, err := static.Parse("j.yaml", []byte("mcpServers:\n  a: {url: http://127.0.0.1:1/mcp, approval: "+word+"}\n"), options(nil))
		if err == nil || !strings.Contains(err.Error(), "2:46") {
			t.Errorf("%s: %v", word, err)
		}
	}
}
