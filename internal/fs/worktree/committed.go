package worktree

import (
	"cmp"
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

// Uncommitted lists the files of a worktree that are in no commit, each by itself, and says which operation
// of git is in progress, "" for none.
func (g Git) Uncommitted(ctx context.Context, t Tree) (files []string, operation string, err error) {
	g.all = true
	st, err := g.Status(ctx, t)
	if err != nil || st.Missing {
		return nil, "", err
	}
	files = slices.Concat(st.Changed, st.Untracked)
	slices.Sort(files)
	return files, st.Operation, nil
}

// Commit commits what is not committed in a worktree, and returns the commit of all work. message is
// taken as it is. The hooks of the repository run, but for a checkout with a git directory of its
// own: no program of the repository reads the files of a confined member there. Nor is that
// checkout changed: the commit is in the repository, and the caller calls Drop when it needs it no more,
// and Recorded before that when others have it.
func (g Git) Commit(ctx context.Context, t Tree, message string) (tip Tip, err error) {
	files, operation, err := g.Uncommitted(ctx, t)
	if err != nil {
		return tip, err
	}
	if operation != "" {
		return tip, &BusyError{t.Path, operation}
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
		tip.Commit, err = g.At(ctx, t, t.Branch)
		if err == nil && tip.Commit == "" {
			err = &MismatchError{What: "branch", Got: "gone", Want: t.Branch}
		}
		tip.head = tip.Commit
		return tip, err
	}
	if on, err := g.branch(ctx, t.Path); err != nil {
		return tip, err
	} else if on != t.Branch {
		return tip, &MismatchError{"branch", cmp.Or(on, "none"), t.Branch}
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
	k, release, err := g.take(ctx, t)
	if err != nil {
		return tip, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if k.branch != t.Branch {
		return tip, &MismatchError{"branch", cmp.Or(k.branch, "none"), t.Branch}
	}
	if tip.tree, err = g.treeOwn(ctx, t, k); err != nil {
		return tip, err
	}
	tip.head, tip.Commit = k.head, k.head
	if len(files) > 0 {
		if tip.Commit, err = g.commitTree(ctx, t, k, tip.tree, message); err != nil {
			return tip, err
		}
		tip.Made, tip.Files = true, files
	}
	if tip.Commit == k.tip(t) {
		return tip, nil // Fetch brought it
	}
	return tip, g.bringCommit(ctx, t, tip.Commit, heldRef(t), heldRef(t))
}

// commitTree makes a commit of a tree in the mirror, as the person.
func (g Git) commitTree(ctx context.Context, t Tree, k taken, tree, message string) (string, error) {
	b := g.bare(t)
	who, err := g.identity(ctx, t)
	if err != nil {
		return "", err
	}
	b.extra, b.input = append(b.extra, who...), message
	args := []string{"commit-tree", tree, "-F", "-"}
	if k.head != "" {
		args = append(args, "-p", k.head)
	}
	return b.line(ctx, t.Mirror, args...)
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

// recordedRef is, in the mirror, the last commit that was made of a confined member's files and that
// others have. Its checkout does not know that commit.
const recordedRef = "refs/waggle/recorded"

// Recorded makes the commit that was made of a confined member's uncommitted files part of its work:
// from here on only what differs from it is uncommitted, and the next commit follows it.
func (g Git) Recorded(ctx context.Context, t Tree, commit string) error {
	if !t.own() || commit == "" {
		return nil
	}
	if _, err := os.Lstat(t.Mirror); err != nil {
		return nil // its directory was removed before: nothing is made of its files
	}
	_, err := g.bare(t).run(ctx, t.Mirror, "update-ref", recordedRef, commit)
	return err
}

// onRecorded is where a confined member's work stands, which has recorded commits that its head has not:
// the recorded commit where the member has committed nothing since, else a commit of the member's files
// with both as its parents, the same each time.
func (g Git) onRecorded(ctx context.Context, t Tree, head, recorded string) (string, error) {
	b := g.bare(t)
	for _, order := range [][2]string{{recorded, head}, {head, recorded}} {
		if _, err := b.run(ctx, t.Mirror, "merge-base", "--is-ancestor", order[0], order[1]); err == nil {
			return order[1], nil
		} else if exit(err) != 1 {
			return "", err
		}
	}
	return b.turnCommit(ctx, t.Mirror, head+"^{tree}", "work after "+recorded[:12]+" on "+t.Branch, "-p", head, "-p", recorded)
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
	return g.updateRef(ctx, t, "-d", heldRef(t))
}
