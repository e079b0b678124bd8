package worktree

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// traced runs a git that may write files and run hooks, and returns the names of the hooks that ran:
// git itself reports them.
func (g Git) traced(ctx context.Context, dir string, args ...string) (hooks []string, err error) {
	own, err := g.line(ctx, dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(own, "waggle-trace-*")
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	g.extra = append(slices.Clone(g.extra), "GIT_TRACE2_EVENT="+filepath.ToSlash(f.Name()))
	err = g.act(ctx, dir, args...)
	return hooksIn(f), err
}

// Hooked reports whether the repository of a worktree has a hook, whichever it is.
func (g Git) Hooked(ctx context.Context, t Tree) (bool, error) {
	dir, err := g.line(ctx, t.Repo, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return false, err
	}
	if dir = filepath.FromSlash(dir); !filepath.IsAbs(dir) {
		dir = filepath.Join(t.Repo, dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("worktree: %w", err)
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && filepath.Ext(e.Name()) != ".sample"
	}), nil
}

// HooksPath is the directory that git's configuration names for hooks in the checkout with this top (core.hooksPath), ""
// where it names none.
func (g Git) HooksPath(ctx context.Context, top string) (string, error) {
	path, err := g.line(ctx, top, "config", "--type=path", "--default", "", "--get", "core.hooksPath")
	if err != nil || path == "" || filepath.IsAbs(path) {
		return path, err
	}
	return filepath.Join(top, path), nil
}

// hooksIn reads the names of hooks from the events of git, each once, in the order of their start.
func hooksIn(f *os.File) []string {
	hooks := []string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Event string `json:"event"`
			Class string `json:"child_class"`
			Hook  string `json:"hook_name"`
		}
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == "child_start" && e.Class == "hook" && !slices.Contains(hooks, e.Hook) {
			hooks = append(hooks, e.Hook)
		}
	}
	return hooks
}
