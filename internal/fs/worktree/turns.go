package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// What a turn of a member changed is a commit that no branch has, refs/waggle/<team>/<member>/<n>: the
// files as they were when the turn ended, committed or not, and as its parent those of before.

// Limits of what is kept of turns. Files that are not tracked and larger are left out, as are those
// beyond the others.
const (
	maxTurns     = 50 // the newest ones
	maxTurnFile  = 4 << 20
	maxTurnBytes = 64 << 20
	maxTurnFiles = 5000
)

// TurnError: what a turn changed is not on record.
type TurnError struct {
	Turn  int
	There []int // those that are
}

func (e *TurnError) Error() string {
	if len(e.There) == 0 {
		return fmt.Sprintf("turn %d is not on record: no turn has changed a file yet", e.Turn)
	}
	var all []string
	for _, n := range e.There {
		all = append(all, strconv.Itoa(n))
	}
	return fmt.Sprintf("turn %d is not on record: there are %s", e.Turn, strings.Join(all, ", "))
}

// turnsOf is the beginning of the names of a worktree's turns. Branches of the repository are its alone, so that two
// teams never share one; a branch that a person named is below @, which is no team.
func turnsOf(t Tree) string {
	if name, ours := strings.CutPrefix(t.Branch, "waggle/"); ours {
		return "refs/waggle/" + name + "/"
	}
	return "refs/waggle/@/" + t.Branch + "/"
}

// turnRef is a turn on record.
type turnRef struct {
	n    int
	tree string // its files
}

// turns are those on record, in their order.
func (g Git) turns(ctx context.Context, t Tree) ([]turnRef, error) {
	out, err := g.of(t.Common).run(ctx, t.Common, "for-each-ref", "--format=%(refname) %(tree)", turnsOf(t))
	if err != nil {
		return nil, err
	}
	var all []turnRef
	for _, l := range strings.Split(strings.TrimSpace(out), "\n") {
		name, tree, _ := strings.Cut(strings.TrimPrefix(l, turnsOf(t)), " ")
		if n, err := strconv.Atoi(name); err == nil && n > 0 && tree != "" {
			all = append(all, turnRef{n, tree})
		}
	}
	slices.SortFunc(all, func(a, b turnRef) int { return a.n - b.n })
	return all, nil
}

// EndTurn records what a turn of the member changed, and returns its number: the turns that change a
// file count from 1. 0: it changed none. Neither the index nor HEAD of the checkout changes, and no hook
// runs. Files that git ignores are not part of it, nor those of a submodule, which is one line.
func (g Git) EndTurn(ctx context.Context, t Tree) (n int, err error) {
	if _, err := os.Lstat(t.Path); err != nil {
		return 0, nil
	}
	all, err := g.turns(ctx, t)
	if err != nil {
		return 0, err
	}
	parent, before, n := t.Base, t.Base+"^{tree}", 1
	if len(all) > 0 {
		last := all[len(all)-1]
		parent, before, n = "", last.tree, last.n+1
	}
	at, files, done, err := g.snapshot(ctx, t)
	if err != nil || files == "" {
		return 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if before, err = at.line(ctx, t.Path, "rev-parse", "--verify", before); err != nil || before == files {
		return 0, err
	}
	if parent == "" {
		if parent, err = at.turnCommit(ctx, t.Path, before, "before"); err != nil {
			return 0, err
		}
	}
	commit, err := at.turnCommit(ctx, t.Path, files, fmt.Sprintf("turn %d on %s", n, t.Branch), "-p", parent)
	if err != nil {
		return 0, err
	}
	ref := turnsOf(t) + strconv.Itoa(n)
	if t.own() {
		err = g.bringCommit(ctx, t, commit, "refs/waggle/turn", ref)
	} else {
		_, err = at.run(ctx, t.Path, "update-ref", ref, commit)
	}
	if err != nil {
		return 0, err
	}
	return n, g.forgetTurns(ctx, t, slices.DeleteFunc(all, func(r turnRef) bool { return r.n > n-maxTurns }))
}

// turnCommit makes a commit of a tree, by nobody and at no time, so that it is the same each time.
func (g Git) turnCommit(ctx context.Context, dir, tree, message string, args ...string) (string, error) {
	g.input = message + "\n"
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		g.extra = append(slices.Clone(g.extra), "GIT_"+who+"_NAME=waggle", "GIT_"+who+"_EMAIL=waggle@localhost", "GIT_"+who+"_DATE=1000000000 +0000")
	}
	return g.line(ctx, dir, append([]string{"-c", "commit.gpgSign=false", "commit-tree", tree, "-F", "-"}, args...)...)
}

