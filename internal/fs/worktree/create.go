package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"waggle/internal/fs/realpath"
)

// Want says for whom a worktree is, and of what.
type Want struct {
	Team   string
	Member string
	// Owner is the membership: the same owner gets the same worktree again, another
	// one of that name never does.
	Owner string
	// Cwd is a directory in the checkout that the worktree is made of. Its HEAD
	// commit is where the new branch begins, unless Begin has another.
	Cwd string
	Begin
	// Own gives the checkout a git directory of its own, because the member's commands are
	// confined and must not write the repository's.
	Own bool
}

// Begin is where the branch of a worktree begins.
type Begin struct {
	Base   string // a commit, or a branch, which it is merged into; "": HEAD of the checkout
	Branch string // an existing branch that it is on, or one that only a remote has; "": a new one
}

// Begins reports by its error that no worktree can begin so in the checkout that a directory is in.
func (g Git) Begins(ctx context.Context, dir string, b Begin) error {
	from, err := g.checkout(ctx, dir)
	if err == nil {
		_, err = g.begin(ctx, from.Tree, b)
	}
	return err
}

// begin is a tree of a checkout, with the commit and the branches at which it begins.
func (g Git) begin(ctx context.Context, t Tree, b Begin) (Tree, error) {
	repo := g.of(t.Common)
	if b.Base != "" {
		at, err := repo.commit(ctx, t.Common, refOf(b.Base))
		if t.From = b.Base; err == nil && at == "" {
			t.From = ""
			if !strings.HasPrefix(b.Base, "-") {
				at, err = g.commit(ctx, t.Repo, b.Base) // HEAD is the checkout's
			}
		}
		if err == nil && at == "" {
			err = &RefError{"commit or branch", b.Base}
		}
		if err != nil {
			return t, err
		}
		t.Base = at
	}
	if b.Branch == "" {
		return t, nil
	}
	ref, err := g.refOfBranch(ctx, t, b.Branch)
	if err != nil {
		return t, err
	}
	if t.Base, err = repo.commit(ctx, t.Common, ref); err == nil && t.Base == "" {
		err = &RefError{"branch", b.Branch}
	}
	if err != nil {
		return t, err
	}
	t.Branch, t.Existing = b.Branch, true
	all, err := g.worktrees(ctx, t.Common)
	if err != nil {
		return t, err
	}
	if i := slices.IndexFunc(all, func(w listed) bool { return w.branch == b.Branch }); i >= 0 {
		return t, &CheckedOutError{b.Branch, all[i].path}
	}
	return t, nil
}

// begin is Git.begin for a tree that no worktree of ours is in the way of: git does not list one with a git directory of
// its own.
func (s Store) begin(ctx context.Context, t Tree, b Begin) (Tree, error) {
	t, err := s.Git.begin(ctx, t, b)
	if err != nil || !t.Existing {
		return t, err
	}
	rs, err := s.List()
	for _, r := range rs {
		if r.Tree.Branch == t.Branch && r.Tree.Common == t.Common {
			return t, &CheckedOutError{t.Branch, r.Tree.Path}
		}
	}
	return t, err
}

// refOfBranch is the full name of a branch: the repository's own, else that of the one remote that has it.
func (g Git) refOfBranch(ctx context.Context, t Tree, branch string) (string, error) {
	repo := g.of(t.Common)
	if at, err := repo.commit(ctx, t.Common, refOf(branch)); err != nil || at != "" {
		return refOf(branch), err
	}
	out, err := repo.run(ctx, t.Common, "for-each-ref", "--format=%(refname)", "refs/remotes")
	if err != nil {
		return "", err
	}
	var refs []string
	for ref := range strings.Lines(out) {
		ref = strings.TrimSuffix(ref, "\n")
		if _, name, _ := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/"); name == branch {
			refs = append(refs, ref)
		}
	}
	switch len(refs) {
	case 0:
		return "", &RefError{"branch", branch}
	case 1:
		return refs[0], nil
	}
	return "", &ManyError{branch, refs}
}

// adopt makes the branch of a worktree that only a remote has one of the repository.
func (g Git) adopt(ctx context.Context, t Tree) error {
	ref, err := g.refOfBranch(ctx, t, t.Branch)
	if err != nil || ref == refOf(t.Branch) {
		return err
	}
	return g.of(t.Common).act(ctx, t.Common, "branch", "--track", "--", t.Branch, strings.TrimPrefix(ref, "refs/remotes/"))
}

