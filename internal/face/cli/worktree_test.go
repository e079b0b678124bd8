package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/fs/worktree"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

// forest is an operator with a repository, in which git has no settings of this
// machine's user.
type forest struct {
	t    *testing.T
	op   operator.Operator
	repo string
}

func newForest(t *testing.T) *forest {
	t.Helper()
	testenv.Require(t, "git")
	f := &forest{t: t, op: newOperator(t)}
	dir := filepath.Dir(f.op.Root.Path)
	f.op.Worktrees, f.repo = filepath.Join(dir, "trees"), filepath.Join(dir, "repo")
	f.op.Environ = append(worktree.Environ(os.Environ()), "HOME="+t.TempDir(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	f.write("a.txt", "a\n")
	f.git("init", "--quiet", "--initial-branch=main")
	f.git("add", "--all")
	f.git("commit", "--quiet", "--message", "first")
	return f
}

func (f *forest) git(args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = f.repo, f.op.Environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *forest) write(name, text string) {
	f.t.Helper()
	testenv.Must(f.t, os.MkdirAll(f.repo, 0o755))
	writeFile(f.t, filepath.Join(f.repo, name), text)
}

// file is a team file that lies in the repository.
func (f *forest) file(yaml string) *teamfile.File {
	f.t.Helper()
	file, err := teamfile.ParseFile(filepath.Join(f.repo, "waggle.yaml"), []byte(yaml))
	testenv.Must(f.t, err)
	return file
}

// TestWorkersCommitAtOnce runs eight workers that commit in one repository at the same
// time: each commit is on the branch of its own member, the main checkout is as it
// was, and no work is removed.
func TestWorkersCommitAtOnce(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	f := newForest(t)
	const workers, commits = 8, 3
	var members, tasks strings.Builder
	for i := range workers {
		fmt.Fprintf(&members, "  - {name: m%d, agent: exec, worktree: true}\n", i)
		fmt.Fprintf(&tasks, "  - {subject: t%d, owner: m%d, instructions: \"for n in 1 2 3; do echo m%d $n > a.txt; git commit --quiet --all --message \\\"m%d $n\\\" || exit 1; done\"}\n", i, i, i, i)
	}
	rep, err := supervise.Of(f.op).Run(t.Context(), f.file("team: api\npolicy: {allow: [Bash]}\nmembers:\n"+members.String()+"tasks:\n"+tasks.String()), supervise.RunOptions{Headless: true})
	if err != nil || rep.Kind != 0 {
		t.Fatalf("%v, %+v", err, rep)
	}
	for i, m := range rep.Members {
		if w := m.Worktree; w == nil || !w.Kept || w.Why != "3 unpushed commits" || len(w.Files) != commits {
			t.Fatalf("%s: %+v", m.Name, w)
		}
		want := fmt.Sprintf("m%d 3\nm%d 2\nm%d 1", i, i, i)
		if got := f.git("log", "--format=%s", "main.."+m.Worktree.Branch); got != want {
			t.Errorf("%s has\n%s", m.Worktree.Branch, got)
		}
		if b, err := os.ReadFile(filepath.Join(m.Worktree.Path, "a.txt")); err != nil || string(b) != fmt.Sprintf("m%d 3\n", i) {
			t.Errorf("%s: %q, %v", m.Name, b, err)
		}
	}
	if s := f.git("status", "--porcelain"); s != "" {
		t.Errorf("the main checkout: %s", s)
	}
}

// bobsForest has a team whose member gets a worktree when it joins.
func bobsForest(t *testing.T) (*forest, *teamfile.File, *operator.State) {
	t.Helper()
	f := newForest(t)
	file := f.file("team: api\nmembers:\n  - {name: bob, agent: exec, worktree: true}\n")
	s, err := teams.Of(f.op).Create(t.Context(), file.Team, "", record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}})
	testenv.Must(t, err)
	return f, file, s
}