// snapshot writes the files of a checkout as a tree, "" where there are too many.
func (g Git) snapshot(ctx context.Context, t Tree) (at Git, tree string, done func() error, err error) {
	read := g.readFiles
	if t.own() {
		read = g.readOwnFiles
	}
	at, last, tree, done, err := read(ctx, t)
	if err != nil || tree != "" {
		return at, tree, done, err
	}
	end := done // a return of an error replaces it
	defer func() {
		if err != nil || tree == "" {
			_ = end()
		}
	}()
	if err := at.act(ctx, t.Path, "add", "--update", "--", "."); err != nil {
		return g, "", nil, err
	}
	out, more, err := at.bounded(ctx, t.Path, 1, outLimit, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil || more {
		return g, "", nil, err
	}
	var added strings.Builder
	count, size := 0, int64(0)
	for _, f := range fields(out) {
		info, err := os.Lstat(filepath.Join(t.Path, filepath.FromSlash(f)))
		if err != nil || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 || info.Size() > maxTurnFile {
			continue // a repository inside has the mode of a directory
		}
		if count, size = count+1, size+info.Size(); count > maxTurnFiles || size > maxTurnBytes {
			break
		}
		added.WriteString(f + "\x00")
	}
	if added.Len() > 0 {
		with := at
		with.input = added.String()
		if err := with.act(ctx, t.Path, "update-index", "--add", "-z", "--stdin"); err != nil {
			return g, "", nil, err
		}
	}
	if tree, err = at.line(ctx, t.Path, "write-tree"); err == nil {
		last.keep(at, tree)
	}
	return at, tree, done, err
}

// readFiles returns a git with a copy of the index of a linked worktree, or the tree of the last snapshot if no file
// has changed.
func (g Git) readFiles(ctx context.Context, t Tree) (at Git, last witness, tree string, done func() error, err error) {
	if err := g.same(ctx, t); err != nil {
		return g, last, "", nil, err
	}
	if last, err = g.witness(ctx, t); err != nil {
		return g, last, "", nil, err
	}
	at = g.quiet()
	if tree = last.unchanged(ctx, at, t); tree != "" {
		return at, last, tree, func() error { return nil }, nil
	}
	at, done, err = g.withIndex(ctx, t)
	return at, last, "", done, err
}

// readOwnFiles returns a git with the mirror's index for a checkout with a git directory of its own, or the tree of
// the last snapshot if no file has changed. It holds the mirror until done.
func (g Git) readOwnFiles(ctx context.Context, t Tree) (at Git, last witness, tree string, done func() error, err error) {
	k, done, err := g.take(ctx, t)
	if err != nil {
		return g, last, "", nil, err
	}
	at, last = g.private(t), witness{t.Mirror, k.head}
	if tree = last.unchanged(ctx, at, t); tree == "" {
		if err = at.index(ctx, t, k); err != nil {
			_ = done()
		}
	}
	return at, last, tree, done, err
}

// DiffTurn is what a turn changed. Its error is a *TurnError when that is not on record.
func (g Git) DiffTurn(ctx context.Context, t Tree, n int) (d Difference, err error) {
	repo, ref := g.of(t.Common), turnsOf(t)+strconv.Itoa(n)
	if d.Head, err = repo.commit(ctx, t.Common, ref); err != nil {
		return d, err
	}
	if d.Head == "" {
		all, err := g.turns(ctx, t)
		if err != nil {
			return d, err
		}
		e := &TurnError{Turn: n}
		for _, r := range all {
			e.There = append(e.There, r.n)
		}
		return d, e
	}
	if d.Base, err = repo.commit(ctx, t.Common, ref+"^"); err != nil {
		return d, err
	}
	return d, repo.compare(ctx, t.Common, &d, d.Base, d.Head, "--")
}

// dropTurns removes what is on record of the turns of a worktree.
func (g Git) dropTurns(ctx context.Context, t Tree) error {
	all, err := g.turns(ctx, t)
	if err != nil {
		return err
	}
	return g.forgetTurns(ctx, t, all)
}

func (g Git) forgetTurns(ctx context.Context, t Tree, all []turnRef) error {
	if len(all) == 0 {
		return nil
	}
	repo := g.of(t.Common).quiet()
	for _, r := range all {
		repo.input += "delete " + turnsOf(t) + strconv.Itoa(r.n) + "\n"
	}
	_, err := repo.run(ctx, t.Common, "update-ref", "--stdin")
	return err
}
