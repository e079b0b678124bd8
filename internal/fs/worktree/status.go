package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Status is what there is in a worktree besides what it began with.
type Status struct {
	Head    string // the commit that it is at; "" when its directory does not exist
	Branch  string // the branch that it is on; "" when it is on none
	Missing bool   // its directory does not exist

	Changed   []string // tracked files with changes that are not committed, a submodule's included
	Untracked []string // files and directories that are neither tracked nor ignored
	Hidden    []string // files that exist and that git was told to ignore changes of
	Commits   []Commit // on it or on its branch and nowhere else, newest first
	// Submodules are commits in submodules that are nowhere else.
	Submodules []Commit
	Stashes    []string // of its branch; they are the repository's and stay when it goes
	Operation  string   // the operation in progress: merge, rebase, …; "" for none
	Unmerged   bool     // a file of the index has a conflict
	Locked     bool     // by git worktree lock
	Reason     string   // why

	cutFiles, cutCommits, cutOther bool // there are more than Changed and Untracked, Commits, another list shows
}

// Commit is a commit of a worktree.
type Commit struct{ Hash, Subject string }

// shown is how much each list of a Status holds.
const shown = 100

// More reports a list that was cut: there is more than it shows.
func (s Status) More() bool { return s.cutFiles || s.cutCommits || s.cutOther }

// Clean reports that removing the worktree loses nothing.
func (s Status) Clean() bool {
	return len(s.Changed)+len(s.Untracked)+len(s.Hidden)+len(s.Commits)+len(s.Submodules)+len(s.Stashes) == 0 && s.Operation == "" && !s.Locked && !s.More()
}

// Uncommitted is how many files have changes that are in no commit.
func (s Status) Uncommitted() int { return len(s.Changed) + len(s.Untracked) + len(s.Hidden) }

// String says it in a few words: "2 uncommitted files, 1 unpushed commit".
func (s Status) String() string {
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n >= shown:
			parts = append(parts, fmt.Sprintf("at least %d %s", n, many))
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	count(s.Uncommitted(), "uncommitted file", "uncommitted files")
	count(len(s.Commits), "unpushed commit", "unpushed commits")
	count(len(s.Submodules), "unpushed commit in a submodule", "unpushed commits in submodules")
	count(len(s.Stashes), "stash entry", "stash entries")
	if s.Operation != "" {
		parts = append(parts, s.Operation+" in progress")
	}
	if s.Locked {
		parts = append(parts, strings.TrimSuffix("locked: "+s.Reason, ": "))
	}
	if s.Missing {
		parts = append(parts, "its directory is gone")
	}
	switch {
	case len(parts) > 0:
	case s.More():
		return "more than git could list"
	default:
		return "clean"
	}
	return strings.Join(parts, ", ")
}

// Lines name the first n of what is not committed, and of the commits.
func (s Status) Lines(n int) []string {
	lines := slices.Concat(s.Changed, s.Untracked, s.Hidden)
	lines = lines[:min(n, len(lines))]
	commits := slices.Concat(s.Commits, s.Submodules)
	for _, c := range commits[:min(n, len(commits))] {
		lines = append(lines, c.Hash+" "+c.Subject)
	}
	return lines
}

