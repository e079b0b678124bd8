package reach_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/confine"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/reach"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
)

// TestMain keeps the files of sandboxes on the disk, where members have them.
func TestMain(m *testing.M) {
	testenv.OnDisk()
	os.Exit(m.Run())
}

// sandboxes skips a test where no sandbox can be made, and returns the program that is the relay.
func sandboxes(t *testing.T) (program string) {
	t.Helper()
	if os.Getenv(confine.Variable) == "off" {
		t.Skip(confine.Variable + "=off: the suite runs without sandboxes")
	}
	testenv.Require(t, "bwrap")
	program = filepath.Join(t.TempDir(), "waggle")
	testenv.Must(t, testenv.Program(program))
	return program
}

func open(t *testing.T, op operator.Operator, program string, w reach.Where) *reach.Box {
	t.Helper()
	return testenv.Value(reach.Of(op).OpenBox(t.Context(), program, w))(t)
}

// boxes are the directories of sandboxes that are open.
func boxes(t *testing.T, op operator.Operator) []string {
	t.Helper()
	return testenv.Value(filepath.Glob(filepath.Join(op.Home.Run(), "box-*")))(t)
}

// run runs a shell text in a box as the box's caller does: in a process of its own, without a worker.
func run(t *testing.T, b *reach.Box, op operator.Operator, text string) (out string, failed bool) {
	t.Helper()
	r, err := b.Prepare(spawn.Command{Argv: []string{"sh", "-c", text}, Dir: b.Dir, Env: op.Environ})
	testenv.Must(t, err)
	var both bytes.Buffer
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = r.Env, &both, &both
	err = cmd.Run()
	exit, cerr := r.Close()
	if cerr != nil {
		t.Error(cerr)
	}
	return both.String(), err != nil || exit != nil && exit.Code != 0
}

// verdict returns the verdict of an Explained on a subject; "" for none.
func verdict(e *reach.Explained, subject string) string {
	for _, l := range e.Lines {
		if l.Subject == subject {
			return l.Verdict
		}
	}
	return ""
}

// TestDirectory: the sandbox of a directory passes its self-test, lets a command write in the
// directory and hides STATE from it; Explain says the same of a command before it runs. Close leaves
// no file of it.
func TestDirectory(t *testing.T) {
	program, op := sandboxes(t), operatortest.New(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	secret := filepath.Join(op.Home.Path, "secret")
	testenv.Must(t, os.MkdirAll(op.Home.Path, 0o700))
	testenv.Must(t, os.WriteFile(secret, []byte("hidden words"), 0o600))
	where := reach.Where{Dir: dir}
	b := open(t, op, program, where)
	if tested := b.Tested(); !tested.Passed() || tested.Tree != dir || tested.Member != "" || len(tested.Points) < 5 {
		t.Errorf("the self-test: %+v", tested)
	}
	if b.Tree != dir || b.Dir != dir || b.Wants.Mode != record.SandboxAuto {
		t.Errorf("%+v", b)
	}
	e, err := reach.Of(op).Explain(t.Context(), b, where, []string{"sh", "-c", "echo x >made; cat " + secret})
	testenv.Must(t, err)
	if verdict(e, op.Home.Path) != "absent" || verdict(e, dir) != "write" || e.Judged != nil || e.Dir != dir || !e.Passed() {
		t.Errorf("%+v", e)
	}
	if out, failed := run(t, b, op, "echo x >made"); failed {
		t.Errorf("it cannot write in its directory: %s", out)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "made")); string(got) != "x\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if out, failed := run(t, b, op, "cat '"+secret+"'"); !failed || strings.Contains(out, "hidden words") {
		t.Errorf("it reads STATE: %s", out)
	}
	if len(boxes(t, op)) != 1 {
		t.Errorf("%q", boxes(t, op))
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := boxes(t, op); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestMember: the sandbox of a member is that of its record, with the judgement of the team's rules
// beside what a command could access. A mode that requires enforcement does not fail an inspection.
func TestMember(t *testing.T) {
	program, op := sandboxes(t), operatortest.New(t)
	rig := operatortest.Team(t, op, "api", record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault, Deny: policy.MustRules("Bash(rm:*)")}})
	bob := rig.Enlist(rig.State(), "bob", func(m *teamfile.FileMember) { m.Sandbox = &record.Sandbox{Mode: record.SandboxRequired} })
	where := reach.Where{Team: "api", Member: "bob"}
	b := open(t, op, program, where)
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if b.Name != "bob" || b.Dir != bob.Cwd || b.Wants.Mode != record.SandboxAuto {
		t.Errorf("%+v", b)
	}
	if tested := b.Tested(); tested.Member != "bob" || !tested.Passed() {
		t.Errorf("the self-test: %+v", tested)
	}
	for _, argv := range [][]string{{"rm -r 'the build'"}, {"rm", "-r", "the build"}} {
		e := testenv.Value(reach.Of(op).Explain(t.Context(), b, where, argv))(t)
		if e.Judged == nil || e.Judged.Decision != "deny" || e.Judged.Rule != "deny Bash(rm:*)" || !slices.Equal(e.Command, argv) {
			t.Errorf("%q: %+v", argv, e.Judged)
		}
	}
	_, err := reach.Of(op).Explain(t.Context(), b, where, []string{"echo", "a\x00b"})
	operatortest.Fails(t, err, operator.Usage, "")
	r, err := b.Prepare(spawn.Command{Argv: []string{"sh", "-c", "echo >up; exec sleep 600"}, Dir: b.Dir, Env: op.Environ})
	testenv.Must(t, err)
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	cmd.Env = r.Env
	testenv.Must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }() // it has ended, unless the test fails
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	testenv.Eventually(t, "the command runs", func() bool { _, err := os.Stat(filepath.Join(bob.Cwd, "up")); return err == nil })
	if err := r.End(); err != nil {
		t.Error(err)
	}
	over := false
	testenv.Eventually(t, "the command ends when it is asked to", func() bool {
		select {
		case <-ended:
			over = true
		default:
		}
		return over
	})
	if _, err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenRefuses: a member without a sandbox, an unknown member, an unknown team and a directory that
