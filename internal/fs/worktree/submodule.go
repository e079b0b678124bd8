package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/fs/realpath"
)

// A linked worktree has its own copy of each submodule that was fetched in it: a git directory below the worktree's
// own in the repository. It goes with the worktree, whichever branch its commits are on.

// gitlink begins what git ls-files --stage says of a submodule.
const gitlink = "160000 "

// checked is a git directory whose files may have submodules.
type checked struct {
	git  Git
	top  string // of its files; "" when that is not known
	base string // the commit that it began at; "" when that is not known
}

// admin is the git directory of a linked worktree, whose files may be gone; "": the repository has none for it.
func admin(t Tree) (string, error) {
	dirs, err := os.ReadDir(filepath.Join(t.Common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range dirs {
		dir := filepath.Join(t.Common, "worktrees", e.Name())
		if of, err := os.ReadFile(filepath.Join(dir, "gitdir")); err == nil && strings.TrimSuffix(string(of), "\n") == filepath.Join(t.Path, ".git") {
			return dir, nil
		}
	}
	return "", nil
}

// submodules fills in what is in submodules of a linked worktree and nowhere else, but for their files, which git
// status looks at. A submodule that is not checked out any more counts too.
func (g Git) submodules(ctx context.Context, t Tree, s *Status) error {
	dir, err := admin(t)
	if err != nil || dir == "" {
		return err
	}
	return g.modules(ctx, filepath.Join(dir, "modules"), checked{g.of(t.Common), t.Path, t.Base}, s)
}

// modules looks at the git directories below a directory, where each is named after its submodule.
func (g Git) modules(ctx context.Context, dir string, above checked, s *Status) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("worktree: %w", err)
	}
	for _, e := range entries {
		below := filepath.Join(dir, e.Name())
		look := g.modules
		if isGitDir(below) {
			look = g.module
		}
		if e.IsDir() {
			if err := look(ctx, below, above, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// module fills in the commits of a submodule that no branch of its remotes has, nor the commit that the worktree began
// at, and what is in progress in it.
func (g Git) module(ctx context.Context, dir string, above checked, s *Status) error {
	m := g.of(dir)
	m.options, m.workTree = hardened, dir // its own may not exist, and git would not start
	in := checked{git: m}
	var tips []string
	for _, rev := range []string{"HEAD", "refs/stash"} {
		if at, err := m.commit(ctx, dir, rev); err != nil {
			return err
		} else if at != "" {
			tips = append(tips, at)
		}
	}
	top, err := m.line(ctx, dir, "config", "--get", "core.worktree")
	if err != nil && exit(err) != 1 {
		return err
	}
	if top == "" && filepath.Base(dir) == ".git" {
		in.top = filepath.Dir(dir)
	} else if top != "" {
		if in.top = filepath.FromSlash(top); !filepath.IsAbs(in.top) {
			in.top = filepath.Join(dir, in.top)
		}
	}
	if rel, ok := realpath.Below(above.top, in.top); ok && above.base != "" {
		// What the repository had of it is no work of the member's, though its remote may have removed it.
		if was, err := above.git.line(ctx, above.git.gitDir, "rev-parse", "--verify", "--quiet", above.base+":"+filepath.ToSlash(rel)); err == nil {
			if in.base, err = m.commit(ctx, dir, was); err != nil {
				return err
			}
		}
	}
	args := append([]string{"--branches"}, tips...)
	args = append(args, "--not", "--remotes")
	if in.base != "" {
		args = append(args, in.base)
	}
	var found Status
	if err := m.log(ctx, dir, args, &found); err != nil {
		return err
	}
	s.Submodules, s.cutOther = append(s.Submodules, found.Commits...), s.cutOther || found.cutCommits
	s.Operation = cmp.Or(s.Operation, operationIn(dir))
	return g.modules(ctx, filepath.Join(dir, "modules"), in, s)
}

// embedded looks at a submodule whose git directory is among its files, where nothing else would find it.
func (g Git) embedded(ctx context.Context, t Tree, path string, s *Status) error {
	dir := filepath.Join(t.Path, filepath.FromSlash(path), ".git")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	return g.module(ctx, dir, checked{g.of(t.Common), t.Path, t.Base}, s)
}

// submodulesOwn lists the submodules that a confined member has fetched. git is not run with git directories that the
// member can write, so that what is in them is not known: they count as hidden files.
func (g Git) submodulesOwn(ctx context.Context, t Tree, s *Status) error {
	paths, err := g.links(ctx, t.Path)
	if err != nil {
		return err
	}
	for _, path := range append(paths, ".git/modules") {
		if inside, err := os.ReadDir(filepath.Join(t.Path, filepath.FromSlash(path))); err == nil && len(inside) > 0 {
			add(&s.Hidden, path, shown, &s.cutOther)
		}
	}
	return nil
}

// hasSubmodules reports whether git refuses to remove a worktree because of its submodules, whatever is in them.
func (g Git) hasSubmodules(ctx context.Context, t Tree) (bool, error) {
	dir, err := admin(t)
	if err != nil || dir == "" {
		return false, err
	}
	if inside, err := os.ReadDir(filepath.Join(dir, "modules")); err == nil && len(inside) > 0 {
		return true, nil
	}
	links, err := g.links(ctx, t.Path)
	return slices.ContainsFunc(links, func(path string) bool {
		_, err := os.Lstat(filepath.Join(t.Path, filepath.FromSlash(path), ".git"))
		return err == nil
	}), err
}

// links are the submodules in the index of a checkout.
func (g Git) links(ctx context.Context, dir string) (paths []string, err error) {
	out, err := g.whole(ctx, dir, slow, 8*outLimit, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	for _, f := range fields(out) {
		if what, path, _ := strings.Cut(f, "\t"); strings.HasPrefix(what, gitlink) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
