package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// includeFile names, in the form of .gitignore, files that git ignores and that a new worktree gets.
const includeFile = ".worktreeinclude"

// States of a preparation.
const (
	PrepareDone   = "done"
	PrepareFailed = "failed"
)

// Prepared is how the preparation of a worktree ended.
type Prepared struct {
	State string    `json:"state"`
	Why   string    `json:"why,omitempty"` // why it failed
	At    time.Time `json:"at"`
}

// Prepared is the recorded preparation of a worktree, nil before it ended, and what the repository's post-checkout
// hook said when it failed as the worktree was made, "" when it did not.
func (s Store) Prepared(t Tree) (p *Prepared, hook string, err error) {
	r, found, err := s.record(filepath.Base(t.Path))
	if !found || r.Tree.Path != t.Path {
		return nil, "", err
	}
	return r.Prepared, r.Hook, nil
}

// SetPrepared records how the preparation of a worktree ended.
func (s Store) SetPrepared(ctx context.Context, t Tree, p Prepared) error {
	return s.with(ctx, t, func(r Record) error {
		r.Prepared = &p
		return s.put(r)
	})
}

// Included lists the files of a checkout that git ignores and that its .worktreeinclude names,
// relative to its top level and sorted. dir is a directory in it.
func (g Git) Included(ctx context.Context, dir string) ([]string, error) {
	top, err := g.line(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(top, includeFile)); err != nil {
		return nil, ignoreMissing(err)
	}
	var lists [2][]string
	for i, by := range [][]string{{"--exclude-from=" + includeFile}, {"--exclude-standard"}} {
		out, err := g.run(ctx, top, append([]string{"ls-files", "-z", "--others", "--ignored"}, by...)...)
		if err != nil {
			return nil, err
		}
		lists[i] = fields(out)
	}
	slices.Sort(lists[1])
	files := slices.DeleteFunc(lists[0], func(f string) bool {
		_, ignored := slices.BinarySearch(lists[1], f)
		return !ignored
	})
	slices.Sort(files)
	return files, nil
}

// Given is what Give put into a worktree.
type Given struct {
	Copied, Linked []string
	Missing        []string // not in the checkout
}

// Give copies paths from the checkout that a worktree was made from, and makes symbolic links to
// others. Only what git ignores is given: anything else would be committed with the member's work.
// What the worktree has already stays as it is, and what the checkout has not is reported. No link
// leads out of either directory while it copies.
func (g Git) Give(ctx context.Context, t Tree, copies, links []string) (given Given, err error) {
	from, err := os.OpenRoot(t.Repo)
	if err != nil {
		return given, fmt.Errorf("worktree: %w", err)
	}
	defer from.Close()
	to, err := os.OpenRoot(t.Path)
	if err != nil {
		return given, fmt.Errorf("worktree: %w", err)
	}
	defer to.Close()
	give := func(p string, list *[]string, do func(string) error) error {
		p = path.Clean(filepath.ToSlash(p))
		if _, err := from.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			given.Missing = append(given.Missing, p)
			return nil
		} else if err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
		if err := g.ignored(ctx, t.Repo, p); err != nil {
			return err
		}
		*list = append(*list, p)
		return do(p)
	}
	for _, p := range copies {
		if err := give(p, &given.Copied, func(p string) error { return copyPath(ctx, from, to, p) }); err != nil {
			return given, err
		}
	}
	for _, p := range links {
		if err := give(p, &given.Linked, func(p string) error { return g.link(ctx, t, to, p) }); err != nil {
			return given, err
		}
	}
	return given, nil
}

// IgnoreError: git does not ignore a path that a worktree should get.
type IgnoreError struct{ Path, Why string }

func (e *IgnoreError) Error() string { return fmt.Sprintf("git does not ignore %s: %s", e.Path, e.Why) }

// ignored refuses a path that git does not ignore in a checkout.
func (g Git) ignored(ctx context.Context, dir, p string) error {
	_, err := g.run(ctx, dir, "check-ignore", "--quiet", "--", p)
	if exit(err) == 1 {
		return &IgnoreError{p, "it would become a part of the member's work"}
	}
	return err
}

// link makes a symbolic link to a path of the checkout.
func (g Git) link(ctx context.Context, t Tree, to *os.Root, p string) error {
	if _, err := to.Lstat(p); err == nil {
		return nil
	}
	if err := to.MkdirAll(path.Dir(p), 0o755); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	if err := to.Symlink(filepath.Join(t.Repo, filepath.FromSlash(p)), p); err != nil {
		return fmt.Errorf("worktree: %w", noSpace(err))
	}
	in := g
	if t.own() {
		if err := g.ignore(ctx, t.Common, t.Mirror); err != nil {
			return err
		}
		in = g.private(t)
	}
	err := in.ignored(ctx, t.Path, p)
	if not, ok := errors.AsType[*IgnoreError](err); ok {
		not.Why = "its pattern is for directories only, and a link is none: write it without the slash at its end"
		return errors.Join(err, to.Remove(p))
	}
	return err
}

// copyPath copies a file, a link or a directory whole.
func copyPath(ctx context.Context, from, to *os.Root, p string) error {
	if err := to.MkdirAll(path.Dir(p), 0o755); err != nil {
		return wrapped(noSpace(err))
	}
	if info, err := from.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 { // WalkDir would follow it
		return wrapped(noSpace(copyLink(from, to, p)))
	}
	return fs.WalkDir(from.FS(), p, func(p string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
		case e.IsDir():
			err = to.MkdirAll(p, 0o755)
		case e.Type().IsRegular():
			err = copyFile(from, to, p, e)
		case e.Type()&fs.ModeSymlink != 0:
			err = copyLink(from, to, p)
		}
		return wrapped(noSpace(err))
	})
}

func copyLink(from, to *os.Root, p string) error {
	at, err := from.Readlink(p)
	if err == nil {
		err = to.Symlink(at, p)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func copyFile(from, to *os.Root, p string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	in, err := from.Open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, to.Remove(p))
	}
	return nil
}
