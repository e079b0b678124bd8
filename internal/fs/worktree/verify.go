package worktree

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"waggle/spawn"
)

// Effective is where a process really works, as git sees it.
type Effective struct {
	Top    string `json:"top"`              // top level, without symbolic links
	Common string `json:"common"`           // the git directory that worktrees share
	Branch string `json:"branch,omitempty"` // "" when HEAD is on none
}

// Verify checks from inside of a process that works in dir with this environment whether it works
// in the worktree: the top level and the git directory are those that were recorded, it is a linked
// worktree and not the main checkout, and no variable of the environment redirects git. Its
// findings are returned with the error, as far as they are known.
//
// With branch, HEAD must be on the recorded branch too, as it is before the member has worked.
// Afterwards it may be elsewhere for good reasons, in a rebase for instance, and the worktree is
// still isolated.
//
// It fails closed: any doubt is an error, *MismatchError when something is different.
func Verify(ctx context.Context, environ []string, dir string, want Tree, branch bool) (Effective, error) {
	var e Effective
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); spawn.InScope(v, spawn.ScopeRepository) {
			return e, &MismatchError{What: "environment", Got: name + " is set and sends git elsewhere"}
		}
	}
	g, err := Find(environ)
	if err != nil {
		return e, err
	}
	if want.own() {
		e, err = effectiveOwn(dir, want)
	} else {
		e, err = g.effective(ctx, dir)
	}
	if err == nil {
		err = e.check(want)
	}
	if err == nil && branch && e.Branch != want.Branch {
		err = &MismatchError{"branch", cmp.Or(e.Branch, "none"), want.Branch}
	}
	return e, err
}

// effective asks git where dir is. It is an error in a main checkout.
func (g Git) effective(ctx context.Context, dir string) (e Effective, err error) {
	paths, err := g.answers(ctx, dir, "--show-toplevel", "--git-common-dir", "--absolute-git-dir")
	if err != nil {
		return e, err
	}
	e.Top, e.Common = real(paths[0]), real(paths[1])
	if e.Branch, err = g.branch(ctx, dir); err != nil {
		return e, err
	}
	if real(paths[2]) == e.Common {
		return e, &MismatchError{What: "checkout", Got: fmt.Sprintf("%s is the repository's main checkout, not a worktree", e.Top)}
	}
	return e, nil
}

// check compares with what was recorded, but for the branch.
func (e Effective) check(want Tree) error {
	switch {
	case e.Top != real(want.Path):
		return &MismatchError{"top level", e.Top, want.Path}
	case e.Common != real(want.Common):
		return &MismatchError{"git directory", e.Common, want.Common}
	}
	return nil
}

// same reports by its error that a worktree's directory is not what was recorded.
func (g Git) same(ctx context.Context, t Tree) error {
	if t.own() {
		return sameOwn(t)
	}
	e, err := g.effective(ctx, t.Path)
	if err != nil {
		return err
	}
	return e.check(t)
}
