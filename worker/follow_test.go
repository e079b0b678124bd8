package worker_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
	"waggle/poll"
	"waggle/record"
	"waggle/worker"
)

// TestFollow: each commit in a checkout with its own git directory comes into the repository while the turn
// goes on, also one that git makes after it packed its references.
func TestFollow(t *testing.T) {
	git := testenv.Require(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	env := append(worktree.Environ(os.Environ()), "HOME="+dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	repo := filepath.Join(dir, "repo")
	run := func(at string, args ...string) string {
		cmd := exec.Command(git, append([]string{"-C", at}, args...)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run(dir, "init", "-q", "-b", "main", repo)
	run(repo, "commit", "-q", "--allow-empty", "-m", "one")
	g, err := worktree.Find(env)
	testenv.Must(t, err)
	store := worktree.Store{Git: g, Dir: filepath.Join(dir, "trees"), Records: filepath.Join(dir, "records")}
	tree, _, err := store.Create(t.Context(), worktree.Want{Team: "api", Member: "bob", Owner: "bob", Cwd: repo, Own: true})
	testenv.Must(t, err)
	linked := record.Worktree(tree)
	linked.Mirror = ""
	if worker.Follower(worker.Options{}, nil) != nil || worker.Follower(worker.Options{}, &linked) != nil {
		t.Error("followed without a git directory of its own")
	}
	ctx, stop := context.WithCancel(t.Context())
	told, ended := atomic.Int32{}, make(chan error, 1)
	own := record.Worktree(tree)
	follow := worker.Follower(worker.Options{Environ: env, Minter: poll.Minter{Now: time.Now}}, &own)
	go func() {
		ended <- follow(ctx, func(err error) {
			if told.Add(1); err != nil {
				t.Error(err)
			}
		})
	}()
	for _, subject := range []string{"two", "three"} {
		run(tree.Path, "commit", "-q", "--allow-empty", "-m", subject)
		tip := run(tree.Path, "rev-parse", "HEAD")
		testenv.Eventually(t, "the commit "+subject, func() bool { return run(repo, "rev-parse", tree.Branch) == tip })
		run(tree.Path, "pack-refs", "--all", "--prune")
	}
	stop()
	if err := <-ended; err != nil || told.Load() != 2 {
		t.Errorf("%d fetches, %v", told.Load(), err)
	}
}