// most is how many worktrees of one name are tried.
const most = 1000

// Create makes a worktree on a branch of its own, waggle/<team>/<member>, and returns the directory
// in it that corresponds to Cwd. Names that are taken, in the repository or by a branch that it has of a
// remote, get a number; where a branch waggle or waggle/<team> is in the way, the branch is waggle-<team>/<member>
// or waggle-<team>-<member>. An existing branch is used only when Begin names it. InTheWay says what was.
//
// Create finishes or removes the worktree of an interrupted Create. An existing worktree of the
// owner is returned as it is; when its directory was removed, it is made again from its branch.
//
// Errors: ErrNoGit, ErrNotRepository, ErrBare, ErrNoCommit, ErrNoSpace, ErrInside, *ExistsError, *RefError, *ManyError, *CheckedOutError,
// *GitError with git's output, *atomicfile.LockedError. A post-checkout hook of the repository that fails is none
// (Prepared has its words).
func (s Store) Create(ctx context.Context, w Want) (tree Tree, cwd string, err error) {
	if s.Git.Program == "" {
		return Tree{}, "", ErrNoGit
	}
	from, err := s.Git.checkout(ctx, w.Cwd)
	if err != nil {
		return Tree{}, "", err
	}
	release, err := s.lock(ctx)
	if err != nil {
		return Tree{}, "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	place, err := s.place(from)
	if err != nil {
		return Tree{}, "", err
	}
	tree, found, err := s.again(ctx, w)
	if err == nil && !found {
		from.Tree, err = s.begin(ctx, from.Tree, w.Begin)
	}
	if err == nil && !found {
		tree, err = s.create(ctx, w, from, place)
	}
	if err != nil {
		return Tree{}, "", noSpace(err)
	}
	cwd = filepath.Join(tree.Path, from.prefix)
	if err := os.MkdirAll(cwd, 0o700); err != nil { // a directory that is in no commit
		return Tree{}, "", fmt.Errorf("worktree: %w", noSpace(err))
	}
	return tree, cwd, nil
}

// checkout is what a worktree is made of.
type checkout struct {
	Tree          // Repo, Common, Base, From
	prefix string // of cwd below the top level
}

// checkout returns the checkout that contains a directory.
func (g Git) checkout(ctx context.Context, cwd string) (checkout, error) {
	var c checkout
	is, err := g.answers(ctx, cwd, "--is-bare-repository", "--is-inside-work-tree")
	switch {
	case said(err, "not a git repository"):
		return c, fmt.Errorf("%s: %w", cwd, ErrNotRepository)
	case said(err, "cannot use bare repository"): // safe.bareRepository
		return c, fmt.Errorf("%s: %w", cwd, ErrBare)
	case err != nil:
		return c, err
	}
	switch bare, inside := is[0], is[1]; {
	case inside != "true" && bare == "true":
		return c, fmt.Errorf("%s: %w", cwd, ErrBare)
	case inside != "true":
		return c, fmt.Errorf("%s is inside of a git directory: %w", cwd, ErrNotRepository)
	}
	paths, err := g.answers(ctx, cwd, "--show-toplevel", "--git-common-dir", "--show-prefix")
	if err != nil {
		return c, err
	}
	c.Repo, c.Common, c.prefix = real(paths[0]), real(paths[1]), paths[2]
	for _, p := range []string{c.Repo, c.Common} {
		if !utf8.ValidString(p) {
			return c, fmt.Errorf("%q: a path that is not UTF-8 cannot be recorded", p)
		}
	}
	if c.Base, err = g.commit(ctx, cwd, "HEAD"); err == nil && c.Base == "" {
		err = fmt.Errorf("%s: %w", c.Repo, ErrNoCommit)
	}
	if err == nil {
		c.From, err = g.branch(ctx, cwd)
	}
	return c, err
}

// Top returns the top level of the checkout that contains a directory, also beside ErrNoCommit.
func (g Git) Top(ctx context.Context, dir string) (string, error) {
	c, err := g.checkout(ctx, dir)
	return c.Repo, err
}

// branch is the branch that a checkout is on, "" when it is on none.
func (g Git) branch(ctx context.Context, dir string) (string, error) {
	name, err := g.line(ctx, dir, "symbolic-ref", "--quiet", "HEAD")
	if exit(err) == 1 {
		return "", nil
	}
	return strings.TrimPrefix(name, "refs/heads/"), err
}

// real is a path without symbolic links, as far as it exists.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(filepath.FromSlash(path)); err == nil {
		return r
	}
	return path
}

