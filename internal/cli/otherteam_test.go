package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/operatortest"
	"waggle/record"
)

// typedIn runs the program in a directory.
func typedIn(t *testing.T, op operatorOf, dir, line string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"--root", op.root, "--state", op.state}, strings.Fields(line)...)...)
	cmd.Dir, cmd.Env = dir, op.environ
	b, _ := cmd.CombinedOutput()
	return string(b), cmd.ProcessState.ExitCode()
}

type operatorOf struct {
	root, state string
	environ     []string
}

// TestOtherTeam: in a directory whose team file's team is not up, a command that acts does not take the only living team,
// of a file elsewhere; one that reads says whose it is.
func TestOtherTeam(t *testing.T) {
	t.Parallel()
	o := operatortest.New(t)
	op := operatorOf{o.Root.Path, o.Home.Path, o.Environ}
	alpha := operatortest.Team(t, o, "alpha", record.PolicySet{})
	alpha.Enlist(alpha.State(), "ann")
	theirs, ours, none := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(theirs, "waggle.yaml"), "team: alpha\nmembers:\n  - {name: ann, agent: exec}\n")
	write(filepath.Join(ours, "waggle.yaml"), "team: web\nmembers:\n  - {name: ann, agent: exec}\n")
	write(alpha.State().Dir.TeamFile()+".from", filepath.Join(theirs, "waggle.yaml")+"\n")
	below := filepath.Join(ours, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	const other = "is not up; the only team that is up is alpha"
	for _, line := range []string{"down", "stop ann", "mode ann plan", "task add x", "send ann hello", "policy add Bash(ls)"} {
		out, code := typedIn(t, op, below, line)
		if code != 2 || !strings.Contains(out, "team web of") || !strings.Contains(out, other) || !strings.Contains(out, line[:4]) || !strings.Contains(out, "--team alpha") {
			t.Errorf("%s: exit %d\n%s", line, code, out)
		}
	}
	for _, line := range []string{"task list", "plan list", "peek ann", "mode"} {
		if out, code := typedIn(t, op, ours, line); code == 2 || !strings.Contains(out, other) {
			t.Errorf("%s: exit %d\n%s", line, code, out)
		}
	}
	for dir, line := range map[string]string{none: "task add x", theirs: "task add y", ours: "task add z --team alpha"} {
		if out, code := typedIn(t, op, dir, line); code != 0 {
			t.Errorf("%s: exit %d\n%s", line, code, out)
		}
	}
}

// TestTeamInSteps: while more than one team is up, the commands that are printed name theirs.
func TestTeamInSteps(t *testing.T) {
	t.Parallel()
	o := operatortest.New(t)
	op := operatorOf{o.Root.Path, o.Home.Path, o.Environ}
	alpha, beta := operatortest.Team(t, o, "alpha", record.PolicySet{}), operatortest.Team(t, o, "beta", record.PolicySet{})
	alpha.Enlist(alpha.State(), "ann")
	beta.Enlist(beta.State(), "bob")
	dir := t.TempDir()
	tasks := o.Root.TasksDir("beta")
	if err := errors.Join(os.MkdirAll(tasks, 0o700), os.WriteFile(filepath.Join(tasks, "1.json"),
		[]byte(`{"id":"1","subject":"x","description":"","status":"pending","owner":"bob","blocks":[],"blockedBy":[]}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"task list", "task list --json", "task show 1", "task show 1 --json"} {
		if out, code := typedIn(t, op, dir, line); code != 0 || !strings.Contains(out, "waggle task assign 1 bob --team beta") {
			t.Errorf("%s: exit %d\n%s", line, code, out)
		}
	}
}
