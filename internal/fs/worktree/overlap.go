package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// change is one file in which two commits differ.
type change struct {
	path    string
	was, is string // the modes, 000000 where it is not there
}

const noMode = "000000"

// added and gone report a file that only the later, only the earlier commit has.
func (c change) added() bool { return c.was == noMode }
func (c change) gone() bool  { return c.is == noMode }

// module reports a submodule, whose files a merge leaves alone.
func (c change) module() bool {
	return strings.HasPrefix(gitlink, c.was) || strings.HasPrefix(gitlink, c.is)
}

// between lists the files in which two commits differ.
func (g Git) between(ctx context.Context, common, from, to string) ([]change, error) {
	args := []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to, "--"}
	out, err := g.of(common).whole(ctx, common, slow, 8*outLimit, args...)
	if err != nil {
		return nil, err
	}
	var all []change
	for fs := fields(out); len(fs) > 1; fs = fs[2:] {
		parts := strings.Fields(strings.TrimPrefix(fs[0], ":"))
		if len(parts) != 5 {
			return nil, &GitError{Args: args, Dir: common, Err: fmt.Errorf("it says %.60q, which is not understood", fs[0])}
		}
		all = append(all, change{path: fs[1], was: parts[0], is: parts[1]})
	}
	return all, nil
}

// held is what a person has in a checkout that is in no commit.
type held struct {
	tracked   map[string]string // changed files by the form in which names are compared
	uncounted int               // files and directories that are not tracked
	fold      bool              // the file system takes names that differ by case for one
}

func (h held) key(name string) string {
	if h.fold {
		return strings.ToLower(name)
	}
	return name
}

// held reads what a person has in a checkout that is in no commit: changed, staged, conflicting and
// untracked files, and those that are only to be added.
func (g Git) held(ctx context.Context, dir string) (h held, err error) {
	out, err := g.whole(ctx, dir, slow, 8*outLimit, "status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=none")
	if err != nil {
		return h, err
	}
	fold, err := g.line(ctx, dir, "config", "--type=bool", "--get", "core.ignorecase")
	if err != nil && exit(err) != 1 {
		return h, err
	}
	h = held{tracked: map[string]string{}, fold: fold == "true"}
	var st Status
	if err := st.read(dir, out, func(to *[]string, path string) { *to = append(*to, path) }); err != nil {
		return h, err
	}
	if st.Unmerged {
		return h, &BusyError{dir, "merge with conflicts"}
	}
	for _, f := range st.Changed {
		h.tracked[h.key(f)] = f
	}
	h.uncounted = len(st.Untracked)
	return h, nil
}

// overlap refuses a move of the target that changes what a person has not committed in a checkout
// that is on it, and returns how many files it leaves alone there.
func (s Store) overlap(ctx context.Context, i *Intent) (untouched int, err error) {
	changes, err := s.Git.between(ctx, i.Tree.Common, i.From, i.Result)
	if err != nil {
		return 0, err
	}
	return s.Git.overlap(ctx, i.Into, i.Targets, changes)
}

// overlap is that for the checkouts on a branch.
func (g Git) overlap(ctx context.Context, into string, checkouts []string, changes []change) (untouched int, err error) {
	for _, dir := range checkouts {
		h, err := g.held(ctx, dir)
		if err != nil {
			return 0, err
		}
		if files := h.overlap(dir, changes); len(files) > 0 {
			return 0, &DirtyError{dir, into, files}
		}
		untouched += len(h.tracked) + h.uncounted
	}
	return untouched, nil
}

// Beside refuses a target whose checkouts have, in no commit, what a merge of the worktree as it is now
// would change: a *DirtyError, as Merge. It merges nothing, so that a file of which both have changed
// other lines counts.
func (g Git) Beside(ctx context.Context, t Tree, to Target) error {
	its, err := g.diffFrom(ctx, t, "")
	if err != nil || len(to.Checkouts) == 0 {
		return err
	}
	differ, err := g.diffFrom(ctx, t, to.Commit)
	if err != nil {
		return err
	}
	out, err := g.of(t.Common).whole(ctx, t.Common, slow, 8*outLimit, "ls-tree", "-r", "-z", "--name-only", "--full-tree", to.Commit)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, f := range fields(out) {
		there[f] = true
	}
	var changes []change
	for _, f := range its.Files {
		if slices.ContainsFunc(differ.Files, func(d FileChange) bool { return d.Path == f.Path }) {
			c := change{path: f.Path, was: "100644", is: "100644"}
			if !there[f.Path] {
				c.was = noMode
			}
			if _, err := os.Lstat(filepath.Join(t.Path, filepath.FromSlash(f.Path))); err != nil {
				c.is = noMode
			}
			changes = append(changes, c)
		}
	}
	_, err = g.overlap(ctx, to.Branch, to.Checkouts, changes)
	return err
}

// overlap lists what a person has not committed in a checkout, and changes would overwrite: changed
// files, and what is in the way of new ones, ignored files included.
func (h held) overlap(dir string, changes []change) (files []string) {
	goes := map[string]bool{} // the names that are free, or become it
	for _, c := range changes {
		if c.gone() {
			goes[h.key(c.path)] = true
		}
	}
	for _, c := range changes {
		if f, ok := h.tracked[h.key(c.path)]; ok {
			files = append(files, f)
		}
		if c.added() {
			files = append(files, h.inTheWay(dir, c.path, goes)...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// inTheWay lists what is at the place of a new file, or in the place of one of its directories.
func (h held) inTheWay(dir, name string, goes map[string]bool) (files []string) {
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(up)))
		if err == nil && !info.IsDir() && !goes[h.key(up)] {
			return []string{up}
		}
	}
	at := filepath.Join(dir, filepath.FromSlash(name))
	info, err := os.Lstat(at)
	switch {
	case err != nil || goes[h.key(name)]:
		return nil
	case !info.IsDir():
		return []string{name}
	}
	err = filepath.WalkDir(at, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if rel, err := filepath.Rel(dir, p); err == nil && !goes[h.key(filepath.ToSlash(rel))] {
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return append(files, name)
	}
	return files
}