// place makes the directory for the worktrees.
func (s Store) place(from checkout) (string, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("worktree: %w", noSpace(err))
	}
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		return "", fmt.Errorf("worktree: %w", err)
	}
	place := real(s.Dir)
	if realpath.Within(from.Repo, place) || realpath.Within(from.Common, place) {
		return "", fmt.Errorf("%s: %w", place, ErrInside)
	}
	return place, nil
}

// again finds the owner's worktree, and removes what an interrupted Create for that member has
// left.
func (s Store) again(ctx context.Context, w Want) (tree Tree, found bool, err error) {
	rs, err := s.List()
	if err != nil {
		return Tree{}, false, err
	}
	for _, r := range rs {
		switch {
		case r.State == making && r.Member == w.Member:
			ok := false
			if r.Owner == w.Owner {
				if ok, err = s.whole(ctx, r); err != nil {
					return Tree{}, false, err
				}
			}
			if !ok {
				if err := s.undo(ctx, r); err != nil {
					return Tree{}, false, err
				}
				continue
			}
			r.State = made
			if err := s.put(r); err != nil {
				return Tree{}, false, err
			}
			return r.Tree, true, nil
		case r.State == made && r.Owner == w.Owner:
			return r.Tree, true, s.restore(ctx, r)
		}
	}
	return Tree{}, false, nil
}

// create makes a new worktree.
func (s Store) create(ctx context.Context, w Want, from checkout, place string) (Tree, error) {
	t, name, err := s.vacant(ctx, w, from, place)
	if err != nil {
		return Tree{}, err
	}
	r := Record{V: recordVersion, State: making, Member: w.Member, Owner: w.Owner, Tree: t, name: name}
	if err := s.put(r); err != nil {
		return Tree{}, err
	}
	s.at("recorded")
	if err := s.add(ctx, r); err != nil {
		if r.Hook = s.onlyHook(ctx, r.Tree, err); r.Hook == "" {
			return Tree{}, errors.Join(err, s.undo(context.WithoutCancel(ctx), r))
		}
	}
	s.at("added")
	r.State = made
	return t, s.put(r)
}

// vacant is the first worktree of a member whose record, branch and directory do not exist, and the name of
// its record.
func (s Store) vacant(ctx context.Context, w Want, from checkout, place string) (Tree, string, error) {
	bs, err := s.Git.branches(ctx, from.Common)
	if err != nil {
		return Tree{}, "", err
	}
	possible := prefixes(w.Team)
	possible = possible[slices.IndexFunc(possible, func(p string) bool { return bs.above(p) == "" }):]
	for n := 1; n <= most; n++ {
		name := component(w.Member)
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		t := from.Tree
		if t.Path = filepath.Join(place, name); !t.Existing {
			t.Branch = possible[0] + name
		}
		if w.Own {
			t.Mirror = filepath.Join(s.Records, name+".git")
		}
		if _, err := os.Lstat(s.file(name)); err == nil {
			continue
		}
		if !t.Existing && bs.taken(t.Branch) != "" {
			continue
		}
		if _, err := os.Lstat(t.Path); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = &ExistsError{t.Path}
			}
			return Tree{}, "", err
		}
		return t, name, nil
	}
	return Tree{}, "", fmt.Errorf("worktree: there are %d worktrees or branches for %s", most, w.Member)
}

// InTheWay is the branch because of which a member's worktree is not on waggle/<team>/<member>, as the repository has
// it now: one of that name, above it or below it. It is "" where the worktree is on that branch, or the cause is gone.
func (g Git) InTheWay(ctx context.Context, t Tree, team, member string) (string, error) {
	usual := usualBranch(team, member)
	if t.Branch == usual || t.Existing {
		return "", nil
	}
	bs, err := g.branches(ctx, t.Common)
	return cmp.Or(bs.above(usual), bs.taken(usual)), err
}

// Planned returns the worktree that Create would make for a new owner, and makes nothing.
func (s Store) Planned(ctx context.Context, w Want) (Tree, error) {
	if s.Git.Program == "" {
		return Tree{}, ErrNoGit
	}
	from, err := s.Git.checkout(ctx, w.Cwd)
	if err != nil {
		return Tree{}, err
	}
	place := real(s.Dir)
	if realpath.Within(from.Repo, place) || realpath.Within(from.Common, place) {
		return Tree{}, fmt.Errorf("%s: %w", place, ErrInside)
	}
	if from.Tree, err = s.begin(ctx, from.Tree, w.Begin); err != nil {
		return Tree{}, err
	}
	t, _, err := s.vacant(ctx, w, from, place)
	return t, err
}

