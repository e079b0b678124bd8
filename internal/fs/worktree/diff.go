package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Difference is what a member changed: its files, committed or not, compared with a commit.
type Difference struct {
	Base  string // the commit that the files are compared with
	Head  string // the commit that the checkout is at
	Files []FileChange
	Text  string // the unified diff
	More  bool   // Files or Text is cut
}

// FileChange is the change of one file. A binary file has no lines.
type FileChange struct {
	Path    string
	Added   int
	Deleted int
	Binary  bool
}

// diffArgs are the arguments of every diff: the output does not depend on the settings of a user.
var diffArgs = []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative",
	"--src-prefix=a/", "--dst-prefix=b/"}

// Patch is a git whose differences have a text that git apply takes: the contents of binary files are in it.
func (g Git) Patch() Git {
	g.patch = true
	return g
}

// Diff compares the files of a worktree with the commit that it began at, or with the newest commit
// of the branch that it came from which it contains; where that is all of its own work, only while its files differ from
// it. Untracked files count as new, ignored files
// do not count. When the directory of the worktree does not exist, its branch is compared.
func (g Git) Diff(ctx context.Context, t Tree) (d Difference, err error) {
	return g.diffFrom(ctx, t, "")
}

// diffFrom is Diff with another commit; "" is that of Diff.
func (g Git) diffFrom(ctx context.Context, t Tree, commit string) (d Difference, err error) {
	if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) {
		return g.diffBranch(ctx, t, commit)
	}
	if err := g.same(ctx, t); err != nil {
		return d, err
	}
	read := g.linkedFiles
	if t.own() {
		read = g.ownFiles
	}
	at, head, from, done, err := read(ctx, t)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, done()) }()
	base, err := at.start(ctx, t.Path, t, head, from)
	if err != nil {
		return d, err
	}
	if _, err := at.run(ctx, t.Path, "add", "--intent-to-add", "--", "."); err != nil {
		return d, err
	}
	if commit == "" && base == t.Base && head != base && t.From != "" {
		from, err := g.At(ctx, t, t.From)
		if err != nil {
			return d, err
		}
		if base, err = at.since(ctx, t, head, from); err != nil {
			return d, err
		}
	}
	d.Base, d.Head = cmp.Or(commit, base), head
	return d, at.compare(ctx, t.Path, &d, d.Base, "--")
}

// since is what the files of a checkout are compared with that began at no newer commit of the branch that it came from,
// from: its own commit where that branch has it and not the files, as after a merge that kept the worktree, because a
// merge changes that branch by what differs from it.
func (g Git) since(ctx context.Context, t Tree, head, from string) (string, error) {
	if head == "" || from == "" {
		return t.Base, nil
	}
	if _, err := g.run(ctx, t.Path, "merge-base", "--is-ancestor", head, from); exit(err) > 0 {
		return t.Base, nil
	} else if err != nil {
		return "", err
	}
	if _, err := g.run(ctx, t.Path, "diff", "--quiet", "--ignore-submodules=all", head, "--"); exit(err) == 1 {
		return head, nil
	} else if err != nil {
		return "", err
	}
	return t.Base, nil
}

// diffBranch compares the branch of a worktree whose directory does not exist.
func (g Git) diffBranch(ctx context.Context, t Tree, commit string) (d Difference, err error) {
	at := g.of(t.Common)
	d.Head, err = at.commit(ctx, t.Common, refOf(t.Branch))
	if err != nil {
		return d, err
	}
	if d.Head == "" {
		return d, &GoneError{Tree: t}
	}
	if d.Base = commit; commit == "" {
		if d.Base, err = at.start(ctx, t.Common, t, d.Head, refOf(t.From)); err != nil {
			return d, err
		}
	}
	return d, at.compare(ctx, t.Common, &d, d.Base, d.Head, "--")
}

