package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// witness is the index of the snapshot of the last turn, in a git directory that is waggle's or git's own. While no
// file differs from it, and what it was made from is the same, the files are those of the last turn. Then no index
// is copied, read or written, which in a large repository is most of what a snapshot takes.
type witness struct {
	dir string
	key string // what the index was made from: a commit, or the state of another index
}

const witnesses = "waggle-turn-"

// witness is that of a linked worktree; the zero one where it has no index.
func (g Git) witness(ctx context.Context, t Tree) (witness, error) {
	dir, err := g.line(ctx, t.Path, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return witness{}, err
	}
	info, err := os.Stat(filepath.Join(dir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return witness{}, nil
	}
	if err != nil {
		return witness{}, fmt.Errorf("worktree: %w", err)
	}
	return witness{dir, fmt.Sprintf("%x.%x", info.ModTime().UnixNano(), info.Size())}, nil
}

// all are the files of witnesses that are there.
func (w witness) all() (found []string) {
	entries, _ := os.ReadDir(w.dir) // without them the next snapshot takes longer
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), witnesses) {
			found = append(found, filepath.Join(w.dir, e.Name()))
		}
	}
	return found
}

// unchanged returns the tree of the last snapshot if the files are still those, else "".
func (w witness) unchanged(ctx context.Context, g Git, t Tree) (tree string) {
	if w.key == "" {
		return ""
	}
	prefix := filepath.Join(w.dir, witnesses+w.key+"-")
	all := w.all()
	n := slices.IndexFunc(all, func(f string) bool { return strings.HasPrefix(f, prefix) })
	if n < 0 {
		return ""
	}
	g.extra = append(slices.Clone(g.extra), "GIT_INDEX_FILE="+all[n])
	same := make(chan bool, 1)
	go func() {
		same <- g.act(ctx, t.Path, "diff-files", "--quiet", "--ignore-submodules=dirty", "--") == nil
	}()
	others, more, err := g.bounded(ctx, t.Path, 1, 1, "ls-files", "-z", "--others", "--exclude-standard")
	if !<-same || err != nil || more || others != "" {
		return ""
	}
	return strings.TrimPrefix(all[n], prefix)
}

// keep makes the index of a snapshot the witness. One that cannot be kept is no error: the next snapshot takes longer.
func (w witness) keep(g Git, tree string) {
	for _, f := range w.all() {
		_ = os.Remove(f)
	}
	n := slices.IndexFunc(g.extra, func(v string) bool { return strings.HasPrefix(v, indexFile) })
	made := filepath.Join(w.dir, "waggle-turn.new")
	if w.key != "" && n >= 0 && copyIndex(strings.TrimPrefix(g.extra[n], indexFile), made) == nil {
		_ = os.Rename(made, filepath.Join(w.dir, witnesses+w.key+"-"+tree))
	}
}

const indexFile = "GIT_INDEX_FILE="
