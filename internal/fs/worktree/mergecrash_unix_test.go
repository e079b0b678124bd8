//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
)

// mergeWhole merges as waggle merge does, from the first step to the last.
func mergeWhole(s worktree.Store, t worktree.Tree) error {
	ctx := context.Background()
	m := merging(t, worktree.HowMerge)
	m.Check = func(context.Context, worktree.Tree) error { return nil }
	done, err := s.Merge(ctx, m)
	if err != nil {
		return err
	}
	return settle(ctx, s, t, done.Tip)
}

func settle(ctx context.Context, s worktree.Store, t worktree.Tree, tip worktree.Tip) error {
	if err := s.RemoveMerged(ctx, t, tip); err != nil {
		return err
	}
	return s.Settled(ctx, t)
}

// resume does what waggle merge --continue does.
func resume(s worktree.Store, t worktree.Tree) error {
	i, err := s.Continue(context.Background(), t)
	if err != nil {
		return err
	}
	if !i.Settling() {
		return mergeWhole(s, t)
	}
	return settle(context.Background(), s, t, i.Tip())
}

// killedMerge is a place at which a merge is killed.
type killedMerge struct {
	name    string
	at      string // the step; "": a program that git runs kills it
	prepare func(w *world) (after func())
	settles bool // the target has the work: there is no way back
}

func killedMerges() []killedMerge {
	// deadly kills git while it writes a file of a checkout of that name, from then on it is a filter that does
	// nothing.
	deadly := func(file, dir string) func(w *world) func() {
		return func(w *world) func() {
			once := filepath.Join(w.t.TempDir(), "once")
			w.write(filepath.Dir(once), "once", "")
			script := filepath.Join(w.t.TempDir(), "deadly")
			if err := testenv.Executable(script, []byte("#!/bin/sh\ncase $PWD in *"+dir+") test ! -e '"+once+"' || { rm '"+once+"'\n"+everything+"};; esac\ncat\n")); err != nil {
				w.t.Fatal(err)
			}
			w.git(w.repo, "config", "filter.deadly.smudge", script)
			w.git(w.repo, "config", "filter.deadly.clean", "cat")
			w.write(w.repo, ".git/info/attributes", file+" filter=deadly\n")
			return func() {}
		}
	}
	return []killedMerge{
		{name: "intent", at: "intent"}, {name: "committed", at: "committed"}, {name: "scratch", at: "scratch"},
		{name: "while git merges", prepare: deadly("a.txt", "/.merge-bob")},
		{name: "combined", at: "combined"}, {name: "checked", at: "checked"}, {name: "moving", at: "moving"}, {name: "locked", at: "locked"},
		{name: "copied", at: "copied"},
		{name: "while git moves the files", prepare: deadly("new.txt", "/repo")},
		{name: "while git moves the first file", prepare: deadly("a.txt", "/repo")},
		{name: "files", at: "files"}, {name: "ref", at: "ref"}, {name: "index", at: "index"},
		{name: "moved", at: "moved", settles: true}, {name: "removing", at: "settled", settles: true},
	}
}

// TestKilledMerge kills a merge at each step, and git in the middle of its work. Continued, the target has the work
// once; taken back, it is as it was. What a person has not committed is untouched in both cases, and nothing is left.
func TestKilledMerge(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, c := range killedMerges() {
		for _, own := range []bool{false, true} {
			for _, then := range []string{"continue", "abort"} {
				name := c.name + ", " + then
				if own {
					if c.prepare != nil {
						continue // no filter that is not in the attributes of the commit runs there
					}
					name += ", confined"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					killMerge(t, c, own, then)
				})
			}
		}
	}
}

