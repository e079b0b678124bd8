package process_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/json/jsonobj"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
)

// kinds lists the garbage of a Collected, each as kind and member.
func kinds(c *process.Collected) (found []string) {
	for _, g := range c.Found {
		found = append(found, g.Kind+" "+g.Member)
	}
	slices.Sort(found)
	return found
}

// keptWhy returns the reasons of all that was kept, a line each.
func keptWhy(c *process.Collected) (all string) {
	for _, k := range c.Kept {
		all += fmt.Sprintf("%s %s: %s\n", k.Kind, k.Member, k.Why.Text)
	}
	return all
}

func left(i record.Instance, how string) journal.Draft {
	return journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: i, How: how}}
}

// mark returns the environment variable that marks a process as a member's.
func mark(s *operator.State, m *control.Member) string {
	return spawn.MemberMark(filepath.Base(s.Dir.Path) + "/" + string(m.Instance))
}

// TestGC: GC lists the processes of a member that has left, and ends them when that is asked for; it
// leaves the processes of a member that runs.
func TestGC(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	ann, old := r.Sleeper(s, "ann")
	bob, runs := r.Sleeper(s, "bob")
	loose := operatortest.Process(t, mark(s, ann))
	own := operatortest.Process(t, mark(s, bob))
	operatortest.Append(t, r.Op, s, left(ann.Instance, record.LeftDied))
	c, err := o.GC(t.Context(), "", false)
	testenv.Must(t, err)
	if got, want := kinds(c), []string{"process ann", "process ann"}; !slices.Equal(got, want) || c.Undone() != 2 {
		t.Fatalf("%q, want %q", got, want)
	}
	for _, g := range c.Found {
		if g.Why != "its member has left" || g.Team != "api" || g.PID != old.PID && g.PID != loose.PID || !strings.Contains(g.Argv, "sleep 3600") {
			t.Errorf("%+v", g)
		}
	}
	if !slices.Contains(c.Unseen, process.Unseen{Team: "api", Member: "ann"}) || slices.Contains(c.Unseen, process.Unseen{Team: "api", Member: "bob"}) {
		t.Errorf("unseen: %+v", c.Unseen)
	}
	if !old.Alive() || !loose.Alive() {
		t.Fatal("a look has ended something")
	}
	if c, err = o.GC(t.Context(), "api", true); err != nil || c.Undone() != 0 || len(c.Found) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if old.Alive() || loose.Alive() || !runs.Alive() || !own.Alive() {
		t.Errorf("ann's run: %v, %v; bob's: %v, %v", old.Alive(), loose.Alive(), runs.Alive(), own.Alive())
	}
	if c, err = o.GC(t.Context(), "api", true); err != nil || len(c.Found) != 0 {
		t.Errorf("again: %q, %v", kinds(c), err)
	}
}

// TestGCOfTheLiving: GC keeps a team whose processes are all dead, because it can be resumed, and does
// not end the processes of other programs.
func TestGCOfTheLiving(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	r.Runs(s, r.Enlist(s, "ann"), gone(t))
	c, err := o.GC(t.Context(), "api", true)
	if err != nil || len(c.Found) != 0 || !strings.Contains(keptWhy(c), "it was interrupted: none of its 1 members runs") || len(c.Kept) != 1 || c.Kept[0].Why.Do != (operator.Next{Step: operator.NextResumeOrDown, Team: "api"}) {
		t.Errorf("%q, %s, %v", kinds(c), keptWhy(c), err)
	}
	theirs := operatortest.Process(t)
	named := theirs
	named.Theirs = true
	eve := r.Enlist(s, "eve")
	r.Runs(s, eve, named)
	operatortest.Append(t, r.Op, s, left(eve.Instance, record.LeftReleased))
	c, err = o.GC(t.Context(), "api", true)
	if err != nil || len(c.Found) != 0 || !strings.Contains(keptWhy(c), "was started by another program") || !theirs.Alive() {
		t.Errorf("%q, %s, %v", kinds(c), keptWhy(c), err)
	}
}

