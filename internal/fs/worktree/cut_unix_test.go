//go:build unix

package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// TestCutOutput: an output over the limit is no answer where the whole is needed, and one that acts works to its end.
func TestCutOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "git")
	testenv.Must(t, testenv.Executable(program, []byte("#!/bin/sh\nhead -c 17000000 /dev/zero || exit\nprintf done >ended\n")))
	g := worktree.Git{Program: program, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	if out, err := g.Run(t.Context(), dir); err == nil || out != "" || !strings.Contains(err.Error(), "it wrote more than") {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	testenv.Must(t, os.RemoveAll(filepath.Join(dir, "ended")))
	if err := g.Act(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ended")); err != nil {
		t.Errorf("it did not work to its end: %v", err)
	}
}

// TestCutDiff: a diff that is longer than the limit says so.
func TestCutDiff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	w.write(tree.Path, "long.txt", strings.Repeat("0123456789abcde\n", 17<<16))
	if d := w.diff(tree); !d.More || len(d.Text) != 16<<20 || len(d.Files) != 1 {
		t.Errorf("more %v, %d bytes, %v", d.More, len(d.Text), d.Files)
	}
}

// TestHalfGoneWithWork: work made in a worktree after its removal was cut short stays, though more files are missing
// than a status lists.
func TestHalfGoneWithWork(t *testing.T) {
	t.Parallel()
	for _, work := range []string{"f190", "new"} {
		w := newWorld(t, "repo")
		for i := range 200 {
			w.write(w.repo, fmt.Sprintf("f%03d", i), "x")
		}
		w.commit(w.repo, "many")
		tree := w.create("bob")
		func() {
			defer func() { _ = recover() }()
			_ = w.store.Stop(func(step string) {
				if step == "removing" {
					panic(step)
				}
			}).Remove(t.Context(), tree)
		}()
		for i := range 190 {
			testenv.Must(t, os.Remove(filepath.Join(tree.Path, fmt.Sprintf("f%03d", i))))
		}
		w.write(tree.Path, work, "mine")
		if err := w.store.Remove(t.Context(), tree); err == nil {
			t.Errorf("%s: it was removed", work)
		}
		if b, err := os.ReadFile(filepath.Join(tree.Path, work)); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", work, b, err)
		}
		testenv.Must(t, os.Remove(filepath.Join(tree.Path, work)))
		if err := w.store.Remove(t.Context(), tree); err != nil {
			t.Errorf("%s: %v", work, err)
		}
		w.gone(tree.Path)
	}
}
