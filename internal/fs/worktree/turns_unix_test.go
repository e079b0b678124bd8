//go:build unix

package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// ends is the end of a turn.
func (w *world) ends(t worktree.Tree, want int) {
	w.t.Helper()
	if n, err := w.store.Git.EndTurn(w.t.Context(), t); err != nil || n != want {
		w.t.Errorf("turn %d, %v; want %d", n, err, want)
	}
}

// turn is what a turn changed: its files, and its lines without context.
func (w *world) turn(t worktree.Tree, n int) string {
	w.t.Helper()
	d, err := w.store.Git.DiffTurn(w.t.Context(), t, n)
	testenv.Must(w.t, err)
	var all []string
	for _, f := range d.Files {
		all = append(all, f.Path)
	}
	for _, l := range strings.Split(d.Text, "\n") {
		if len(l) > 1 && (l[0] == '+' || l[0] == '-') && l[1] != '+' && l[1] != '-' {
			all = append(all, l)
		}
	}
	return strings.Join(all, " ")
}

// TestTurns: each turn that changed something is on record with what it changed, committed or not, and nothing of
// the checkout changes for it.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, own := range kinds() {
		w := newWorld(t, "repo")
		tree := w.create("eve")
		if own {
			tree = w.own("bob")
		}
		var none *worktree.TurnError
		if _, err := w.store.Git.DiffTurn(t.Context(), tree, 1); !errors.As(err, &none) || len(none.There) != 0 {
			t.Errorf("%v", err)
		}
		w.ends(tree, 0)
		w.write(tree.Path, "a.txt", "a\nfirst\n")
		w.write(tree.Path, "staged.txt", "s\n")
		w.git(tree.Path, "add", "staged.txt")
		w.write(tree.Path, "new.txt", "n\n")
		w.write(tree.Path, "ignored.o", "i\n")
		w.hook("post-index-change", "echo >> '"+filepath.Join(w.store.Records, "ran")+"'\n")
		index, err := os.ReadFile(filepath.Join(w.git(tree.Path, "rev-parse", "--absolute-git-dir"), "index"))
		testenv.Must(t, err)
		w.ends(tree, 1)
		now, err := os.ReadFile(filepath.Join(w.git(tree.Path, "rev-parse", "--absolute-git-dir"), "index"))
		if err != nil || string(now) != string(index) {
			t.Errorf("the index has changed, %v", err)
		}
		w.gone(filepath.Join(w.store.Records, "ran"))
		w.ends(tree, 0)
		w.commit(tree.Path, "the same, committed")
		w.ends(tree, 0)
		w.write(tree.Path, "a.txt", "a\nsecond\n")
		testenv.Must(t, os.Remove(filepath.Join(tree.Path, "new.txt")))
		w.write(tree.Path, "large.bin", strings.Repeat("x", 5<<20))
		w.ends(tree, 2)
		for n, want := range map[int]string{1: "a.txt new.txt staged.txt +first +n +s", 2: "a.txt new.txt -first +second -n"} {
			if got := w.turn(tree, n); got != want {
				t.Errorf("turn %d: %s", n, got)
			}
		}
		if _, err := w.store.Git.DiffTurn(t.Context(), tree, 7); !errors.As(err, &none) || !slices.Equal(none.There, []int{1, 2}) {
			t.Errorf("%v", err)
		}
		name := strings.TrimPrefix(tree.Branch, "waggle/")
		if refs := w.git(w.repo, "for-each-ref", "--format=%(refname)", "refs/waggle"); refs != "refs/waggle/"+name+"/1\nrefs/waggle/"+name+"/2" {
			t.Errorf("%s", refs)
		}
		testenv.Must(t, os.Remove(filepath.Join(tree.Path, "large.bin")))
		m, err := w.merge(tree, worktree.HowMerge)
		testenv.Must(t, err)
		if err := w.store.RemoveMerged(t.Context(), tree, m.Tip); err != nil {
			t.Error(err)
		}
		w.prints("", w.repo, "for-each-ref", "refs/waggle")
	}
}

// TestTurnsBounded: the oldest turns go, and what is left can be shown.
func TestTurnsBounded(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	w := newWorld(t, "repo")
	tree := w.create("bob")
	for n := 1; n <= 52; n++ {
		w.write(tree.Path, "a.txt", strconv.Itoa(n)+"\n")
		w.ends(tree, n)
	}
	var none *worktree.TurnError
	if _, err := w.store.Git.DiffTurn(t.Context(), tree, 2); !errors.As(err, &none) || len(none.There) != 50 || none.There[0] != 3 {
		t.Errorf("%v", err)
	}
	if got := w.turn(tree, 3); got != "a.txt -2 +3" {
		t.Errorf("%s", got)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(tree.Path, "a.txt"), []byte("a\n"), 0o644))
	testenv.Must(t, w.store.Remove(t.Context(), tree))
	w.prints("", w.repo, "for-each-ref", "refs/waggle")
}

// TestTurnUnchanged: the end of a turn that changed no file reads and writes no index, whichever kind of checkout it
// is; a file that is written in the same moment with the same size is a change, and so is a new one, a deleted one
// and what the member commits of an ignored one.
func TestTurnUnchanged(t *testing.T) {
	t.Parallel()
	for _, own := range kinds() {
		w := newWorld(t, "repo")
		w.write(w.repo, ".gitignore", "ignored\n")
		w.commit(w.repo, "ignore")
		tree := w.create("eve")
		if own {
			tree = w.own("bob")
		}
		log := filepath.Join(t.TempDir(), "log")
		git := w.store.Git.Program
		w.store.Git.Program = filepath.Join(t.TempDir(), "git")
		testenv.Must(t, testenv.Executable(w.store.Git.Program, []byte("#!/bin/sh\necho \"$*\" >> '"+log+"'\nexec '"+git+"' \"$@\"\n")))
		quietly := func(turns string) {
			t.Helper()
			testenv.Must(t, os.WriteFile(log, nil, 0o600))
			w.ends(tree, 0)
			b, err := os.ReadFile(log)
			for _, heavy := range []string{" add ", " write-tree", " read-tree", " update-index"} {
				if err != nil || strings.Contains(string(b), heavy) {
					t.Errorf("own %v, %s: git%s ran, %v:\n%s", own, turns, heavy, err, b)
				}
			}
		}
		w.ends(tree, 0)
		quietly("before the first turn")
		for n := 1; n <= 6; n++ {
			w.write(tree.Path, "a.txt", string(rune('a'+n))+"\n")
			w.ends(tree, n)
		}
		quietly("after it")
		w.write(tree.Path, "new.txt", "x\n")
		w.write(tree.Path, "ignored", "x\n")
		w.ends(tree, 7)
		quietly("with a new file")
		testenv.Must(t, os.Remove(filepath.Join(tree.Path, "new.txt")))
		w.ends(tree, 8)
		w.git(tree.Path, "add", "--force", "ignored")
		w.git(tree.Path, "commit", "--quiet", "--message", "ignored")
		w.ends(tree, 9)
		if got := w.turn(tree, 9); got != "ignored +x" {
			t.Errorf("own %v: %q", own, got)
		}
		quietly("after a commit")
	}
}
