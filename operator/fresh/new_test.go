package fresh_test

import (
	"context"
	"errors"
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
	"waggle/operator/fresh"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// begin is an Options.Begin whose process ends with success, but for the member that fails.
func begin(fails protocol.MemberName) func(protocol.TeamName, protocol.MemberName) []string {
	return func(_ protocol.TeamName, name protocol.MemberName) []string {
		if name == fails {
			return []string{"/bin/sh", "-c", "echo no room; exit 1"}
		}
		return []string{"/bin/sh", "-c", ":"}
	}
}

// checkout is a git checkout with these files in a commit, and one more file that git ignores.
func checkout(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	git := testenv.Require(t, "git")
	dir = testenv.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	files[".gitignore"], files[".env"] = ".env\n", "KEY=1\n"
	for name, text := range files {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "master"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	return dir
}

// names are the names of the members of a Started.
func names(st *fresh.Started) (list []string) {
	for _, m := range st.Members {
		list = append(list, string(m.Name))
	}
	return list
}

// TestNew: each task gets a member with a name of its own and an assigned task. Plan names the same
// members before and starts none. A member whose process fails has the reason; the others are ready.
func TestNew(t *testing.T) {
	t.Parallel()
	op, rig := operatortest.API(t)
	rig.Enlist(rig.State(), "run-tests")
	dir := t.TempDir()
	wants := []fresh.Want{
		{Task: "run the tests\nall of them", Agent: "exec", Here: true},
		{Task: "fix it", Command: []string{"true"}, Attempts: 2, Here: true},
		{Task: "by name", Agent: "exec", Name: "zoe", Here: true},
	}
	opt := fresh.Options{Dir: dir, Team: "api", Env: op.Environ, Begin: begin("fix-2"), Wait: time.Minute, AtOnce: 9}
	want := []string{"run-tests-2", "fix", "fix-2", "zoe"}
	plan, err := fresh.Of(op).Plan(t.Context(), wants, opt)
	testenv.Must(t, err)
	if !slices.Equal(names(plan), want) || plan.Opened || plan.Team != "api" {
		t.Errorf("the plan is %+v", plan)
	}
	for _, m := range plan.Members {
		if m.State != fresh.StatePlanned || m.Session != "" || m.Task != "" {
			t.Errorf("planned: %+v", m)
		}
	}
	if l := rig.State().Lead; len(l.Members) != 1 {
		t.Errorf("Plan has joined %d members", len(l.Members)-1)
	}
	st, err := fresh.Of(op).New(t.Context(), wants, opt)
	testenv.Must(t, err)
	if !slices.Equal(names(st), want) || st.Opened || st.Team != "api" {
		t.Errorf("%+v", st)
	}
	lead := rig.State().Lead
	for i, m := range st.Members {
		joined, ok := lead.Member(m.Name)
		if !ok || string(joined.Instance) != m.Session || joined.Cwd != dir || m.Worktree != "" || m.Task == "" {
			t.Errorf("%+v has joined as %+v", m, joined)
		}
		if (m.State == fresh.StateStarted) != (m.Name != "fix-2") || m.Attempts != map[bool]int{true: 2}[i == 1 || i == 2] {
			t.Errorf("%+v", m)
		}
	}
	if failed := st.Members[2]; failed.State != fresh.StateFailed || failed.Why != "no room" || failed.Attempt != 2 {
		t.Errorf("%+v", failed)
	}
	if st.Members[0].Subject != "run the tests" {
		t.Errorf("%q", st.Members[0].Subject)
	}
	bare := []fresh.Want{{Task: "fix it", Agent: "exec"}}
	for _, err := range []error{second(fresh.Of(op).New(t.Context(), bare, opt)), second(fresh.Of(op).Plan(t.Context(), bare, opt))} {
		operatortest.Is(t, "outside of a checkout", err, operator.Usage, dir+" is in no git checkout with a commit")
	}
	_, err = fresh.Of(op).New(t.Context(), wants[2:], opt)
	if !errors.Is(err, team.ErrTaken) {
		t.Errorf("zoe again: %v", err)
	}
	if _, err = fresh.Of(op).Plan(t.Context(), wants[2:], opt); !errors.Is(err, team.ErrTaken) {
		t.Errorf("zoe is planned again: %v", err)
	}
}

func second(_ *fresh.Started, err error) error { return err }

// TestSplit: a member that splits a task must propose a plan, and its task says so.
func TestSplit(t *testing.T) {
	t.Parallel()
	op, rig := operatortest.API(t)
	st := testenv.Value(fresh.Of(op).New(t.Context(), []fresh.Want{{Task: "the whole page", Agent: "script", Split: true, Here: true}},
		fresh.Options{Dir: t.TempDir(), Team: "api", Env: op.Environ, Begin: begin(""), Wait: time.Minute}))(t)
	m, ok := rig.State().Lead.Member(st.Members[0].Name)
	if !ok || !m.PlanRequired || !st.Members[0].Split || st.Members[0].Subject != "Split: the whole page" {
		t.Errorf("%+v of %+v", m, st)
	}
}

// TestPlanOpens: a plan for a directory without a team names the team that New would open, with a
// number when another team has the name, and creates nothing.
func TestPlanOpens(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	dir := filepath.Join(t.TempDir(), "shop")
	testenv.Must(t, os.Mkdir(dir, 0o700))
	wants := []fresh.Want{{Task: "fix it", Agent: "exec", Here: true}}
	plan := func() *fresh.Started {
		return testenv.Value(fresh.Of(op).Plan(t.Context(), wants, fresh.Options{Dir: dir}))(t)
	}
	if st := plan(); st.Team != "shop" || !st.Opened || !slices.Equal(names(st), []string{"fix"}) {
		t.Errorf("%+v", st)
	}
	if all, err := op.Root.Names(); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	operatortest.Team(t, op, "shop", record.PolicySet{})
	if st := plan(); st.Team != "shop-2" || !st.Opened {
		t.Errorf("%+v", st)
	}
	_, err := fresh.Of(op).Plan(t.Context(), wants, fresh.Options{Dir: dir, Team: "No Team"})
	operatortest.Fails(t, err, operator.Usage, "")
	_, err = fresh.Of(op).TeamOf(t.Context(), fresh.Options{Dir: dir})
	operatortest.Fails(t, err, operator.NotFound, "no team of ")
	if name, err := fresh.Of(op).TeamOf(t.Context(), fresh.Options{Dir: dir, Team: "shop"}); name != "shop" || err != nil {
		t.Errorf("%s, %v", name, err)
	}
}

// TestBegins: a task whose branch cannot begin as it says is refused before a team is opened.
func TestBegins(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.Worktrees = t.TempDir()
	dir := checkout(t, map[string]string{"a": "a\n"})
	for what, c := range map[string]struct {
		want fresh.Want
		kind operator.Kind
		says string
	}{
		"no commit":           {fresh.Want{Begin: teamfile.Begin{Base: "nothing"}}, operator.NotFound, `there is no commit or branch "nothing"`},
		"no branch":           {fresh.Want{Begin: teamfile.Begin{Branch: "nothing"}}, operator.NotFound, `there is no branch "nothing"`},
		"the person's branch": {fresh.Want{Begin: teamfile.Begin{Branch: "master"}}, operator.Refused, "branch master is checked out in " + dir},
		"here":                {fresh.Want{Here: true, Begin: teamfile.Begin{Base: "HEAD"}}, operator.Usage, "not with --base or --branch"},
		"several":             {fresh.Want{Attempts: 2, Begin: teamfile.Begin{Branch: "master"}}, operator.Usage, "two cannot be on one branch"},
	} {
		c.want.Task, c.want.Agent = "fix it", "exec"
		for _, do := range []func(context.Context, []fresh.Want, fresh.Options) (*fresh.Started, error){fresh.Of(op).New, fresh.Of(op).Plan} {
			_, err := do(t.Context(), []fresh.Want{c.want}, fresh.Options{Dir: dir})
			operatortest.Is(t, what, err, c.kind, c.says)
		}
	}
	if all, err := op.Root.Names(); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	st, err := fresh.Of(op).Plan(t.Context(), []fresh.Want{{Task: "fix it", Agent: "exec", Begin: teamfile.Begin{Base: "master"}}}, fresh.Options{Dir: dir})
	if err != nil || st.Members[0].Branch != "waggle/"+string(st.Team)+"/fix" {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestPreparation: a worktree gets what an accepted waggle.yaml and .worktreeinclude name. A file that
// nobody accepted ends New before anything was made; NoSetup leaves it alone; a file that the operator
// names needs no acceptance, and must say something about worktrees.
func TestPreparation(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.Worktrees = t.TempDir()
	rig := operatortest.Team(t, op, "api", record.PolicySet{})
	dir := checkout(t, map[string]string{"waggle.yaml": "team: other\nworktree: {setup: [make]}\nmembers: []\n", ".worktreeinclude": ".env\n",
		"bare.yaml": "team: other\nmembers: []\n"})
	below := filepath.Join(dir, "below")
	testenv.Must(t, os.Mkdir(below, 0o700))
	wants := []fresh.Want{{Task: "fix it", Agent: "exec"}}
	o := fresh.Of(op)
	plan := func(opt fresh.Options) fresh.Member {
		t.Helper()
		opt.Dir = dir
		st := testenv.Value(o.Plan(t.Context(), wants, opt))(t)
		return st.Members[0]
	}
	for what, c := range map[string]struct {
		opt   fresh.Options
		setup []string
	}{
		"a team":       {fresh.Options{Team: "api"}, []string{"make"}},
		"to be opened": {fresh.Options{Team: "web"}, []string{"make"}},
		"without":      {fresh.Options{Team: "api", NoSetup: true}, nil},
		"named":        {fresh.Options{Team: "api", File: filepath.Join(dir, "waggle.yaml")}, []string{"make"}},
	} {
		m := plan(c.opt)
		if !slices.Equal(m.Setup, c.setup) || !slices.Equal(m.Copied, []string{".env"}) || !strings.HasSuffix(m.Branch, "/fix") || (m.Worktree == "") != (c.opt.Team == "web") {
			t.Errorf("%s: %+v", what, m)
		}
	}
	_, err := o.Plan(t.Context(), wants, fresh.Options{Dir: dir, Team: "api", File: filepath.Join(dir, "bare.yaml")})
	operatortest.Fails(t, err, operator.Usage, "has neither worktree: nor check:")

	opt := fresh.Options{Dir: below, Team: "api", Env: op.Environ, Begin: begin(""), Wait: time.Minute}
	_, err = o.New(t.Context(), wants, opt)
	var unaccepted *fresh.UnacceptedError
	if !errors.As(err, &unaccepted) || !slices.Equal(unaccepted.Found.Included, []string{".env"}) || unaccepted.Found.Changed {
		t.Fatalf("%v", err)
	}
	if n := len(rig.State().Lead.Members); n > 0 {
		t.Errorf("%d members have joined", n)
	}
	shown := unaccepted.Found
	opt.Accept = fresh.AcceptShown(&shown)
	st, err := o.New(t.Context(), wants, opt)
	testenv.Must(t, err)
	if m := st.Members[0]; !slices.Equal(m.Setup, []string{"make"}) || !slices.Equal(m.Copied, []string{".env"}) || m.Worktree == "" {
		t.Errorf("%+v", m)
	}
	opt.Accept = func(context.Context, fresh.Found) error { t.Error("asked again about the same text"); return nil }
	if _, err := o.New(t.Context(), wants, opt); err != nil {
		t.Error(err)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "waggle.yaml"), []byte("team: other\nworktree: {setup: [make all]}\nmembers: []\n"), 0o600))
	opt.Accept = nil
	if _, err := o.New(t.Context(), wants, opt); !errors.As(err, &unaccepted) || !unaccepted.Found.Changed {
		t.Errorf("another text: %v", err)
	}
}