// TestGarbageIsLookedAtAgain: Act tests right before the end whether a thing is gone or in use again,
// and afterwards whether it is gone.
func TestGarbageIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	broken := errors.New("it is stuck")
	for name, c := range map[string]struct {
		gone, used bool
		end        error
		ends       bool // the end has an effect
		done       bool
		called     bool
		why        string
	}{
		"gone meanwhile":   {gone: true, used: true, done: true},
		"used again":       {used: true, why: "it is in use again"},
		"ended":            {ends: true, done: true, called: true},
		"not to be ended":  {end: broken, called: true, why: "it is stuck"},
		"there afterwards": {called: true, why: "it is still there"},
	} {
		called := false
		g := process.Act(t.Context(), func() bool { return !c.used }, func() bool { return c.gone }, func() error {
			called, c.gone = true, c.ends
			return c.end
		})
		if g.Done != c.done || called != c.called || g.Error != c.why {
			t.Errorf("%s: %+v, end called: %v", name, g, called)
		}
	}
}

// TestGCOfFiles: GC removes the hand-over file that no process has taken for two minutes, and keeps a
// new one.
func TestGCOfFiles(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	testenv.Must(t, os.MkdirAll(s.Dir.Processes(), 0o700))
	old, fresh := filepath.Join(s.Dir.Processes(), "a.start.json"), filepath.Join(s.Dir.Processes(), "b.start.json")
	for _, path := range []string{old, fresh} {
		testenv.Must(t, os.WriteFile(path, []byte("{}"), 0o600))
	}
	testenv.Must(t, os.Chtimes(old, time.Now(), time.Now().Add(-2*time.Minute)))
	c, err := o.GC(t.Context(), "api", true)
	if err != nil || len(c.Found) != 1 || c.Found[0].Kind != process.GarbageHandover || c.Found[0].Path != old || there(old) || !there(fresh) {
		t.Errorf("%q, %v", kinds(c), err)
	}
}

// toolOf puts a process on record as a command of a member, and returns the path of the record.
func toolOf(t *testing.T, s *operator.State, m *control.Member, id spawn.Identity) (path string) {
	t.Helper()
	b, err := jsonobj.Marshal(map[string]any{"id": id, "argv": []string{"make", "all"}})
	testenv.Must(t, err)
	testenv.Must(t, os.MkdirAll(s.Dir.Tools(), 0o700))
	path = filepath.Join(s.Dir.Tools(), fmt.Sprintf("%s-%d.json", m.Instance, id.PID))
	testenv.Must(t, os.WriteFile(path, b, 0o600))
	return path
}

// TestTools: the record of a command names the commands of a dead process, and EndTools ends them
// before the member starts again. The commands of a process that runs are left to it.
func TestTools(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	ann, id := r.Sleeper(s, "ann")
	tool := operatortest.Process(t)
	path := toolOf(t, s, ann, tool)
	signs, err := o.LeftTools(s, ann, nil)
	if err != nil || len(signs) != 1 || signs[0].PID != tool.PID || !strings.Contains(signs[0].Argv, "sleep") {
		t.Errorf("%+v, %v", signs, err)
	}
	if err := o.EndTools(t.Context(), s, ann); err == nil || err.Error() != "it runs by now" || !tool.Alive() {
		t.Errorf("of a member that runs: %v", err)
	}
	if c, err := o.GC(t.Context(), "api", false); err != nil || len(c.Found) != 0 {
		t.Errorf("of a member that runs: %q, %v", kinds(c), err)
	}
	testenv.Value(spawn.Stop(t.Context(), id, spawn.Grace{}))(t)
	c, err := o.GC(t.Context(), "api", false)
	if err != nil || !slices.Equal(kinds(c), []string{"command ann"}) || !strings.Contains(c.Found[0].Why, "it is in the group of a command whose worker, pid") {
		t.Errorf("%q, %v", kinds(c), err)
	}
	orphan := operatortest.Process(t, mark(s, ann), fmt.Sprintf("WAGGLE_COMMAND=%d.1.1", os.Getpid())) // of a program that had this number once
	marked, err := spawn.AllMarked()
	testenv.Must(t, err)
	said := &operatortest.Heard{}
	process.Sweeps(s, said.Note)
	if signs, err := o.LeftTools(s, ann, marked); err != nil || len(signs) != 2 || signs[1].PID != orphan.PID {
		t.Errorf("%+v, %v", signs, err)
	}
	if err := o.EndTools(t.Context(), s, ann); err != nil || tool.Alive() || orphan.Alive() || there(path) {
		t.Errorf("%v; they run: %v, %v", err, tool.Alive(), orphan.Alive())
	}
	if said.Of(operator.NoteSwept, "make all") != 1 || said.Of(operator.NoteSwept, "its worker has died, and its member starts again") != 2 {
		t.Errorf("told %+v", said.All())
	}
}

