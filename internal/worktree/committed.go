package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Tip is the work of a member as one commit, which can be merged.
type Tip struct {
	Commit string
	// Made says that the commit was made of files that were not committed.
	Made  bool
	Files []string // those files
	Hooks []string // the hooks that git ran for it

	head string // where the checkout was before
	tree string // the files of the commit
}

// BusyError: an operation of git is in progress in a checkout.
type BusyError struct{ Path, Operation string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("a %s is in progress in %s", e.Operation, e.Path)
}

// Uncommitted lists the files of a worktree that are in no commit.
func (g Git) Uncommitted(ctx context.Context, t Tree) ([]string, error) {
	st, err := g.Status(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case st.Missing:
		return nil, nil
	case st.Operation != "":
		return nil, &BusyError{t.Path, st.Operation}
	}
	files := slices.Concat(st.Changed, st.Untracked)
	slices.Sort(files)
	return files, nil
}

// Commit commits what is not committed in a worktree, and returns the commit of all work. message is
// taken as it is. The hooks of the repository run, but for a checkout with a git directory of its
// own: no program of the repository reads the files of a confined member there. Nor is that
// checkout changed: the commit is in the repository, and the caller calls Drop when it is merged.
func (g Git) Commit(ctx context.Context, t Tree, message string) (tip Tip, err error) {
	files, err := g.Uncommitted(ctx, t)
	if err != nil {
		return tip, err
	}
	if t.own() {
		if _, err := os.Lstat(t.Path); err == nil {
			return g.commitOwn(ctx, t, message, files)
		}
	}
	return g.commitLinked(ctx, t, message, files)
}

func (g Git) commitLinked(ctx context.Context, t Tree, message string, files []string) (tip Tip, err error) {
	if len(files) == 0 {
		tip.Commit, err = g.of(t.Common).commit(ctx, t.Common, refOf(t.Branch))
		if err == nil && tip.Commit == "" {
			err = &MismatchError{What: "branch", Got: "gone", Want: t.Branch}
		}
		tip.head = tip.Commit
		return tip, err
	}
	if on, err := g.branch(ctx, t.Path); err != nil {
		return tip, err
	} else if on != t.Branch {
		return tip, &MismatchError{"branch", orNone(on), t.Branch}
	}
	if tip.head, err = g.commit(ctx, t.Path, "HEAD"); err != nil {
		return tip, err
	}
	if err := g.act(ctx, t.Path, "add", "--all", "--", "."); err != nil {
		return tip, err
	}
	w := g
	w.input = message
	if tip.Hooks, err = w.traced(ctx, t.Path, "commit", "--quiet", "--cleanup=verbatim", "--file=-"); err != nil {
		return tip, err
	}
	tip.Made, tip.Files = true, files
	tip.Commit, err = g.commit(ctx, t.Path, "HEAD")
	return tip, err
}

// commitOwn makes the commit in the mirror and brings it into the repository.
func (g Git) commitOwn(ctx context.Context, t Tree, message string, files []string) (tip Tip, err error) {
	if _, err := g.Fetch(ctx, t); err != nil {
		return tip, err
	}
	release, err := hold(ctx, t)
	if err != nil {
		return tip, err
	}
	defer func() { err = errors.Join(err, release()) }()
	k, err := g.collect(ctx, t)
	if err != nil {
		return tip, err
	}
	if k.branch != t.Branch {
		return tip, &MismatchError{"branch", orNone(k.branch), t.Branch}
	}
	if tip.tree, err = g.treeOwn(ctx, t, k); err != nil {
		return tip, err
	}
	tip.head, tip.Commit = k.head, k.head
	if len(files) == 0 {
		return tip, nil
	}
	b := g.bare(t)
	who, err := g.identity(ctx, t)
	if err != nil {
		return tip, err
	}
	b.extra, b.input = append(b.extra, who...), message
	args := []string{"commit-tree", tip.tree, "-F", "-"}
	if k.head != "" {
		args = append(args, "-p", k.head)
	}
	if tip.Commit, err = b.line(ctx, t.Mirror, args...); err != nil {
		return tip, err
	}
	tip.Made, tip.Files = true, files
	b = g.bare(t)
	if _, err := b.run(ctx, t.Mirror, "update-ref", heldRef(t), tip.Commit); err != nil {
		return tip, err
	}
	repo := g.of(t.Common)
	repo.options = append(slices.Clone(hardened), "-c", "fetch.fsckObjects=true")
	err = repo.act(ctx, t.Common, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--no-auto-maintenance", "--", t.Mirror, "+"+heldRef(t)+":"+heldRef(t))
	return tip, err
}

// treeOwn writes the files of a checkout with a git directory of its own as a tree into the mirror.
func (g Git) treeOwn(ctx context.Context, t Tree, k taken) (string, error) {
	p := g.private(t)
	if err := p.index(ctx, t, k); err != nil {
		return "", err
	}
	if err := p.act(ctx, t.Path, "add", "--all", "--", "."); err != nil {
		return "", err
	}
	return p.line(ctx, t.Path, "write-tree")
}

// identity is who commits, as git knows the person in the repository.
func (g Git) identity(ctx context.Context, t Tree) (environ []string, err error) {
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		line, err := g.of(t.Common).line(ctx, t.Common, "var", "GIT_"+role+"_IDENT")
		if err != nil {
			return nil, err
		}
		name, rest, _ := strings.Cut(line, " <")
		email, when, ok := strings.Cut(rest, "> ")
		if !ok {
			return nil, &GitError{Args: []string{"var"}, Dir: t.Common, Err: fmt.Errorf("it says %.60q, which is not understood", line)}
		}
		environ = append(environ, "GIT_"+role+"_NAME="+name, "GIT_"+role+"_EMAIL="+email, "GIT_"+role+"_DATE="+when)
	}
	return environ, nil
}

// heldRef holds the commit of a confined member's uncommitted files in the repository, which no branch
// has.
func heldRef(t Tree) string { return "refs/waggle/merging/" + t.Branch }

// Drop removes what holds a commit in the repository that no branch has.
func (g Git) Drop(ctx context.Context, t Tree) error {
	if !t.own() {
		return nil
	}
	repo := g.of(t.Common)
	repo.options = hardened
	_, err := repo.run(ctx, t.Common, "update-ref", "-d", heldRef(t))
	return err
}