// TestForcedIntoTheMainCheckout starts a worker outside the worktree that it was given: it
// fails before it takes anything, and its output and its task.State say so.
func TestForcedIntoTheMainCheckout(t *testing.T) {
	f, file, s := bobsForest(t)
	added, i, err := teams.Of(f.op).Join(t.Context(), s, file.Members[0])
	testenv.Must(t, err)
	start := func(dir string, env ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, f.op.Self, "worker", "--root", f.op.RootURL, "--dir", s.Dir.Path, "--uid", string(s.Dir.UID),
			"--team", string(s.Team), "--instance", string(i), "--run", f.op.Home.Run())
		cmd.Dir, cmd.Env = dir, append(f.op.Environ, env...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("it started in %s with %v", dir, env)
		}
		return string(out)
	}
	for _, out := range []string{
		start(f.repo),
		start(added.Cwd, "GIT_DIR="+filepath.Join(f.repo, ".git")),
		start(added.Cwd, "GIT_INDEX_FILE="+filepath.Join(f.repo, ".git", "index")),
		start(added.Cwd, "PATH="+t.TempDir()),
	} {
		if !strings.Contains(out, "has a worktree of its own and is not in it") {
			t.Errorf("it says\n%s", out)
		}
		st, err := task.ReadState(f.op.Root.MemberDir(s.Team, "bob"))
		if err != nil || st.Status != task.MemberError || !strings.Contains(st.ErrorMessage, "is not in it") {
			t.Errorf("%+v, %v", st, err)
		}
	}
	testenv.Must(t, s.Journal.Refresh(t.Context()))
	if m, ok := s.Lead.Member("bob"); !ok || m.Process != nil {
		t.Errorf("it is on record as started: %+v", m.Process)
	}
	// The worktree is removed, and a link to the main checkout has its place.
	testenv.Must(t, os.RemoveAll(added.WorktreePath))
	testenv.Must(t, os.Symlink(f.repo, added.WorktreePath))
	start(added.Cwd)
}

// TestSessionsShareAWorktree starts a member again whose worktree somebody removed: it
// gets the same one, with what it had committed.
func TestSessionsShareAWorktree(t *testing.T) {
	f, file, s := bobsForest(t)
	lead, err := process.Of(f.op).Lead(t.Context(), s)
	testenv.Must(t, err)
	r := &rig{t: t, op: f.op, file: file, state: s, lead: lead}
	t.Cleanup(r.close)
	added, i, err := teams.Of(f.op).Join(t.Context(), s, file.Members[0])
	testenv.Must(t, err)
	testenv.Must(t, r.lead.Refresh(t.Context()))
	f.git("-C", added.WorktreePath, "commit", "--quiet", "--allow-empty", "--message", "mine")
	f.git("worktree", "remove", added.WorktreePath)
	log := filepath.Join(f.op.Root.MemberDir(s.Team, "bob"), "output.log")
	// The worker starts in its worktree, whatever directory the caller passes.
	if _, err := process.Of(f.op).StartWorker(t.Context(), r.lead, s, i, "bob", f.repo, log); err != nil {
		t.Fatal(err)
	}
	r.until("idle", func(l *control.Leader) bool {
		m, _ := l.Member("bob")
		return m.Process != nil && m.Left == nil
	})
	if got := f.git("-C", added.WorktreePath, "log", "-1", "--format=%s"); got != "mine" {
		t.Errorf("it is at %q", got)
	}
}

