//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// TestAttach: a member's terminal is shown on this one, its past included; Ctrl-]
// leaves it, and the member goes on.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	go1 := filepath.Join(dir, "go")
	file := "team: look\nsandbox: {mode: off}\npolicy: {mode: bypassPermissions}\nmembers: [{name: alice, agent: exec}]\n" +
		"tasks: [{subject: s, owner: alice, instructions: 'echo first; until test -e go; do sleep 0.05; done; echo last'}]\n"
	writeFile(t, filepath.Join(dir, "w.yaml"), file)
	run := onTerminal(t, dir, "run", "w.yaml")
	run.wait(`task 1 "s"`)
	one := onTerminal(t, dir, "attach", "alice")
	one.wait("your keys do not reach it")
	const says = "Ctrl-] leaves alice, which goes on; your keys do not reach it:\r\nwaggle attach alice "
	one.press("x")
	one.wait(says)
	one.press("yz")
	one.press("\x03") // a key, and no signal
	one.wait("first")
	testenv.Eventually(t, "the second time", func() bool { return strings.Count(one.text(), says) == 2 })
	if strings.Contains(one.text(), "\\r") || !strings.Contains(one.text(), "--type passes them\r\n") {
		t.Errorf("the line of attach does not end the line of a raw terminal:\n%q", one.text())
	}
	one.press("\x1d")
	one.wait("left alice, which goes on")
	if code := one.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, one.text())
	}
	two := onTerminal(t, dir, "attach", "alice")
	two.wait("first")
	writeFile(t, go1, "")
	two.wait("last")
	two.wait("alice has ended")
	if code := run.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, run.text())
	}
	if code := two.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, two.text())
	}
}

// TestPanes: a run with backend tmux outside tmux has a server of its own, which is
// gone when the run has ended; the members' panes were in it.
func TestPanes(t *testing.T) {
	testenv.Require(t, "tmux")
	dir, err := os.MkdirTemp("", "wp") // short: sockets lie in it
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := "team: panes\nsandbox: {mode: off}\npolicy: {mode: bypassPermissions}\nmembers: [{name: alice, agent: exec, backend: tmux}, {name: bob, agent: exec, backend: tmux}]\n" +
		"tasks: [{subject: a, owner: alice, instructions: 'echo pane; test -t 1 || echo piped'}, {subject: b, owner: bob, instructions: 'true'}]\n"
	writeFile(t, filepath.Join(dir, "w.yaml"), file)
	t.Setenv("TMUX", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	x := onTerminal(t, dir, "run", "w.yaml", "--headless", "--keep", "--state", filepath.Join(dir, "s"))
	if code := x.exit(); code != 0 {
		t.Fatalf("exit %d:\n%s", code, x.text())
	}
	config := readFile(t, filepath.Join(dir, "root", "teams", "panes", "config.json"))
	for _, want := range []string{`"tmuxPaneId": "%0"`, `"tmuxPaneId": "%1"`, `"backendType": "tmux"`} {
		if !strings.Contains(string(config), want) {
			t.Errorf("the registry does not have %s:\n%s", want, config)
		}
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "s", "run", "*", "tmux*"))
	if err != nil || len(sockets) > 1 {
		t.Errorf("%v, %v", sockets, err)
	}
	for _, s := range sockets { // a server that has ended may leave its name
		if out, err := tmuxAt(t, s, "list-panes", "-a"); err == nil {
			t.Errorf("panes are left:\n%s", out)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "s", "teams", "*", "processes", "*.json"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func tmuxAt(t *testing.T, socket string, args ...string) (string, error) {
	out, err := exec.Command(testenv.Require(t, "tmux"), append([]string{"-S", socket}, args...)...).CombinedOutput()
	return string(out), err
}