// start is the commit that the work of a worktree begins at: its base, or the newest common commit
// with the branch that it came from when the work was moved there.
func (g Git) start(ctx context.Context, dir string, t Tree, head, from string) (string, error) {
	if t.From == "" || from == "" || head == "" {
		return t.Base, nil
	}
	common, err := g.line(ctx, dir, "merge-base", head, from)
	if exit(err) > 0 || common == head { // that branch does not exist any more, or has all the work
		return t.Base, nil
	}
	if err != nil {
		return "", err
	}
	if _, err := g.run(ctx, dir, "merge-base", "--is-ancestor", t.Base, common); exit(err) > 0 {
		return t.Base, nil
	} else if err != nil {
		return "", err
	}
	return common, nil
}

// linkedFiles returns a git with a copy of the index of a linked worktree, so that reading changes
// nothing of the member's, the commit that it is at, and the branch that it came from.
func (g Git) linkedFiles(ctx context.Context, t Tree) (at Git, head, from string, done func() error, err error) {
	if head, err = g.commit(ctx, t.Path, "HEAD"); err != nil {
		return g, "", "", nil, err
	}
	at, done, err = g.withIndex(ctx, t)
	return at, head, refOf(t.From), done, err
}

// withIndex returns a git with a copy of the index of a linked worktree, which runs no hook.
func (g Git) withIndex(ctx context.Context, t Tree) (at Git, done func() error, err error) {
	dir, err := g.line(ctx, t.Path, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return g, nil, err
	}
	f, err := os.CreateTemp(dir, "waggle-index-*")
	if err != nil {
		return g, nil, fmt.Errorf("worktree: %w", err)
	}
	done = func() error {
		return errors.Join(os.Remove(f.Name()), ignoreMissing(os.Remove(f.Name()+".lock")))
	}
	err = errors.Join(f.Close(), copyIndex(filepath.Join(dir, "index"), f.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(f.Name()) // git takes an empty file for a broken index
		done = func() error { return ignoreMissing(os.Remove(f.Name())) }
	}
	if err != nil {
		return g, nil, fmt.Errorf("worktree: %w", errors.Join(err, done()))
	}
	g = g.quiet()
	g.extra = append(slices.Clone(g.extra), "GIT_INDEX_FILE="+f.Name())
	return g, done, nil
}

// copyIndex copies an index with its time: by that git knows which files may have changed since in the same
// moment and with the same size, and reads them.
func copyIndex(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	return errors.Join(err, os.Chtimes(to, info.ModTime(), info.ModTime()))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// noHooks are the options of a call that runs no hook.
var noHooks = []string{"-c", "core.hooksPath=" + os.DevNull}

// quiet is git without hooks.
func (g Git) quiet() Git {
	g.options = append(slices.Clone(g.options), noHooks...)
	return g
}

// compare fills in the files and the text of a diff.
func (g Git) compare(ctx context.Context, dir string, d *Difference, revisions ...string) error {
	args := append(slices.Clone(diffArgs), g.modulesOf("dirty"))
	out, more, err := g.bounded(ctx, dir, 1, outLimit, append(append(slices.Clone(args), "--numstat", "-z"), revisions...)...)
	if err != nil {
		return err
	}
	d.Files, d.More = []FileChange{}, more
	for _, f := range fields(out) {
		parts := strings.SplitN(f, "\t", 3)
		if len(parts) < 3 {
			return &GitError{Args: args, Dir: dir, Err: fmt.Errorf("it says %.60q, which is not understood", f)}
		}
		c := FileChange{Path: parts[2], Binary: parts[0] == "-"}
		if !c.Binary {
			added, aerr := strconv.Atoi(parts[0])
			deleted, derr := strconv.Atoi(parts[1])
			if err := errors.Join(aerr, derr); err != nil {
				return &GitError{Args: args, Dir: dir, Err: err}
			}
			c.Added, c.Deleted = added, deleted
		}
		d.Files = append(d.Files, c)
	}
	if g.patch {
		args = append(args, "--binary")
	}
	d.Text, more, err = g.bounded(ctx, dir, 1, outLimit, append(append(args, "--unified=3", "--inter-hunk-context=0"), revisions...)...)
	d.More = d.More || more
	return err
}
