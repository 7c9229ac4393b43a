package repo_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"junction/examples/codereview/repo"
	"junction/examples/codereview/repo/repotest"
)

// TestNothingTheRepositorySaysIsRun reads a repository that asks for a command
// at every place git would run one.
func TestNothingTheRepositorySaysIsRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the trap is a shell script")
	}
	r := repotest.New(t)
	ran := filepath.Join(t.TempDir(), "ran")
	trap := filepath.Join(t.TempDir(), "trap.sh")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $@\" >> '"+ran+"'\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.Write("a.txt", "one\n")
	r.Write(".gitattributes", "*.txt diff=trap filter=trap merge=trap\n")
	r.Commit()
	r.Write("a.txt", "two\n")
	r.Commit()
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "core.editor",
		"core.alternateRefsCommand", "diff.external", "diff.trap.textconv", "diff.trap.command",
		"filter.trap.smudge", "filter.trap.clean", "filter.trap.process", "merge.trap.driver",
		"gpg.program", "uploadpack.packObjectsHook", "interactive.diffFilter",
	} {
		r.Git("config", key, trap)
	}
	r.Git("config", "core.hooksPath", filepath.Dir(trap))
	r.Git("config", "alias.ls-tree", "!"+trap)
	if err := os.Remove(ran); err != nil && !os.IsNotExist(err) {
		t.Fatal(err) // git config itself may have run one
	}

	readAll(t, r.Dir)
	if out, err := os.ReadFile(ran); !os.IsNotExist(err) {
		t.Errorf("the repository's commands were run:\n%s%v", out, err)
	}
}

func readAll(t *testing.T, dir string) {
	t.Helper()
	ctx := t.Context()
	r, err := repo.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	head, err := r.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := r.Parent(ctx, head)
	if err != nil || parent == "" {
		t.Fatalf("parent %q, %v", parent, err)
	}
	changes, err := r.Diff(ctx, parent, head)
	if err != nil || len(changes) != 1 {
		t.Fatalf("changes %v, %v", changes, err)
	}
	if tree, err := r.Tree(ctx, head); err != nil || len(tree) != 2 {
		t.Fatalf("tree %v, %v", tree, err)
	}
	blobs, err := r.Blobs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := blobs.Read(changes[0].Blob); err != nil || string(content) != "two\n" {
		t.Errorf("content %q, %v", content, err)
	}
	if err := blobs.Close(); err != nil {
		t.Error(err)
	}
}

// TestAMissingObjectIsNotFetched reads a partial clone whose remote would run a
// command.
func TestAMissingObjectIsNotFetched(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the trap is a shell command")
	}
	r := repotest.New(t)
	r.Write("a.txt", "one\n")
	r.Commit()
	id := strings.TrimSpace(r.Git("rev-parse", "HEAD:a.txt"))
	ran := filepath.Join(t.TempDir(), "ran")
	r.Git("config", "remote.origin.url", "ext::sh -c touch% "+ran)
	r.Git("config", "remote.origin.promisor", "true")
	r.Git("config", "protocol.ext.allow", "always")
	r.Git("config", "extensions.partialClone", "origin")
	r.Git("config", "core.repositoryFormatVersion", "1")
	if err := os.Remove(filepath.Join(r.Dir, ".git", "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}

	opened, err := repo.Open(t.Context(), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := opened.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Read(id); err == nil {
		t.Error("a missing object was read")
	}
	if err := blobs.Close(); err != nil {
		t.Error(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Errorf("the remote's command was run (%v)", err)
	}
}

func TestARevisionThatLooksLikeAnOptionIsRefused(t *testing.T) {
	r := repotest.New(t)
	r.Write("a", "")
	r.Commit()
	opened, err := repo.Open(t.Context(), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, revision := range []string{"", "--output=x", "-h", "nowhere"} {
		if id, err := opened.Commit(t.Context(), revision); err == nil {
			t.Errorf("Commit(%q) = %q, want an error", revision, id)
		}
	}
}
