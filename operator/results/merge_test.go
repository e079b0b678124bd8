package results_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/results"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
)

// made is a team of which every member has a worktree of one repository.
type made struct {
	t    *testing.T
	op   operator.Operator
	rig  *operatortest.Rig
	repo string
}

func newMade(t *testing.T) *made {
	t.Helper()
	testenv.Require(t, "git")
	op := operatortest.New(t)
	home := filepath.Dir(op.Root.Path)
	op.Worktrees = filepath.Join(home, "trees")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		op.Environ = append(op.Environ, "GIT_"+who+"_NAME=Ada", "GIT_"+who+"_EMAIL=ada@example.com")
	}
	m := &made{t: t, op: op, repo: filepath.Join(home, "repo")}
	testenv.Must(t, os.Mkdir(m.repo, 0o755))
	m.git(m.repo, "init", "--quiet", "--initial-branch=main")
	m.write(m.repo, "code.txt", "one\n")
	m.git(m.repo, "add", "--all")
	m.git(m.repo, "commit", "--quiet", "--message", "first")
	m.rig = operatortest.Team(t, op, "api", record.PolicySet{})
	return m
}

func (m *made) git(dir string, args ...string) string {
	m.t.Helper()
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	c.Env = m.op.Environ
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (m *made) write(dir, name, text string) {
	m.t.Helper()
	testenv.Must(m.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// member adds a member that nobody runs, and returns its worktree.
func (m *made) member(name protocol.MemberName, change ...func(*teamfile.FileMember)) string {
	m.t.Helper()
	nm := supervise.NewMember{FileMember: teamfile.FileMember{Name: name, Agent: "exec", Backend: "process", Cwd: m.repo, Worktree: true}}
	for _, c := range change {
		c(&nm.FileMember)
	}
	var err error
	if nm.Spec, err = nm.SpecOf(nil); err != nil {
		m.t.Fatal(err)
	}
	s := m.rig.State()
	release, held, err := s.Dir.TryLead()
	if err != nil || !held {
		m.t.Fatal(held, err)
	}
	sp, err := supervise.Of(m.op).Spawn(m.t.Context(), "api", nm, nil)
	testenv.Must(m.t, err)
	testenv.Must(m.t, release())
	return sp.Worktree.Path
}

func (m *made) head(branch string) string { return m.git(m.repo, "rev-parse", branch) }

func TestMerge(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	for _, c := range []struct {
		name     protocol.MemberName
		how      results.How
		parents  int  // of the new commit
		keep     bool // the worktree
		advanced bool // main has a commit that the branch lacks
	}{
		{"ann", results.HowSquash, 1, true, false},
		{"bob", results.HowMerge, 2, true, true},
		{"cid", results.HowRebase, 1, true, true},
		{"dora", "", 2, false, true},
	} {
		tree := m.member(c.name)
		m.write(tree, string(c.name)+".txt", "by "+string(c.name)+"\n")
		if c.advanced {
			m.write(m.repo, "other-"+string(c.name), "x\n")
			m.git(m.repo, "add", "--all")
			m.git(m.repo, "commit", "--quiet", "--message", "other")
		}
		before := m.head("main")
		plan, err := results.Of(m.op).PlanMerge(t.Context(), "api", string(c.name), results.MergeOptions{How: c.how})
		if err != nil || plan.Into != "main" || len(plan.Files) != 1 || len(plan.Diff.Files) != 1 || plan.Branch != plan.Diff.Branch || plan.How != cmp.Or(c.how, results.HowMerge) || plan.Check != "" {
			t.Errorf("%s: plan %+v, %v", c.name, plan, err)
		}
		if m.head("main") != before || m.git(tree, "status", "--porcelain") == "" {
			t.Errorf("%s: the plan changed something", c.name)
		}
		got, err := results.Of(m.op).Merge(t.Context(), "api", string(c.name), results.MergeOptions{How: c.how, Keep: c.keep, Message: "the work of " + string(c.name), Grace: time.Millisecond})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !got.Changed || got.Into != "main" || got.Result != m.head("main") || got.Result == before || len(got.Conflict) != 0 || got.Check != nil {
			t.Errorf("%s: %+v", c.name, got)
		}
		if len(got.Files) != 1 || got.Files[0] != string(c.name)+".txt" || !strings.Contains(got.Message, "the work of") {
			t.Errorf("%s: committed %q with %q", c.name, got.Files, got.Message)
		}
		if parents := len(strings.Fields(m.git(m.repo, "log", "-1", "--format=%P", "main"))); parents != c.parents {
			t.Errorf("%s: %s made a commit with %d parents", c.name, c.how, parents)
		}
		if text, _ := os.ReadFile(filepath.Join(m.repo, string(c.name)+".txt")); string(text) != "by "+string(c.name)+"\n" {
			t.Errorf("%s: the checkout has %q", c.name, text)
		}
		if _, err := os.Stat(tree); (err == nil) != c.keep || got.Removed == c.keep || (got.Kept == "") == c.keep {
			t.Errorf("%s: removed %v, kept %q, worktree %v", c.name, got.Removed, got.Kept, err)
		}
	}
}

// The check of a merge is the member's: of a member of the accepted file as that file is now, of another as it
// joined; else it is the file's.
func TestMergeCheck(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	own := func(f *teamfile.FileMember) { f.Check = &record.Check{Command: "as it joined", Dir: m.repo} }
	for _, name := range []protocol.MemberName{"ann", "bob"} {
		m.member(name, own)
	}
	for _, name := range []protocol.MemberName{"cid", "dora"} {
		m.member(name)
	}
	file := m.rig.State().Dir.TeamFile()
	m.write(filepath.Dir(file), filepath.Base(file), "team: api\ncheck: the file's\nmembers:\n  - {name: ann, agent: exec, check: as it is now}\n  - {name: cid, agent: exec}\n")
	for name, want := range map[string]string{"ann": "as it is now", "bob": "as it joined", "cid": "the file's", "dora": "the file's"} {
		plan, err := results.Of(m.op).PlanMerge(t.Context(), "api", name, results.MergeOptions{})
		if err != nil || plan.Check != want {
			t.Errorf("%s: %+v, %v; want the check %q", name, plan, err, want)
		}
	}
}

// After a failure the target is as it was, and a conflict names its files.
func TestMergeFails(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	tree := m.member("ann")
	m.write(tree, "code.txt", "two\n")
	merge := func(mo results.MergeOptions) (*results.Merged, error) {
		return results.Of(m.op).Merge(t.Context(), "api", "ann", mo)
	}
	_, err := merge(results.MergeOptions{Into: "nowhere"})
	operatortest.Is(t, "a branch that is not there", err, operator.NotFound, "nowhere")
	_, err = results.Of(m.op).PlanMerge(t.Context(), "api", "ann", results.MergeOptions{Into: "nowhere"})
	operatortest.Is(t, "its plan", err, operator.NotFound, "nowhere")
	_, err = results.Of(m.op).Merge(t.Context(), "api", "nobody", results.MergeOptions{})
	operatortest.Is(t, "nobody", err, operator.NotFound, "nobody")

	refused := func(what, want string) {
		t.Helper()
		st := testenv.Value(inspect.Of(m.op).Status(t.Context(), "api"))(t)
		i := slices.IndexFunc(st.Members, func(s inspect.MemberStatus) bool { return s.Name == "ann" })
		switch r := st.Members[i].Refused; {
		case want == "" && r != nil:
			t.Errorf("%s: %+v is shown", what, r)
		case want != "" && (r == nil || !strings.Contains(r.Why, want) || r.Into != "main" || r.At.IsZero()):
			t.Errorf("%s: %+v is shown", what, r)
		}
	}
	refused("a branch that is not there, which nobody can merge into", "")

	m.write(m.repo, "code.txt", "dirty\n")
	before := m.head("main")
	_, err = results.Of(m.op).PlanMerge(t.Context(), "api", "ann", results.MergeOptions{})
	operatortest.Is(t, "the plan of a target with changes", err, operator.Refused, "code.txt")
	refused("a plan", "")
	_, err = merge(results.MergeOptions{})
	operatortest.Is(t, "a target with changes", err, operator.Refused, "code.txt")
	if m.head("main") != before || m.git(m.repo, "diff", "--name-only") != "code.txt" {
		t.Error("the dirty target was changed")
	}
	refused("a target with changes", "not committed")
	m.git(m.repo, "commit", "--quiet", "--all", "--message", "three")
	before = m.head("main")
	got, err := merge(results.MergeOptions{})
	if got == nil || err == nil || len(got.Conflict) != 1 || got.Conflict[0] != "code.txt" || got.Changed || got.Task != "" {
		t.Errorf("a conflict: %+v, %v", got, err)
	}
	if m.head("main") != before || m.git(m.repo, "status", "--porcelain") != "" {
		t.Error("the conflict changed the target")
	}
	refused("a conflict", "conflict in code.txt")
	m.write(tree, "more.txt", "more\n")
	refused("work that is in no commit", "conflict in code.txt")
	m.git(tree, "add", "--all")
	m.git(tree, "commit", "--quiet", "--message", "more")
	refused("the branch has changed", "")
	if _, err := merge(results.MergeOptions{}); err == nil {
		t.Error("the conflict is gone")
	}
	refused("again", "conflict in code.txt")
	m.git(m.repo, "reset", "--quiet", "--hard", "HEAD~1")
	m.git(m.repo, "checkout", "--quiet", "--", ".")
	testenv.Value(merge(results.MergeOptions{Keep: true}))(t)
	refused("merged", "")
}

func TestDiffAndCompare(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	ann, bob := m.member("ann"), m.member("bob")
	m.write(ann, "code.txt", "one\ntwo\n")
	m.git(ann, "commit", "--quiet", "--all", "--message", "more")
	m.write(bob, "new.txt", "a\nb\n")
	d, err := results.Of(m.op).Diff(t.Context(), "", "ann", results.DiffOptions{})
	if err != nil || len(d.Files) != 1 || d.Files[0].Path != "code.txt" || len(d.Uncommitted) != 0 || !strings.Contains(d.Text, "+two") {
		t.Errorf("%+v, %v", d, err)
	}
	if r, err := results.Of(m.op).Reviewed(t.Context(), "", "bob"); err != nil || len(r.Uncommitted) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	cs, err := results.Of(m.op).Compare(t.Context(), "", []string{"ann", "bob"}, true, results.MergeOptions{})
	if err != nil || len(cs) != 2 {
		t.Fatal(cs, err)
	}
	if cs[0].Added != 1 || len(cs[0].Files) != 1 || cs[0].Member != "ann" || cs[0].Branch != d.Branch || cs[0].Working || cs[0].Check != nil || cs[0].State != results.TaskOpen {
		t.Errorf("%+v", cs[0])
	}
	if cs[1].Added != 2 || cs[1].Deleted != 0 {
		t.Errorf("%+v", cs[1])
	}
	_, err = results.Of(m.op).Compare(t.Context(), "", []string{"ann", "nobody"}, false, results.MergeOptions{})
	operatortest.Is(t, "one that is not there", err, operator.NotFound, "nobody")
}

// Pull pushes with git and makes the request with gh; a second call finds that request.
func TestPull(t *testing.T) {
	t.Parallel()
	m := newMade(t)
	tree := m.member("ann")
	home := filepath.Dir(m.op.Root.Path)
	pull := func() (*results.Pulled, error) {
		return results.Of(m.op).Pull(t.Context(), "api", "ann", results.PullOptions{Draft: true, Title: "Two", In: strings.NewReader(""), Err: &bytes.Buffer{},
			Body: func(r results.Report) string { return "files " + r.Files[0].Path + " of " + r.Member }})
	}
	if _, err := exec.LookPath("gh"); err != nil {
		_, err := pull()
		operatortest.Is(t, "without gh", err, operator.Failed, "gh")
	}
	bin := filepath.Join(home, "bin")
	testenv.Must(t, os.Mkdir(bin, 0o755))
	m.op.Environ = append(m.op.Environ, "PATH="+bin+":"+os.Getenv("PATH"), "SAID="+filepath.Join(home, "said"))
	gh := "#!/bin/sh\ncase $2 in\nlist) cat \"$SAID.url\" 2>/dev/null; true;;\ncreate) echo \"$@\" > \"$SAID\"; cat > \"$SAID.body\"; echo https://example.com/pr/1 | tee \"$SAID.url\";;\nesac\n"
	testenv.Must(t, testenv.Executable(filepath.Join(bin, "gh"), []byte(gh)))
	m.git(home, "init", "--quiet", "--bare", "remote.git")
	m.git(m.repo, "remote", "add", "origin", filepath.Join(home, "remote.git"))

	_, err := pull()
	operatortest.Is(t, "no change", err, operator.Refused, "changed nothing")
	m.write(tree, "code.txt", "two\n")
	p, err := pull()
	if err != nil || !p.Changed || p.URL != "https://example.com/pr/1" || p.Into != "main" || p.Remote != "origin" || p.Title != "Two" || len(p.Files) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if pushed := m.git(filepath.Join(home, "remote.git"), "rev-parse", p.Branch); pushed != p.Commit {
		t.Errorf("pushed %s, want %s", pushed, p.Commit)
	}
	said, _ := os.ReadFile(filepath.Join(home, "said"))
	body, _ := os.ReadFile(filepath.Join(home, "said.body"))
	if !strings.Contains(string(said), "--draft") || !strings.Contains(string(said), "--base main") || string(body) != "files code.txt of ann" {
		t.Errorf("gh was given %q and %q", said, body)
	}
	m.write(tree, "more.txt", "m\n")
	again, err := pull()
	if err != nil || again.Changed || again.URL != p.URL || again.Commit == p.Commit {
		t.Errorf("again: %+v, %v", again, err)
	}
}