// TestJoinFails: a join whose worktree cannot be made leaves no member and no worktree.
func TestJoinFails(t *testing.T) {
	f, file, s := bobsForest(t)
	noGit, noPlace := f.op, f.op
	noGit.Environ, noPlace.Worktrees = []string{"PATH=" + t.TempDir()}, ""
	elsewhere := file.Members[0]
	elsewhere.Cwd = t.TempDir()
	for _, c := range []struct {
		op   operator.Operator
		m    teamfile.FileMember
		says string
	}{
		{noGit, file.Members[0], "git is not installed"},
		{noPlace, file.Members[0], "no place"},
		{f.op, elsewhere, "not in a git repository"},
	} {
		_, _, err := teams.Of(c.op).Join(t.Context(), s, c.m)
		var oe *operator.Error
		if !errors.As(err, &oe) || !strings.Contains(oe.Error(), c.says) || oe.Advice == "" {
			t.Errorf("%v", err)
		}
		reg, err := team.Open(f.op.Root, s.Team, team.Options{})
		testenv.Must(t, err)
		cfg, err := reg.Load(t.Context())
		testenv.Must(t, err)
		if m, ok := cfg.Member("bob"); ok && !m.Gone() {
			t.Errorf("%s: it is registered", c.says)
		}
	}
	if out := f.git("worktree", "list"); strings.Contains(out, "\n") {
		t.Errorf("worktrees:\n%s", out)
	}
	if _, _, err := teams.Of(f.op).Join(t.Context(), s, file.Members[0]); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestOverlaps warns of a file that two members edit, each in its own worktree, or by
// tool calls in one checkout, or one in each; once, while the run goes on.
func TestOverlaps(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	f := newForest(t)
	f.op.Edits = &operator.EditCache{}
	sign := filepath.Join(t.TempDir(), "sign")
	step := func(path string) string {
		return "{tool: {name: Write, input: {file_path: " + path + ", content: x}}}, {wait: {until: " + sign + "}}"
	}
	file := f.file("team: api\npolicy: {allow: [Write]}\nmembers:\n" +
		"  - {name: ann, agent: script, worktree: true, steps: [" + step("shared.txt") + "]}\n" +
		"  - {name: bob, agent: script, worktree: true, steps: [" + step("shared.txt") + "]}\n" +
		"  - {name: eve, agent: script, steps: [" + step(filepath.Join(f.repo, "shared.txt")) + "]}\n" +
		"  - {name: max, agent: script, steps: [" + step("only.txt") + "]}\n" +
		"tasks:\n  - {subject: a, owner: ann}\n  - {subject: b, owner: bob}\n  - {subject: e, owner: eve}\n  - {subject: m, owner: max}\n")
	var told []string
	rep, err := supervise.Of(f.op).Run(t.Context(), file, supervise.RunOptions{Headless: true, Look: 200 * time.Millisecond, Note: func(n operator.Note) {
		if n.What != operator.NoteOverlap {
			return
		}
		told = append(told, n.Member+" "+n.Text)
		if n.Member != "ann, bob, eve" {
			return // one of them has not written yet
		}
		st, err := inspect.Of(f.op).Status(t.Context(), "api")
		if err != nil {
			t.Error(err)
		} else if want := []inspect.Overlap{{File: "shared.txt", Repo: f.repo, Members: []string{"ann", "bob", "eve"}}}; !reflect.DeepEqual(st.Overlaps, want) {
			t.Errorf("%+v, want %+v", st.Overlaps, want)
		}
		for _, m := range st.Members {
			if has := m.Worktree != nil; has != (m.Name == "ann" || m.Name == "bob") {
				t.Errorf("%s: worktree %v", m.Name, m.Worktree)
			}
		}
		if err := os.WriteFile(sign, nil, 0o600); err != nil {
			t.Error(err)
		}
	}})
	if err != nil || rep.Kind != 0 {
		t.Fatalf("%v, %+v", err, rep)
	}
	seen := map[string]int{}
	for _, s := range told {
		seen[s]++
	}
	if seen["ann, bob, eve shared.txt"] != 1 {
		t.Errorf("told %q", told)
	}
	if n := len(rep.Overlaps); n != len(told) || rep.Overlaps[n-1].File != "shared.txt" {
		t.Errorf("%+v", rep.Overlaps)
	}
}