// does not exist are errors, and leave no file.
func TestOpenRefuses(t *testing.T) {
	op, rig := operatortest.API(t)
	rig.Enlist(rig.State(), "ann")
	for what, c := range map[string]struct {
		where reach.Where
		kind  operator.Kind
		says  string
	}{
		"without a sandbox": {reach.Where{Team: "api", Member: "ann"}, operator.Refused, "ann has no sandbox"},
		"no such member":    {reach.Where{Team: "api", Member: "eve"}, operator.NotFound, "eve"},
		"no such team":      {reach.Where{Team: "web", Member: "ann"}, operator.NotFound, "web"},
		"no such directory": {reach.Where{Dir: filepath.Join(t.TempDir(), "none")}, operator.Failed, "none"},
	} {
		b, err := reach.Of(op).OpenBox(t.Context(), "/none", c.where)
		if b != nil {
			t.Errorf("%s: %+v", what, b)
		}
		operatortest.Is(t, what, err, c.kind, c.says)
	}
	if left := boxes(t, op); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestWithoutSandbox: where sandboxes are switched off, or the relay is no program, the level is off
// with the reason, and the self-test has not passed.
func TestWithoutSandbox(t *testing.T) {
	op := operatortest.New(t)
	for what, environ := range map[string][]string{"no program": op.Environ, "switched off": append(slices.Clone(op.Environ), confine.Variable+"=off")} {
		op.Environ = environ
		b := open(t, op, "/none", reach.Where{Dir: t.TempDir()})
		if tested := b.Tested(); tested.Passed() || tested.Level != record.HeldOff || tested.Why == "" {
			t.Errorf("%s: %+v", what, tested)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The sandbox of a directory makes nothing in a fresh home.
func TestFreshHome(t *testing.T) {
	program, op := sandboxes(t), operatortest.New(t)
	home := t.TempDir()
	op.Environ = append(slices.Clone(op.Environ), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "c"))
	b := open(t, op, program, reach.Where{Dir: t.TempDir()})
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if made, err := os.ReadDir(home); err != nil || len(made) > 0 {
		t.Errorf("made in the home directory: %v %v", made, err)
	}
}