// add runs git to make the worktree of a record.
func (s Store) add(ctx context.Context, r Record) error {
	if err := os.Mkdir(r.Tree.Path, 0o700); err != nil { // git accepts an empty directory, and this one is ours
		if errors.Is(err, fs.ErrExist) {
			err = &ExistsError{r.Tree.Path}
		}
		return err
	}
	s.at("directory")
	if r.Tree.Existing {
		if err := s.Git.adopt(ctx, r.Tree); err != nil {
			return err
		}
	}
	if r.Tree.own() {
		if err := s.addOwn(ctx, r.Tree, r.Tree.Base); err != nil || r.Tree.Existing {
			return err
		}
		return s.Git.updateRef(ctx, r.Tree, refOf(r.Tree.Branch), r.Tree.Base, strings.Repeat("0", len(r.Tree.Base)))
	}
	if r.Tree.Existing {
		return s.Git.act(ctx, r.Tree.Repo, "worktree", "add", "--quiet", "--", r.Tree.Path, r.Tree.Branch)
	}
	return s.Git.act(ctx, r.Tree.Repo, "worktree", "add", "--quiet", "--no-track", "-b", r.Tree.Branch, "--", r.Tree.Path, r.Tree.Base)
}

// onlyHook returns what was said when git has made a worktree and ended with the error of the repository's
// post-checkout hook, as it does for a person; "" when it is another error.
func (s Store) onlyHook(ctx context.Context, t Tree, err error) string {
	e, ok := errors.AsType[*GitError](err)
	exit, exited := errors.AsType[*exec.ExitError](err)
	const fatal = 128 // of git itself
	if t.own() || !ok || !exited || !exit.Exited() || exit.ExitCode() >= fatal {
		return ""
	}
	if done, ferr := s.finished(ctx, t); ferr != nil || !done {
		return ""
	}
	if st, serr := s.Git.Status(ctx, t); serr != nil || len(st.Changed) > 0 { // not all files are there
		return ""
	}
	return cmp.Or(e.Said, exit.String())
}

// finished reports whether git has made a worktree to its end: it locks one before.
func (s Store) finished(ctx context.Context, t Tree) (bool, error) {
	all, err := s.Git.worktrees(ctx, t.Common)
	if err != nil {
		return false, err
	}
	ours := func(w listed) bool { return w.path == t.Path && w.branch == t.Branch && !w.locked }
	return slices.ContainsFunc(all, ours) && s.Git.same(ctx, t) == nil, nil
}

// finishedOwn is finished for a checkout with a git directory of its own, whose branch is made last.
func (s Store) finishedOwn(ctx context.Context, t Tree) (bool, error) {
	if sameOwn(t) != nil {
		return false, nil
	}
	at, err := s.Git.At(ctx, t, t.Branch)
	return err == nil && at == t.Base, err
}

// whole reports whether a worktree that was being made is finished and untouched.
func (s Store) whole(ctx context.Context, r Record) (bool, error) {
	is := s.finished
	if r.Tree.own() {
		is = s.finishedOwn
	}
	if done, err := is(ctx, r.Tree); err != nil || !done {
		return false, err
	}
	st, err := s.Git.Status(ctx, r.Tree)
	return err == nil && st.Clean() && st.Head == r.Tree.Base, nil
}

// undo removes an unfinished worktree that has no owner.
func (s Store) undo(ctx context.Context, r Record) error {
	t := r.Tree
	_, err := os.Lstat(t.Common)
	gone := errors.Is(err, fs.ErrNotExist) // the repository
	if err = nil; t.own() {
		err = undoOwn(t)
	} else if !gone {
		var is listed
		if is, err = s.Git.listed(ctx, t); err == nil && is.path != "" {
			err = s.Git.of(t.Common).discard(ctx, t.Common, t.Path)
		}
	}
	if err == nil { // a directory that git does not list has no files of git in it
		err = removeEmpty(t.Path)
	}
	if err == nil && !gone {
		_, err = s.dropBranch(ctx, t, t.Base)
	}
	if err != nil {
		return err
	}
	return s.forget(r)
}

