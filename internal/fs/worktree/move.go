package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/fs/realpath"
)

// The target of a merge moves in these steps. In each checkout that is on it, waggle holds index.lock,
// so that no git of the person changes the index meanwhile; git moves the files, by a copy of the
// index. Then the branch moves, by compare-and-set, and last the copies become the indexes. While the
// branch is where it was the indexes are too, so that what was half written can be taken back by
// them; once it has moved, the copies only have to be renamed. index.lock holds the mark of the
// intent, by which the lock of a merge that was killed is known from that of any other git.

// spot is a checkout that is on the target.
type spot struct {
	dir  string
	git  string // its git directory
	mark string // what its index.lock holds
	copy string // the new index, beside the index
}

func (s spot) lock() string { return filepath.Join(s.git, "index.lock") }

// spot is a checkout of an intent.
func (g Git) spot(ctx context.Context, i *Intent, dir string) (spot, error) {
	own, err := g.line(ctx, dir, "rev-parse", "--absolute-git-dir")
	sum := sha256.Sum256([]byte(i.Mark))
	return spot{dir, own, i.Mark, filepath.Join(own, "waggle-merge-"+hex.EncodeToString(sum[:6]))}, err
}

// indexWait is how long another git in a checkout is waited for.
const indexWait = 3 * time.Second

// take takes the lock of a checkout's index. It is linked, so that it is never there without its mark.
func (s spot) take(ctx context.Context) error {
	mark := s.copy + ".mark"
	if err := os.WriteFile(mark, []byte(s.mark), 0o600); err != nil {
		return fmt.Errorf("worktree: %w", noSpace(err))
	}
	err := s.patiently(ctx, indexWait, func() (bool, error) {
		err := os.Link(mark, s.lock())
		if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
			var f *os.File
			if f, err = os.OpenFile(s.lock(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				_, err = f.WriteString(s.mark)
				err = errors.Join(err, f.Close())
			}
		}
		return errors.Is(err, fs.ErrExist), err
	})
	if errors.Is(err, fs.ErrExist) {
		err = &BusyError{s.dir, "git command (" + s.lock() + " exists)"}
	}
	return errors.Join(err, os.Remove(mark))
}

// ours reports whether the lock of the index is of this merge.
func (s spot) ours() (bool, error) {
	b, err := os.ReadFile(s.lock())
	if err != nil {
		return false, ignoreMissing(err)
	}
	return string(b) == s.mark, nil
}

// patiently does something again, for so long, until it does not say that it is to be done again.
func (s spot) patiently(ctx context.Context, most time.Duration, do func() (again bool, err error)) error {
	const pause = 50 * time.Millisecond
	for n := time.Duration(0); ; n += pause {
		again, err := do()
		if !again || n >= most {
			return err
		}
		if !backoff.Pause(ctx, pause) { // real clock: another process's git
			return ctx.Err()
		}
	}
}

// move moves the target and the checkouts that are on it. What it has half done after an error is for
// recover.
func (s Store) move(ctx context.Context, g Git, i *Intent) (hooks []string, untouched int, err error) {
	i.State = moving
	if err := s.putIntent(i); err != nil {
		return nil, 0, err
	}
	s.at("moving")
	spots := make([]spot, len(i.Targets))
	for n, dir := range i.Targets {
		if spots[n], err = s.Git.spot(ctx, i, dir); err != nil {
			return nil, 0, err
		}
		if err := spots[n].take(ctx); err != nil {
			return nil, 0, err
		}
	}
	s.at("locked")
	if untouched, err = s.stands(ctx, i); err != nil {
		return nil, 0, err
	}
	for _, p := range spots {
		if err := s.fill(ctx, i, p, "-u"); err != nil {
			return nil, 0, err
		}
	}
	s.at("files")
	ref := g.of(i.Tree.Common)
	at := i.Tree.Common
	if len(i.Targets) > 0 {
		ref, at = g, i.Targets[0] // HEAD's log has it there
	}
	if err := ref.act(ctx, at, "update-ref", "-m", "waggle: merge "+i.Tree.Branch, refOf(i.Into), i.Result, i.From); err != nil {
		if now, cerr := s.Git.At(ctx, i.Tree, i.Into); cerr == nil && now != i.From {
			err = &MovedTargetError{i.Into}
		}
		return nil, 0, err
	}
	s.at("ref")
	for _, p := range spots {
		if err := p.finish(); err != nil {
			return nil, 0, err
		}
		s.at("index")
		if i.Tree.own() {
			continue
		}
		// As git merge does it. A git that does not know the command runs no hook.
		ran, _ := g.traced(ctx, p.dir, "hook", "run", "--ignore-missing", "post-merge", "--", "0")
		hooks = append(hooks, ran...)
	}
	return hooks, untouched, nil
}