// Status reads the state of a worktree. A directory that differs from the record is an error; one
// that does not exist is not.
func (g Git) Status(ctx context.Context, t Tree) (Status, error) {
	var s Status
	if _, err := os.Lstat(t.Path); errors.Is(err, fs.ErrNotExist) {
		s.Missing = true
	} else if err := g.same(ctx, t); err != nil {
		return s, err
	}
	if t.own() {
		return s, g.statusOwn(ctx, t, &s)
	}
	is, err := g.listed(ctx, t)
	if err != nil {
		return s, err
	}
	s.Locked, s.Reason = is.locked, is.reason
	commits := func(ctx context.Context, t Tree, s *Status) error {
		return g.commits(ctx, t, cmp.Or(s.Head, is.head), s)
	}
	for _, look := range []func(context.Context, Tree, *Status) error{g.files, commits, g.stashes, g.submodules} {
		if err := look(ctx, t, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// HasBranch reports whether the branch of a worktree exists, whose directory may be gone.
func (g Git) HasBranch(ctx context.Context, t Tree) (bool, error) {
	if _, err := os.Lstat(t.Common); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	head, err := g.At(ctx, t, t.Branch)
	return head != "", err
}

// files fills in what git status says, and what is in progress.
func (g Git) files(ctx context.Context, t Tree, s *Status) error {
	if s.Missing {
		return nil
	}
	if err := g.changes(ctx, t.Path, s); err != nil {
		return err
	}
	var err error
	s.Operation, err = g.operation(ctx, t.Path)
	return err
}

// changes fills in what git status says.
func (g Git) changes(ctx context.Context, dir string, s *Status) error {
	room, untracked := shown, "--untracked-files=normal"
	if g.all {
		room, untracked = math.MaxInt, "--untracked-files=all"
	}
	out, more, err := g.bounded(ctx, dir, 1, outLimit, "status", "--porcelain=v2", "--branch", "-z", untracked, "--no-renames", g.modulesOf("none"))
	if err != nil {
		return err
	}
	s.cutFiles = more
	return s.read(dir, out, func(to *[]string, path string) { add(to, path, room, &s.cutFiles) })
}

// modulesOf says what of submodules git ignores in its own checkout; in a confined member's it looks at none of them.
func (g Git) modulesOf(ignores string) string {
	if g.workTree != "" {
		ignores = "all"
	}
	return "--ignore-submodules=" + ignores
}

// read reads what git status says, in the form of porcelain v2, and hands each file on.
func (s *Status) read(dir, out string, add func(to *[]string, path string)) error {
	for _, f := range fields(out) {
		kind, rest, _ := strings.Cut(f, " ")
		to, skip := &s.Changed, 0
		switch kind {
		case "#":
			key, value, _ := strings.Cut(rest, " ")
			switch key {
			case "branch.oid":
				s.Head = value
			case "branch.head":
				if s.Branch = value; value == "(detached)" {
					s.Branch = ""
				}
			}
			continue
		case "1":
			skip = 7 // XY, submodule, three modes, two hashes
		case "u":
			skip = 9
			s.Unmerged = true
		case "?":
			to = &s.Untracked
		default:
			return &GitError{Args: []string{"status"}, Dir: dir, Err: fmt.Errorf("it says %.60q, which is not understood", f)}
		}
		parts := strings.SplitN(rest, " ", skip+1)
		add(to, parts[len(parts)-1])
	}
	return nil
}

// add adds to a list, if that has room.
func add(to *[]string, v string, room int, cut *bool) {
	if len(*to) == room {
		*cut = true
		return
	}
	*to = append(*to, v)
}

// operations are what may be in progress, by the file in the git directory that says
// so.
var operations = [][2]string{{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"}, {"sequencer", "cherry-pick"}}

func (g Git) operation(ctx context.Context, dir string) (string, error) {
	own, err := g.line(ctx, dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return "", err
	}
	return operationIn(own), nil
}

// operationIn is what is in progress in a checkout with this git directory, "" for nothing.
func operationIn(gitDir string) string {
	for _, o := range operations {
		if _, err := os.Lstat(filepath.Join(gitDir, o[0])); err == nil {
			return o[1]
		}
	}
	return ""
}

// commits fills in the commits that the worktree's HEAD, which is at a commit or "", or its branch has and that
// neither its base, nor the branch that it came from, nor any branch of a remote has.
func (g Git) commits(ctx context.Context, t Tree, at string, s *Status) error {
	var tips []string
	if at != "" {
		tips = append(tips, at)
	}
	tip, err := g.At(ctx, t, t.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		tips = append(tips, tip)
	}
	if len(tips) == 0 {
		return nil
	}
	args := append(tips, "--not", t.Base)
	if t.From != "" {
		from, err := g.At(ctx, t, t.From)
		if err != nil {
			return err
		}
		if from != "" {
			args = append(args, from)
		}
	}
	return g.of(t.Common).log(ctx, t.Common, append(args, "--remotes"), s)
}

// log fills in the commits that revisions select.
func (g Git) log(ctx context.Context, dir string, revisions []string, s *Status) error {
	args := []string{"log", "-z", "--no-show-signature", "--no-decorate", "--no-color", "--no-mailmap", "--no-notes", "--no-patch",
		fmt.Sprintf("--max-count=%d", shown+1), "--format=tformat:%h%x01%s"}
	out, more, err := g.bounded(ctx, dir, 1, outLimit, append(append(args, revisions...), "--")...)
	if err != nil {
		return err
	}
	s.cutCommits = s.cutCommits || more
	for _, f := range fields(out) {
		hash, subject, _ := strings.Cut(f, "\x01")
		if len(s.Commits) == shown {
			s.cutCommits = true
			break
		}
		s.Commits = append(s.Commits, Commit{hash, subject})
	}
	return nil
}

// stashes fills in the stash entries that were made on the branch. They are the
// repository's, whichever worktree made them.
func (g Git) stashes(ctx context.Context, t Tree, s *Status) error {
	if tip, err := g.of(t.Common).commit(ctx, t.Common, "refs/stash"); err != nil || tip == "" {
		return err
	}
	out, more, err := g.of(t.Common).bounded(ctx, t.Common, 1, outLimit, "log", "-g", "-z", "--no-show-signature", "--no-color", "--no-notes", "--no-patch", "--format=tformat:%gs", "refs/stash", "--")
	if err != nil {
		return err
	}
	s.cutOther = s.cutOther || more
	for _, f := range fields(out) {
		if strings.HasPrefix(f, "WIP on "+t.Branch+":") || strings.HasPrefix(f, "On "+t.Branch+":") {
			add(&s.Stashes, f, shown, &s.cutOther)
		}
	}
	return nil
}

// hidden fills in files that git was told to treat as unchanged or absent, and which exist, in a checkout (sub is ".") or
// its submodule at sub, and in the submodules of that: git would delete them with the worktree without a check. So it
// would a submodule's git directory that is among the files.
func (g Git) hidden(ctx context.Context, t Tree, sub string, s *Status) error {
	if sub != "." {
		g.options = hardened
	}
	dir := filepath.Join(t.Path, sub)
	out, err := g.whole(ctx, dir, slow, 8*outLimit, "ls-files", "-v", "--stage", "-z", "--cached")
	if err != nil {
		return err
	}
	for _, f := range fields(out) {
		what, path, _ := strings.Cut(f, "\t")
		tag, what, _ := strings.Cut(what, " ")
		at := filepath.Join(dir, filepath.FromSlash(path))
		if strings.HasPrefix(what, gitlink) {
			if err := g.embedded(ctx, t, filepath.Join(sub, path), s); err != nil {
				return err
			}
			if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
				if err := g.hidden(ctx, t, filepath.Join(sub, path), s); err != nil {
					return err
				}
			}
		}
		if tag == "H" || tag == "M" {
			continue
		}
		if _, err := os.Lstat(at); err == nil && (tag == "S" || strings.ToLower(tag) == tag) {
			add(&s.Hidden, filepath.ToSlash(filepath.Join(sub, path)), shown, &s.cutOther)
		}
	}
	return nil
}
