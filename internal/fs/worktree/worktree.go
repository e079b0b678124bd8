// Package worktree gives each member of a team a checkout of its own: a git worktree on a branch of its
// own, so that members who edit the same files do not destroy each other's work.
//
//	g, err := worktree.Find(environ)
//	s := worktree.Store{Git: g, Dir: place, Records: dir}
//	tree, cwd, err := s.Create(ctx, worktree.Want{Team: "api", Member: "bob", Owner: instance, Cwd: cwd})
//	err = worktree.Verify(ctx, environ, cwd, tree) // from inside the member's process
//	err = s.Remove(ctx, tree)                      // *KeptError while there is work in it
//
// Guarantees. No work is deleted: a worktree is removed only while git, asked at that moment, shows no
// changed and no untracked file, no commit that is nowhere else, no operation in progress and no stash of
// it; a branch only while it holds no commit of its own. Ignored files are removed with their worktree.
// The main checkout is never touched but by Merge, which moves the files of a target and changes nothing
// that is not committed there, nor a worktree that this Store has no record of.
//
// Every worktree is recorded with its owner before git is told to make it. When a process is killed at any
// moment, the next Create or Remove of the same Store finishes or removes what it left.
//
// git is run by argv and not through a shell, in its own process group, with a limit on time and on its
// output; its formats are read NUL-separated, so that no file name can be mistaken for two. Variables that
// would point it at another repository are dropped. The repository's own configuration applies as it does
// for its user: making a worktree runs the hook post-checkout, and filters run when a file's content has
// to be compared.
//
// A Store may be used by many processes: it makes its changes under one lock in Records. All other calls
// only read.
package worktree

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"waggle/internal/fs/realpath"
)

// Tree is a worktree as it was made. Paths are absolute and without symbolic links.
type Tree struct {
	Path   string `json:"path"`           // its top level
	Branch string `json:"branch"`         // short: waggle/<team>/<member>, or another where that cannot be
	Base   string `json:"base"`           // the commit that it began at
	From   string `json:"from,omitempty"` // the branch that it began at, where it is merged into: the checkout's, unless another was asked for; "": none
	Repo   string `json:"repo"`           // top level of the checkout that it was made from
	Common string `json:"common"`         // the git directory of Repo, which they share unless there is a Mirror
	// Mirror is the bare repository by which waggle reads a checkout that has a git directory of its
	// own, for a confined member; "": it is a linked worktree.
	Mirror string `json:"mirror,omitempty"`
	// Existing: the branch was there before, so it is never deleted.
	Existing bool `json:"existing,omitempty"`
}

// Inside is the directory of the worktree that stands for one of the checkout that it was made from; its
// top level for any other directory.
func (t Tree) Inside(dir string) string {
	if rel, ok := realpath.Below(t.Repo, real(dir)); ok {
		return filepath.Join(t.Path, rel)
	}
	return t.Path
}

// Outside is the directory of the checkout that stands for one of the worktree: the reverse of Inside.
func (t Tree) Outside(dir string) string {
	if rel, ok := realpath.Below(t.Path, dir); ok {
		return filepath.Join(t.Repo, rel)
	}
	return dir
}

// wrapped is an error of a file operation with the name of this package; nil for none.
func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("worktree: %w", err)
}

// Errors of Create that callers distinguish.
var (
	ErrNoGit         = errors.New("git is not installed")
	ErrNotRepository = errors.New("not in a git repository")
	ErrBare          = errors.New("a bare repository has no files to work on")
	ErrNoCommit      = errors.New("the repository has no commit yet")
	ErrNoSpace       = errors.New("the disk is full")
	ErrInside        = errors.New("worktrees inside of the repository would be part of its builds")
)

// ExistsError: the path of a new worktree exists, and no record says that it is ours.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s is there and is not on record", e.Path)
}

// RefError: a branch or commit at which a worktree is to begin does not exist.
type RefError struct{ What, Name string }

func (e *RefError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }

// ManyError: a branch is that of several remotes.
type ManyError struct {
	Branch string
	Refs   []string
}

func (e *ManyError) Error() string {
	return fmt.Sprintf("branch %s is on several remotes: %s", e.Branch, strings.Join(e.Refs, ", "))
}

// CheckedOutError: a checkout is on the branch that a worktree is to be on.
type CheckedOutError struct{ Branch, Path string }

func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("branch %s is checked out in %s", e.Branch, e.Path)
}

// MismatchError: a directory is not what was recorded.
type MismatchError struct {
	What      string // top level, git directory, branch, environment, checkout
	Got, Want string
}

func (e *MismatchError) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("%s: %s", e.What, e.Got)
	}
	return fmt.Sprintf("its %s is %s, not %s", e.What, e.Got, e.Want)
}

// KeptError: a worktree was not removed, because something in it may be wanted.
type KeptError struct {
	Tree   Tree
	Status Status
	Why    string // when it is not its status
}

func (e *KeptError) Error() string {
	why := e.Why
	if why == "" {
		why = e.Status.String()
	}
	return fmt.Sprintf("worktree kept: %s: %s", why, e.Tree.Path)
}

// GoneError reports a worktree whose directory and branch do not exist any more.
type GoneError struct{ Tree Tree }

func (e *GoneError) Error() string {
	return fmt.Sprintf("the worktree %s and its branch %s are gone", e.Tree.Path, e.Tree.Branch)
}

// UnknownError: no record says that a worktree is ours.
type UnknownError struct{ Path string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("worktree %s is not on record, so it is not touched", e.Path)
}