// stands refuses a target that is not as it was when the merge was made, now that no git changes the
// indexes any more.
func (s Store) stands(ctx context.Context, i *Intent) (untouched int, err error) {
	to, err := s.Git.Target(ctx, i.Tree, i.Into)
	switch {
	case err != nil:
		return 0, err
	case to.Commit != i.From:
		return 0, &MovedTargetError{i.Into}
	case !slices.Equal(to.Checkouts, i.Targets):
		return 0, &MismatchError{What: "checkout", Got: "another one is on " + i.Into + " now, or none"}
	}
	return s.overlap(ctx, i)
}

// fill makes the copy of a checkout's index that becomes its index in the end; with -u it moves the files
// too, with -i it does not look at them.
func (s Store) fill(ctx context.Context, i *Intent, p spot, how string) error {
	if err := copyIndex(filepath.Join(p.git, "index"), p.copy); err != nil {
		return fmt.Errorf("worktree: %w", noSpace(err))
	}
	s.at("copied")
	g := s.Git.quiet()
	g.extra = append(slices.Clone(g.extra), "GIT_INDEX_FILE="+p.copy)
	// A file that was written again with the same content is no change.
	if err := g.act(ctx, p.dir, "update-index", "-q", "--refresh"); err != nil && exit(err) != 1 {
		return err
	}
	if err := g.act(ctx, p.dir, "read-tree", "-m", how, "--no-recurse-submodules", i.From, i.Result); err != nil {
		return err
	}
	f, err := os.OpenFile(p.copy, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	return wrapped(err)
}

// finish makes the copy the index of a checkout, and frees that. It does nothing when that is done.
func (s spot) finish() error {
	if ours, err := s.ours(); err != nil || !ours {
		return err
	}
	if err := ignoreMissing(os.Rename(s.copy, filepath.Join(s.git, "index"))); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	return s.free()
}

// free removes what a merge has put beside the index of a checkout, the lock last.
func (s spot) free() error {
	for _, f := range []string{s.copy + ".lock", s.copy, s.copy + ".mark"} {
		if err := ignoreMissing(os.Remove(f)); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
	}
	if ours, err := s.ours(); err != nil || !ours {
		return err
	}
	return os.Remove(s.lock())
}

// recover completes a move whose branch has moved (there), and takes back any other: the files that it
// had written are as before. A file that a person has changed since stays as it is, and is a
// *DirtyError.
func (s Store) recover(ctx context.Context, i *Intent) (there bool, err error) {
	if i.State != moving {
		return i.Settling(), nil
	}
	now, err := s.Git.At(ctx, i.Tree, i.Into)
	if err != nil {
		return false, err
	}
	if now != "" && now != i.From {
		_, err := s.Git.of(i.Tree.Common).run(ctx, i.Tree.Common, "merge-base", "--is-ancestor", i.Result, now)
		if there = err == nil; err != nil && exit(err) != 1 {
			return false, err
		}
	}
	for _, dir := range i.Targets {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue // its person has removed it
		}
		p, err := s.Git.spot(ctx, i, dir)
		if err == nil {
			err = s.recoverIn(ctx, i, p, there)
		}
		if err != nil {
			return there, err
		}
	}
	return there, nil
}

// childWait is how long a git is waited for that outlives the process which was killed.
const childWait = 10 * time.Second

