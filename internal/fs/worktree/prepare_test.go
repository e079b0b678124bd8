package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// TestGive copies and links what git ignores, keeps what is there, and refuses everything else.
func TestGive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "repo")
	w.write(w.repo, ".gitignore", "*.o\n.env*\n/node_modules\n/only-dirs/\n")
	w.write(w.repo, ".worktreeinclude", "# of everybody\n.env*\n!.env.mine\nsub/b.txt\na.txt\n")
	w.commit(w.repo, "ignored")
	for name, text := range map[string]string{".env": "KEY=1\n", "sub/.env.local": "KEY=2\n", ".env.mine": "x", "x.o": "x",
		"node_modules/left/index.js": "js", "only-dirs/file": "x", "plain.txt": "x"} {
		w.write(w.repo, name, text)
	}
	testenv.Must(t, os.Symlink("left/index.js", filepath.Join(w.repo, "node_modules", "bin")))
	files, err := w.store.Git.Included(t.Context(), filepath.Join(w.repo, "sub"))
	if d := cmp.Diff([]string{".env", "sub/.env.local"}, files); d != "" || err != nil {
		t.Errorf("%s, %v", d, err)
	}
	tree := w.create("bob")
	w.write(tree.Path, "sub/.env.local", "mine\n")
	given, err := w.store.Git.Give(t.Context(), tree, append(files, "node_modules", "none.o"), []string{"x.o"})
	want := worktree.Given{Copied: []string{".env", "sub/.env.local", "node_modules"}, Linked: []string{"x.o"}, Missing: []string{"none.o"}}
	if d := cmp.Diff(want, given); d != "" || err != nil {
		t.Errorf("%s, %v", d, err)
	}
	for name, text := range map[string]string{".env": "KEY=1\n", "sub/.env.local": "mine\n", "node_modules/bin": "js", "x.o": "x"} {
		if b, err := os.ReadFile(filepath.Join(tree.Path, name)); err != nil || string(b) != text {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if at, err := os.Readlink(filepath.Join(tree.Path, "x.o")); err != nil || at != filepath.Join(w.repo, "x.o") {
		t.Errorf("%s, %v", at, err)
	}
	if s := w.status(tree); !s.Clean() {
		t.Errorf("%s", s)
	}
	var not *worktree.IgnoreError
	if _, err := w.store.Git.Give(t.Context(), tree, []string{"plain.txt"}, nil); !errors.As(err, &not) {
		t.Errorf("%v", err)
	}
	if _, err := w.store.Git.Give(t.Context(), tree, nil, []string{"only-dirs"}); !errors.As(err, &not) || !strings.Contains(err.Error(), "slash") {
		t.Errorf("%v", err)
	}
	w.gone(filepath.Join(tree.Path, "only-dirs"))
	testenv.Must(t, os.Symlink(t.TempDir(), filepath.Join(w.repo, "out.o")))
	if _, err := w.store.Git.Give(t.Context(), tree, []string{"out.o/file"}, nil); err == nil {
		t.Error("a path through a link that leads out was taken")
	}
	if p, _, err := w.store.Prepared(tree); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if err := w.store.SetPrepared(t.Context(), tree, worktree.Prepared{State: worktree.PrepareFailed, Why: "no", At: at}); err != nil {
		t.Error(err)
	}
	if p, _, err := w.store.Prepared(tree); err != nil || p == nil || p.Why != "no" || !p.At.Equal(at) {
		t.Errorf("%v, %v", p, err)
	}
}
