//go:build unix

package cli_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a command on a real terminal.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	seen bytes.Buffer
	more chan struct{} // something was read, or the end
	done chan struct{}
}

func onTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMPDIR="+t.TempDir())
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, cmd: cmd, tty: f, more: make(chan struct{}, 1), done: make(chan struct{})}
	go x.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = f.Close()
		<-x.done
	})
	return x
}

func (x *terminal) read() {
	defer close(x.done)
	buf := make([]byte, 4096)
	for {
		n, err := x.tty.Read(buf)
		x.mu.Lock()
		x.seen.Write(buf[:n])
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil { // a terminal without a program reads as an error
			return
		}
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// wait waits until the screen has shown a text.
func (x *terminal) wait(text string) {
	x.t.Helper()
	deadline := time.After(30 * time.Second)
	for !strings.Contains(x.text(), text) {
		select {
		case <-x.more:
		case <-deadline:
			x.t.Fatalf("the terminal never showed %q:\n%s", text, x.text())
		}
	}
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.tty, keys); err != nil {
		x.t.Fatal(err)
	}
}

// exit waits for the program and returns its code.
func (x *terminal) exit() int {
	x.t.Helper()
	if err := x.cmd.Wait(); err != nil && x.cmd.ProcessState == nil {
		x.t.Fatal(err)
	}
	return x.cmd.ProcessState.ExitCode()
}

// TestPrompt: a run asks on the terminal, Enter is no answer, a allows.
func TestPrompt(t *testing.T) {
	dir := t.TempDir()
	file := "team: prompt\nmembers: [{name: alice, agent: exec}]\ntasks: [{subject: s, owner: alice, instructions: 'touch \"$(echo made)\"'}]\n"
	if err := os.WriteFile(filepath.Join(dir, "w.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	x := onTerminal(t, dir, "run", "w.yaml", "--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"))
	x.wait("allow it?")
	if !strings.Contains(x.text(), `touch \"$(echo made)\"`) {
		t.Errorf("the prompt does not show the command:\n%s", x.text())
	}
	x.press("\n")
	x.wait("type a to allow")
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Fatal("Enter allowed it")
	}
	x.press("a\n")
	if code := x.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
}

// TestPromptDeny: the reason that is typed reaches the report.
func TestPromptDeny(t *testing.T) {
	dir := t.TempDir()
	file := "team: prompt\nmembers: [{name: alice, agent: exec}]\ntasks: [{subject: s, owner: alice, instructions: touch made}]\n"
	if err := os.WriteFile(filepath.Join(dir, "waggle.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	// A found file is shown and asked about first.
	x := onTerminal(t, dir, "run", "--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"))
	x.wait("run it? [y/N]")
	x.press("y\n")
	x.wait("allow it?")
	x.press("d use the other branch\n")
	if code := x.exit(); code != 6 {
		t.Errorf("exit %d, want 6:\n%s", code, x.text())
	}
	x.wait("use the other branch")
	// A terminal that is asked for its colours after the prompt answers into the
	// prompt's reader, and the program waits seconds for it.
	if strings.Contains(x.text(), "\x1b]11;?") {
		t.Errorf("the terminal was asked for its colours:\n%q", x.text())
	}
}

// TestDemoKey: on a terminal the demo stops once; d denies, and it says so.
func TestDemoKey(t *testing.T) {
	x := onTerminal(t, t.TempDir(), "demo")
	x.wait("press a to allow it, d to deny it")
	x.press("x")
	x.press("d")
	x.wait("operator")
	if code := x.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	x.wait("Look around")
}