// discard removes a worktree that git lists, whatever it holds: its files may have gone first.
func (g Git) discard(ctx context.Context, common, path string) error {
	remove := []string{"worktree", "remove", "--force", "--force", "--", path} // twice: git has locked what it had not finished
	if g.act(ctx, common, remove...) == nil {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	return g.act(ctx, common, remove...)
}

// removeEmpty removes a directory if it is empty.
func removeEmpty(path string) error {
	err := os.Remove(path)
	if entries, rerr := os.ReadDir(path); err == nil || errors.Is(err, fs.ErrNotExist) || rerr == nil && len(entries) > 0 {
		return nil
	}
	return fmt.Errorf("worktree: %w", err)
}

// dropBranch deletes a worktree's branch if it has no commit that another one has not, and is checked out nowhere;
// else it says why the branch is kept. It is deleted only as it was looked at.
func (s Store) dropBranch(ctx context.Context, t Tree, other string) (kept string, err error) {
	if t.Existing {
		return "", nil
	}
	tip, err := s.Git.At(ctx, t, t.Branch)
	if err != nil || tip == "" {
		return "", err
	}
	own, err := s.Git.of(t.Common).line(ctx, t.Common, "rev-list", "--max-count=1", tip, "--not", other)
	if err != nil || own != "" {
		return fmt.Sprintf("branch %s has commits that were not merged", t.Branch), err
	}
	all, err := s.Git.worktrees(ctx, t.Common)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(all, func(w listed) bool { return w.branch == t.Branch }); i >= 0 {
		return fmt.Sprintf("%s is on branch %s", all[i].path, t.Branch), nil
	}
	_, err = s.Git.of(t.Common).run(ctx, t.Common, "update-ref", "-d", refOf(t.Branch), tip)
	return "", err
}

// Restore makes a recorded worktree again when its directory does not exist any more, from its
// branch, for the next session. It does not change one that exists.
func (s Store) Restore(ctx context.Context, t Tree) error {
	return s.with(ctx, t, func(r Record) error {
		if r.Tree != t || r.State != made {
			return &UnknownError{t.Path}
		}
		return noSpace(s.restore(ctx, r))
	})
}

// restore makes a worktree again whose directory was removed.
func (s Store) restore(ctx context.Context, r Record) error {
	t := r.Tree
	if _, err := os.Lstat(t.Path); err == nil {
		return s.Git.same(ctx, t)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("worktree: %w", err)
	}
	if !t.own() {
		if dir, err := admin(t); err != nil {
			return err
		} else if dir != "" {
			return s.refill(ctx, t, dir)
		}
	}
	tip, err := s.Git.At(ctx, t, t.Branch)
	if err != nil {
		return err
	}
	if tip == "" {
		return &MismatchError{What: "branch", Got: "gone", Want: t.Branch}
	}
	if err := os.Mkdir(t.Path, 0o700); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	if t.own() {
		if err := s.addOwn(ctx, t, tip); err != nil {
			return errors.Join(err, os.RemoveAll(t.Path))
		}
		return nil
	}
	if err := s.Git.of(t.Common).act(ctx, t.Common, "worktree", "add", "--quiet", "--", t.Path, t.Branch); err != nil && s.onlyHook(ctx, t, err) == "" {
		return errors.Join(err, os.Remove(t.Path)) // only if it is empty
	}
	return nil
}

// refill makes the files of a worktree again that git still has in its list: from its index, at the commit where it
// was. Its git directory has more than the branch: commits on no branch, an operation in progress, submodules.
func (s Store) refill(ctx context.Context, t Tree, dir string) error {
	files := filepath.Join(filepath.Dir(t.Path), ".restoring-"+filepath.Base(t.Path))
	if err := errors.Join(os.RemoveAll(files), os.MkdirAll(files, 0o700)); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	g := s.Git.of(dir)
	g.workTree = files
	err := g.act(ctx, files, "checkout-index", "--all", "--force", "--index")
	if err == nil {
		err = os.WriteFile(filepath.Join(files, ".git"), []byte("gitdir: "+dir+"\n"), 0o666)
	}
	if err == nil {
		err = os.Rename(files, t.Path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(files))
	}
	return nil
}

// noSpace marks an error of a full disk.
func noSpace(err error) error {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || said(err, "No space left on device") || said(err, "Disk quota exceeded")
	if !full {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNoSpace, err)
}
