package worktree_test

import (
	"errors"
	"path/filepath"
	"testing"

	"waggle/internal/fs/worktree"
)

// TestBegin: a worktree begins at the commit or branch that is named, and is merged into that branch; or it is on an
// existing branch, also one that only a remote has, which no removal deletes. Branches and commits that do not exist, that
// several remotes have, or that a checkout is on, are refused, and nothing is made.
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, own := range kinds() {
		w := newWorld(t, "shop")
		first := w.git(w.repo, "rev-parse", "HEAD")
		w.git(w.repo, "branch", "release")
		w.git(w.repo, "branch", "topic")
		w.git(w.repo, "tag", "v1")
		w.write(w.repo, "a.txt", "second\n")
		w.commit(w.repo, "second")
		second := w.git(w.repo, "rev-parse", "HEAD")
		w.git(w.repo, "update-ref", "refs/remotes/origin/theirs/deep", first)
		for _, remote := range []string{"one", "two"} {
			w.git(w.repo, "update-ref", "refs/remotes/"+remote+"/both", first)
		}
		w.git(w.repo, "remote", "add", "origin", w.repo)
		create := func(member string, b worktree.Begin) (worktree.Tree, error) {
			tree, _, err := w.store.Create(t.Context(), worktree.Want{Team: "api", Member: member, Owner: member, Cwd: w.repo, Begin: b, Own: own})
			return tree, err
		}
		for member, c := range map[string]struct {
			begin              worktree.Begin
			branch, base, from string
		}{
			"head":   {worktree.Begin{}, "waggle/api/head", second, "main"},
			"branch": {worktree.Begin{Base: "release"}, "waggle/api/branch", first, "release"},
			"tag":    {worktree.Begin{Base: "v1"}, "waggle/api/tag", first, ""},
			"before": {worktree.Begin{Base: "HEAD~1"}, "waggle/api/before", first, ""},
			"topic":  {worktree.Begin{Branch: "topic"}, "topic", first, "main"},
			"theirs": {worktree.Begin{Branch: "theirs/deep", Base: "release"}, "theirs/deep", first, "release"},
		} {
			tree, err := create(member, c.begin)
			if err != nil || tree.Branch != c.branch || tree.Base != c.base || tree.From != c.from || tree.Existing != (c.begin.Branch != "") {
				t.Errorf("%s: %+v, %v", member, tree, err)
				continue
			}
			if at := w.git(tree.Path, "symbolic-ref", "--short", "HEAD") + " " + w.git(tree.Path, "rev-parse", "HEAD"); at != c.branch+" "+c.base {
				t.Errorf("%s is at %s", member, at)
			}
			if member == "topic" {
				var on *worktree.CheckedOutError
				if _, err := create("again", c.begin); !errors.As(err, &on) || on.Path != tree.Path {
					t.Errorf("twice: %v", err)
				}
			}
			if err := w.store.Remove(t.Context(), tree); err != nil {
				t.Errorf("%s: %v", member, err)
			}
			if _, err := w.try(w.repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+c.branch); (err == nil) != tree.Existing {
				t.Errorf("%s: its branch is there: %v", member, err == nil)
			}
		}
		var ref *worktree.RefError
		var many *worktree.ManyError
		var on *worktree.CheckedOutError
		for what, c := range map[string]struct {
			begin worktree.Begin
			as    any
		}{
			"no commit":          {worktree.Begin{Base: "nothing"}, &ref},
			"an option":          {worktree.Begin{Base: "--all"}, &ref},
			"no branch":          {worktree.Begin{Branch: "nothing"}, &ref},
			"a tag":              {worktree.Begin{Branch: "v1"}, &ref},
			"of several":         {worktree.Begin{Branch: "both"}, &many},
			"that of the person": {worktree.Begin{Branch: "main"}, &on},
		} {
			if tree, err := create("bad", c.begin); !errors.As(err, c.as) {
				t.Errorf("%s: %+v, %v", what, tree, err)
			}
			if err := w.store.Git.Begins(t.Context(), w.repo, c.begin); !errors.As(err, c.as) {
				t.Errorf("%s, before: %v", what, err)
			}
		}
		if left, err := filepath.Glob(filepath.Join(w.store.Dir, "*")); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}