func (s Store) recoverIn(ctx context.Context, i *Intent, p spot, there bool) error {
	ours, err := p.ours()
	if err != nil {
		return err
	}
	_, err = os.Lstat(p.copy)
	switch {
	case !ours && err != nil: // nothing was touched, or all is done
		return p.free()
	case there && ours:
		return p.finish()
	case there: // a person has removed the lock, and may have changed the index since
		return s.reindex(ctx, i, p)
	}
	err = p.patiently(ctx, childWait, func() (bool, error) {
		_, err := os.Lstat(p.copy + ".lock")
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	if err := s.restoreFiles(ctx, i, p); err != nil {
		return err
	}
	return p.free()
}

// reindex brings what the target has got into an index as it is now, and leaves all else in it.
func (s Store) reindex(ctx context.Context, i *Intent, p spot) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, i, p, "-i"); err != nil {
		return errors.Join(err, p.free())
	}
	return p.finish()
}

// restoreFiles gives the files that a move has written the content that the index of the checkout has.
func (s Store) restoreFiles(ctx context.Context, i *Intent, p spot) error {
	g := s.Git.quiet()
	changes, err := g.between(ctx, i.Tree.Common, i.From, i.Result)
	if err != nil {
		return err
	}
	h, err := g.held(ctx, p.dir)
	if err != nil {
		return err
	}
	var back, theirs []string
	for _, c := range changes {
		at := filepath.Join(p.dir, filepath.FromSlash(c.path))
		if c.module() {
			if err := restoreModule(at, c); err != nil {
				return fmt.Errorf("worktree: %w", err)
			}
			continue
		}
		info, err := os.Lstat(at)
		there := err == nil
		if _, differs := h.tracked[h.key(c.path)]; there && info.IsDir() || !there && c.added() || !differs && !c.added() {
			continue
		}
		if there {
			mine, err := g.written(ctx, p.dir, at, info, i.Result, c)
			if err != nil {
				return err
			}
			if !mine {
				theirs = append(theirs, c.path)
				continue
			}
		}
		if !c.added() {
			back = append(back, c.path)
		} else if err := removeUp(p.dir, at); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
	}
	if len(back) > 0 {
		g.input = strings.Join(back, "\x00") + "\x00"
		if err := g.act(ctx, p.dir, "checkout-index", "--force", "--quiet", "-z", "--stdin"); err != nil {
			return err
		}
	}
	if len(theirs) > 0 {
		return &DirtyError{p.dir, i.Into, theirs}
	}
	return nil
}

// restoreModule makes the empty directory of a submodule again that a move took, or takes one that it made.
func restoreModule(at string, c change) error {
	if c.added() {
		_ = os.Remove(at) // only if it is empty
		return nil
	}
	if strings.HasPrefix(gitlink, c.was) {
		return os.MkdirAll(at, 0o755)
	}
	return nil
}

// removeUp removes a file, and the directories that are empty then.
func removeUp(top, at string) error {
	if err := os.Remove(at); err != nil {
		return err
	}
	for dir := filepath.Dir(at); dir != top && realpath.Within(top, dir); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			break
		}
	}
	return nil
}

// written reports whether a file has, from its beginning, what git writes for a change: all of it, or
// what it had written when it was killed.
func (g Git) written(ctx context.Context, dir, at string, info fs.FileInfo, commit string, c change) (bool, error) {
	if c.gone() {
		return false, nil
	}
	var has []byte
	var err error
	if info.Mode()&fs.ModeSymlink != 0 {
		var to string
		to, err = os.Readlink(at)
		has = []byte(filepath.ToSlash(to))
	} else {
		has, err = os.ReadFile(at)
	}
	if err != nil {
		return false, fmt.Errorf("worktree: %w", err)
	}
	writes, err := g.whole(ctx, dir, slow, 64*outLimit, "cat-file", "--filters", commit+":"+path.Clean(c.path))
	if err != nil {
		return false, err
	}
	return bytes.HasPrefix([]byte(writes), has), nil
}
