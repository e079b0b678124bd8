package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// typedIn runs the program in a directory.
func typedIn(t *testing.T, op operator.Operator, dir, line string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"--root", op.Root.Path, "--state", op.Home.Path}, strings.Fields(line)...)...)
	cmd.Dir, cmd.Env = dir, op.Environ
	b, _ := cmd.CombinedOutput()
	return string(b), cmd.ProcessState.ExitCode()
}

// TestOtherTeam: in a directory whose team file's team is not up, a command that acts does not take the only living team,
// of a file elsewhere; one that reads says whose it is.
func TestOtherTeam(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	alpha := operatortest.Team(t, op, "alpha", record.PolicySet{})
	alpha.Enlist(alpha.State(), "ann")
	theirs, ours, none := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		writeFile(t, path, text)
	}
	write(filepath.Join(theirs, "waggle.yaml"), "team: alpha\nmembers:\n  - {name: ann, agent: exec}\n")
	write(filepath.Join(ours, "waggle.yaml"), "team: web\nmembers:\n  - {name: ann, agent: exec}\n")
	write(alpha.State().Dir.TeamFile()+".from", filepath.Join(theirs, "waggle.yaml")+"\n")
	below := filepath.Join(ours, "below")
	testenv.Must(t, os.Mkdir(below, 0o700))
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
	op := operatortest.New(t)
	alpha, beta := operatortest.Team(t, op, "alpha", record.PolicySet{}), operatortest.Team(t, op, "beta", record.PolicySet{})
	alpha.Enlist(alpha.State(), "ann")
	beta.Enlist(beta.State(), "bob")
	dir := t.TempDir()
	tasks := op.Root.TasksDir("beta")
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

// TestInboxOfSeveral: without a NAME the addresses and the archives of all teams are shown, and their messages followed;
// what marks or is for one session asks for the team.
func TestInboxOfSeveral(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	for _, name := range []protocol.TeamName{"alpha", "beta"} {
		r := operatortest.Team(t, op, name, record.PolicySet{})
		r.Enlist(r.State(), "ann")
		text := protocol.Envelope{From: "ann", Text: "hello from " + string(name), Timestamp: "2026-01-02T03:04:05.000Z"}
		box, err := op.Boxes(name).Open(protocol.Lead, mailbox.Options{})
		if err == nil {
			err = box.Append(t.Context(), text)
		}
		testenv.Must(t, err)
	}
	dir := t.TempDir()
	for line, want := range map[string]int{"inbox --archive": 0, "inbox --archive --json": 0, "inbox --news": 0, "inbox --mark-read": 2, "inbox --as-prompt": 2} {
		if out, code := typedIn(t, op, dir, line); code != want || want == 2 && !strings.Contains(out, "--team alpha") {
			t.Errorf("%s: exit %d\n%s", line, code, out)
		}
	}
	if out, code := typedIn(t, op, dir, "inbox --address"); code == 2 {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, line := range []string{"inbox --follow", "inbox --follow --json"} {
		cmd := exec.Command(binary(t), append([]string{"--root", op.Root.Path, "--state", op.Home.Path}, strings.Fields(line)...)...)
		path := filepath.Join(t.TempDir(), "out")
		out, err := os.Create(path)
		testenv.Must(t, err)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, op.Environ, out, out
		testenv.Must(t, errors.Join(cmd.Start(), out.Close()))
		testenv.Eventually(t, line, func() bool {
			b, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(b), "hello from alpha") && strings.Contains(string(b), "hello from beta")
		})
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