// TestStopEndsTools: Stop of a member also ends the commands that the member has left, and the
// processes with its mark; it reports each once.
func TestStopEndsTools(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	ann, id := r.Sleeper(s, "ann")
	tool, loose, other := operatortest.Process(t), operatortest.Process(t, mark(s, ann)), operatortest.Process(t)
	path := toolOf(t, s, ann, tool)
	said := &operatortest.Heard{}
	end, err := process.Of(r.Op).Stop(t.Context(), "api", "ann", process.StopOptions{Force: true, Note: said.Note})
	if err != nil || end.Step != spawn.RungTerm || id.Alive() || tool.Alive() || loose.Alive() || !other.Alive() || there(path) {
		t.Errorf("%+v, %v: %v %v %v %v", end, err, id.Alive(), tool.Alive(), loose.Alive(), other.Alive())
	}
	if said.Of(operator.NoteSwept, "make all") != 1 || said.Of(operator.NoteSwept, "it was left behind by its member") != 1 {
		t.Errorf("told %+v", said.All())
	}
}

// TestSweep: a sweep ends the processes that a team which has ended left behind, and reports them.
func TestSweep(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	ann := r.Enlist(s, "ann")
	loose := operatortest.Process(t, mark(s, ann))
	operatortest.Append(t, r.Op, s, left(ann.Instance, record.LeftStopped), journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: process.EndedDown}})
	said := &operatortest.Heard{}
	if err := process.Of(r.Op).Sweep(t.Context(), s, said.Note); err != nil || loose.Alive() {
		t.Error(err)
	}
	if said.Of(operator.NoteSwept, "its team has ended") != 1 {
		t.Errorf("told %+v", said.All())
	}
}

// TestMarkedByAccident: a process that has a member's mark, and runs below a process without it, is
// kept and reported.
func TestMarkedByAccident(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	ann := r.Enlist(s, "ann")
	shell := operatortest.Shell(t, mark(s, ann)+" sleep 3600 & wait")
	var below spawn.Identity
	testenv.Eventually(t, "the shell has started it", func() bool {
		ids, err := spawn.Descendants(shell.PID)
		if err != nil || len(ids) != 1 || !strings.HasPrefix(strings.Join(spawn.Argv(ids[0].PID), " "), "sleep") {
			return false
		}
		below = ids[0]
		return true
	})
	said := &operatortest.Heard{}
	end, err := process.Of(r.Op).Stop(t.Context(), "api", "ann", process.StopOptions{Force: true, Note: said.Note})
	if err != nil || end.Step != spawn.RungGone || !below.Alive() {
		t.Errorf("%+v, %v, it runs: %v", end, err, below.Alive())
	}
	if said.Of(operator.NoteNotOurs, fmt.Sprintf("pid %d (sleep 3600) has the member's mark in its environment, but runs below pid %d", below.PID, shell.PID)) != 1 {
		t.Errorf("told %+v", said.All())
	}
	c, err := process.Of(r.Op).GC(t.Context(), "api", true)
	if err != nil || len(c.Found) != 0 || !strings.Contains(keptWhy(c), "it is not ended") || !below.Alive() {
		t.Errorf("%q, %s, %v", kinds(c), keptWhy(c), err)
	}
}

// TestDropLeft: DropLeft handles the control groups of a member once, after the member has left.
func TestDropLeft(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	ann, bob := r.Enlist(s, "ann"), r.Enlist(s, "bob")
	operatortest.Append(t, r.Op, s, left(ann.Instance, record.LeftStopped))
	process.DropLeft(s)
	if !s.Dropped[ann.Instance] || s.Dropped[bob.Instance] {
		t.Errorf("%+v", s.Dropped)
	}
}