func killMerge(t *testing.T, c killedMerge, own bool, then string) {
	w := newWorld(t, "repo")
	for _, f := range []string{"mine.txt", "staged.txt", "gone.txt", "name.txt"} {
		w.write(w.repo, f, "of "+f+"\n")
	}
	w.commit(w.repo, "more")
	w.create("other") // so that there is another one
	makes := w.create
	if own {
		makes = w.own
	}
	tree := makes("bob")
	w.work(tree)
	w.write(w.repo, "mine.txt", "changed\n")
	w.write(w.repo, "staged.txt", "staged\n")
	w.git(w.repo, "add", "staged.txt")
	w.write(w.repo, "untracked.txt", "u\n")
	if c.prepare != nil {
		defer c.prepare(w)()
	}
	main, before := w.git(w.repo, "rev-parse", "main"), w.persons()
	w.killed(job{Merge: &tree, At: c.at})

	i, err := w.store.Intent(tree)
	if err != nil || i == nil || !i.Open() || i.Settling() != c.settles || i.Into != "main" {
		t.Fatalf("the intent: %+v, %v", i, err)
	}
	var open *worktree.OpenError
	if err := mergeWhole(w.store, tree); !errors.As(err, &open) {
		t.Errorf("another merge: %v", err)
	}
	if then == "abort" {
		_, err := w.store.Abort(t.Context(), tree)
		if c.settles {
			if !errors.As(err, &open) {
				t.Errorf("%v", err)
			}
		} else {
			testenv.Must(t, err)
			w.noMerge()
			w.prints(main, w.repo, "rev-parse", "main")
			w.samePersons(before)
			if d := w.diff(tree); len(d.Files) != 7 {
				t.Errorf("the work: %+v", d.Files)
			}
			if err := mergeWhole(w.store, tree); err != nil { // and it can be merged
				t.Fatal(err)
			}
		}
	}
	if then == "continue" || c.settles {
		testenv.Must(t, resume(w.store, tree))
	}
	w.merged()
	w.samePersons(before)
	w.noMerge()
	w.gone(tree.Path)
	w.prints("2", w.repo, "rev-list", "--count", main+"..main")
	if bs := w.branches(); !slices.Equal(bs, []string{"waggle/api/other"}) {
		t.Errorf("branches %v", bs)
	}
	if rs, err := w.store.List(); err != nil || len(rs) != 1 {
		t.Errorf("on record: %+v, %v", rs, err)
	}
	if _, err := w.store.Continue(t.Context(), tree); !errors.Is(err, worktree.ErrNoMerge) {
		t.Errorf("%v", err)
	}
}

// TestKilledAbort: taking back is killed too; it is taken back again, or merged after all.
func TestKilledAbort(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, at := range []string{"moving", "locked", "copied", "files", "ref", "index", "settled"} {
		for _, then := range []string{"continue", "abort"} {
			t.Run(at+", "+then, func(t *testing.T) {
				t.Parallel()
				w, tree := mergeWorld(t)
				w.write(w.repo, "mine.txt", "changed\n")
				main, before := w.git(w.repo, "rev-parse", "main"), w.persons()
				w.killed(job{Merge: &tree, At: "index"})
				w.killed(job{Abort: &tree, At: at})
				if then == "continue" {
					testenv.Must(t, resume(w.store, tree))
					w.merged()
				} else {
					if _, err := w.store.Abort(t.Context(), tree); err != nil {
						t.Fatal(err)
					}
					w.prints(main, w.repo, "rev-parse", "main")
				}
				w.samePersons(before)
				w.noMerge()
			})
		}
	}
}

// TestKilledMergeMeanwhile: what a person did before the end of a merge that was killed is kept: a change of a half
// written file, a lock that was removed by hand, a commit on the target.
func TestKilledMergeMeanwhile(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	w, tree := mergeWorld(t)
	w.killed(job{Merge: &tree, At: "files"})
	w.write(w.repo, "a.txt", "mine, since\n")
	var dirty *worktree.DirtyError
	if _, err := w.store.Abort(t.Context(), tree); !errors.As(err, &dirty) || !slices.Equal(dirty.Files, []string{"a.txt"}) {
		t.Errorf("%v", err)
	}
	w.holds(filepath.Join(w.repo, "a.txt"), "mine, since\n")
	w.write(w.repo, "a.txt", "a\n")
	if _, err := w.store.Abort(t.Context(), tree); err != nil {
		t.Error(err)
	}
	w.prints("", w.repo, "status", "--porcelain")
	w.noMerge()

	for _, at := range []string{"files", "ref"} { // as git tells a person to do
		w, tree := mergeWorld(t)
		w.killed(job{Merge: &tree, At: at})
		testenv.Must(t, os.Remove(filepath.Join(w.repo, ".git", "index.lock")))
		w.write(w.repo, "staged.txt", "staged since\n")
		w.git(w.repo, "add", "staged.txt")
		if err := resume(w.store, tree); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		w.merged()
		if got := w.git(w.repo, "status", "--porcelain"); got != "M  staged.txt" {
			t.Errorf("%s: %q", at, got)
		}
		w.noMerge()
	}

	w, tree = mergeWorld(t)
	w.killed(job{Merge: &tree, At: "index"})
	w.write(w.repo, "mine.txt", "on top\n")
	w.commit(w.repo, "on top")
	if _, err := w.store.Abort(t.Context(), tree); err == nil || !strings.Contains(err.Error(), "moved") {
		t.Errorf("%v", err)
	}
	testenv.Must(t, resume(w.store, tree))
	w.merged()
	w.noMerge()
}