// repository is a git checkout with a commit.
func repository(t *testing.T) (dir string) {
	t.Helper()
	git := testenv.Require(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	return dir
}

// TestWorktrees: a member's worktree is made for it, kept while there is work in it, and
// removed when it is clean and its member has left.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	r, s := rig(t)
	_, _, err := process.Of(r.Op).NewWorktree(t.Context(), s, "ann", "i", repo, teamfile.Begin{}, nil)
	operatortest.Is(t, "without a place", err, operator.Usage, "")
	r.Op.Worktrees = t.TempDir()
	o := process.Of(r.Op)
	_, _, err = o.NewWorktree(t.Context(), s, "ann", "i", t.TempDir(), teamfile.Begin{}, nil)
	operatortest.Is(t, "outside of a checkout", err, operator.Failed, "")
	ann := r.Enlist(s, "ann", inTree(repo))
	bob := r.Enlist(s, "bob", inTree(repo))
	if ann.Worktree == nil || !there(ann.Worktree.Path) || ann.Worktree.Branch != "waggle/api/ann" || ann.Cwd != ann.Worktree.Path {
		t.Fatalf("%+v", ann.Worktree)
	}
	tree, dir, err := o.NewWorktree(t.Context(), s, "eve", "i", repo, teamfile.Begin{}, nil)
	if err != nil || dir != tree.Path {
		t.Fatal(tree, dir, err)
	}
	if err := o.DropWorktree(t.Context(), s, tree); err != nil || there(tree.Path) {
		t.Errorf("dropped: %v", err)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(bob.Worktree.Path, "work"), []byte("x"), 0o600))
	said := &operatortest.Heard{}
	if err := o.TidyWorktrees(t.Context(), o.Reporter(s, said.Note)); err != nil || !there(ann.Worktree.Path) || len(s.Kept) != 0 {
		t.Errorf("of present members: %v", err)
	}
	client := exec.Command("sleep", "600")
	testenv.Must(t, client.Start())
	t.Cleanup(func() { _ = client.Process.Kill() })
	id, err := spawn.Identify(client.Process.Pid)
	testenv.Must(t, err)
	taken, err := s.Lead.Borrow(ann, record.Borrowed{By: id}, true)
	testenv.Must(t, err)
	operatortest.Append(t, r.Op, s, append(taken, left(ann.Instance, record.LeftStopped), left(bob.Instance, record.LeftStopped))...)
	if err := o.TidyWorktrees(t.Context(), o.Reporter(s, said.Note)); err != nil || !there(ann.Worktree.Path) || len(s.Kept) != 2 || !strings.Contains(s.Kept[0].Why, "a person has its session open there") {
		t.Errorf("of a member whose session a person has: %+v, %v", s.Kept, err)
	}
	if c, err := o.GC(t.Context(), "api", true); err != nil || c.Undone() != 0 || !there(ann.Worktree.Path) || !strings.Contains(keptWhy(c), "worktree ann: a person has") {
		t.Errorf("%q, %s, %v", kinds(c), keptWhy(c), err)
	}
	testenv.Must(t, client.Process.Kill())
	_ = client.Wait() // it was killed
	c, err := o.GC(t.Context(), "api", false)
	if err != nil || !slices.Equal(kinds(c), []string{"worktree ann"}) || !strings.Contains(keptWhy(c), "worktree bob: 1 uncommitted file") {
		t.Errorf("%q, %s, %v", kinds(c), keptWhy(c), err)
	}
	if c, err := o.GC(t.Context(), "api", true); err != nil || c.Undone() != 0 || there(ann.Worktree.Path) || !there(bob.Worktree.Path) {
		t.Errorf("%q, %v", kinds(c), err)
	}
	if err := o.TidyWorktrees(t.Context(), o.Reporter(s, said.Note)); err != nil || len(s.Kept) != 1 || s.Kept[0].Member != "bob" || len(s.Kept[0].Files) != 1 || !s.Tidied || !there(bob.Worktree.Path) {
		t.Errorf("%+v, %v", s.Kept, err)
	}
	if said.Of(operator.NoteKept, bob.Worktree.Path) != 2 {
		t.Errorf("told %+v", said.All())
	}
	commit := exec.Command("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "work")
	commit.Dir, commit.Env = bob.Worktree.Path, []string{"HOME=" + repo, "PATH=" + os.Getenv("PATH")}
	if out, err := commit.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testenv.Must(t, os.RemoveAll(bob.Worktree.Path)) // by hand; the commit is there still
	if c, err := o.GC(t.Context(), "api", true); err != nil || len(c.Found) != 0 || !strings.Contains(keptWhy(c), "worktree bob: 1 unpushed commit, its directory is gone") {
		t.Errorf("%q, %s, %v", kinds(c), keptWhy(c), err)
	}
}
