//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"waggle/internal/face/ask"
	"waggle/internal/test/testenv"
)

// terminal is a command on a real terminal.
type terminal struct {
	t    testing.TB
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	seen bytes.Buffer
	more chan struct{} // something was read, or the end
	done chan struct{}
}

// onTerminal starts a command in a directory, which has its root and its state.
func onTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Dir = dir
	tmp := t.TempDir()
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMPDIR="+tmp, "WAGGLE_ROOT="+filepath.Join(dir, "root"), "WAGGLE_STATE="+filepath.Join(dir, "state"))
	owns(t, dir, tmp)
	return startTerminal(t, cmd)
}

func startTerminal(t testing.TB, cmd *exec.Cmd) *terminal {
	t.Helper()
	blocking, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	testenv.Must(t, err)
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	testenv.Must(t, errors.Join(err, unix.SetNonblock(fd, true), blocking.Close()))
	f := os.NewFile(uintptr(fd), "far end") // its Close ends a Read
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

// closes closes the terminal, as the end of a terminal emulator or of a connection does.
func (x *terminal) closes() {
	x.t.Helper()
	testenv.Must(x.t, x.tty.Close())
	<-x.done
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// wait waits until the screen has shown a text.
func (x *terminal) wait(text string) {
	x.t.Helper()
	deadline := time.After(time.Minute)
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

// exit waits for the program, and until all that it wrote is in the text, and returns its code.
func (x *terminal) exit() int {
	x.t.Helper()
	if err := x.cmd.Wait(); err != nil && x.cmd.ProcessState == nil {
		x.t.Fatal(err)
	}
	select {
	case <-x.done:
	case <-time.After(time.Minute):
		x.t.Fatalf("the program has ended, and its terminal has not: something that it left has it\n%s", x.text())
	}
	return x.cmd.ProcessState.ExitCode()
}

// keysCount waits until a question has stood long enough: the rule is about the real
// clock. The effect of a key shows whether keys count; see presses.
func (x *terminal) keysCount() { <-time.After(ask.Stand + 50*time.Millisecond) }

// presses presses a key until it has had its effect.
func (x *terminal) presses(key, brings string) {
	x.t.Helper()
	early := func() int { return strings.Count(x.text(), "typed too early") }
	for was := early(); ; was = early() {
		x.keysCount()
		x.press(key)
		deadline := time.After(time.Minute)
		for !strings.Contains(x.text(), brings) && early() == was {
			select {
			case <-x.more:
			case <-deadline:
				x.t.Fatalf("%q never brought %q:\n%s", key, brings, x.text())
			}
		}
		if strings.Contains(x.text(), brings) {
			return
		}
	}
}

// prompted writes the file of a team whose member asks for a call, and starts a command beside it.
func prompted(t *testing.T, name, call string, args ...string) (x *terminal, dir string) {
	t.Helper()
	dir = t.TempDir()
	writeFile(t, filepath.Join(dir, name), "team: prompt\nmembers: [{name: alice, agent: exec}]\ntasks: [{subject: s, owner: alice, instructions: "+call+"}]\n")
	return onTerminal(t, dir, args...), dir
}

// TestPrompt: a run asks on the terminal, Enter is no answer, a allows.
func TestPrompt(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	x, dir := prompted(t, "w.yaml", `'touch "made"'`, "run", "w.yaml")
	x.wait("allow it?")
	if !strings.Contains(x.text(), `  | touch "made"`) {
		t.Errorf("the prompt does not show the command:\n%s", x.text())
	}
	x.presses("\n", "Enter is no answer")
	if exists(dir, "made") {
		t.Fatal("Enter allowed it")
	}
	x.presses("a", "allowed once")
	if code := x.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	if !exists(dir, "made") {
		t.Error("there is no made")
	}
}

// TestPromptDeny: the reason that is typed reaches the report.
func TestPromptDeny(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	x, _ := prompted(t, "waggle.yaml", "touch made", "run") // a found file is shown and asked about first
	x.wait("run it? [y/N]")
	x.presses("y", "yes")
	x.wait("allow it?")
	x.presses("d", "deny, because")
	x.press("use the ohter\x7f\x7f\x7f\x7fther branch")
	x.wait("use the other branch")
	x.press("\r")
	x.wait("denied\r\n")
	if code := x.exit(); code != 6 {
		t.Errorf("exit %d, want 6:\n%s", code, x.text())
	}
	x.wait("6:")
	// A terminal that is asked for its colours after the prompt answers into the
	// prompt's reader, and the program waits seconds for it.
	if strings.Contains(x.text(), "\x1b]11;?") {
		t.Errorf("the terminal was asked for its colours:\n%q", x.text())
	}
	if n := strings.Count(x.text(), "use the other branch"); n < 2 {
		t.Errorf("the reason is not in the report:\n%s", x.text())
	}
}

// TestConfirmNo: Enter is no for a file that was found.
func TestConfirmNo(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	x, _ := prompted(t, "waggle.yaml", "touch made", "up")
	x.press("y\n") // before the question
	x.wait("run it? [y/N]")
	x.presses("y\n", "one key at a time")
	x.presses("\r", "not run")
	if code := x.exit(); code != 6 {
		t.Errorf("exit %d, want 6:\n%s", code, x.text())
	}
}

// TestConfirmAgain: a found file that was accepted is not shown whole again, unless v asks for it; one that was only looked
// at, one that has changed, and one in another place are.
func TestConfirmAgain(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	file := "team: again\nsandbox: {mode: off}\nmembers: [{name: alice, agent: exec}]\ntasks: [{subject: s, owner: alice, instructions: \"true\"}]\npolicy: {allow: [\"Bash(true)\"]}\n"
	for _, d := range []string{dir, other} {
		writeFile(t, filepath.Join(d, "waggle.yaml"), file)
	}
	const short = "unchanged since you accepted it"
	asks := func(in string, again bool) *terminal {
		t.Helper()
		x := onTerminal(t, in, "run", "--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"))
		x.wait("run it? [y/N]")
		if got := strings.Contains(x.text(), short); got != again || got == strings.Contains(x.text(), "Its text:") {
			t.Errorf("again is %t:\n%s", again, x.text())
		}
		return x
	}
	says := func(x *terminal, key, brings string, code int) {
		t.Helper()
		x.presses(key, brings)
		if got := x.exit(); got != code {
			t.Errorf("exit %d, want %d:\n%s", got, code, x.text())
		}
	}
	says(asks(dir, false), "n", "not run", 6)
	says(asks(dir, false), "y", "exit 0", 0)
	says(asks(dir, true), "y", "exit 0", 0)
	x := asks(dir, true)
	x.presses("v", "Its text:")
	says(x, "y", "exit 0", 0)
	says(asks(other, false), "n", "not run", 6)
	writeFile(t, filepath.Join(dir, "waggle.yaml"), file+"# changed\n")
	says(asks(dir, false), "n", "not run", 6)
}

// TestDemoKey: on a terminal the demo stops once; d denies, and the demo says so.
func TestDemoKey(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	x := onTerminal(t, t.TempDir(), "demo")
	x.wait("allow it?")
	x.keysCount()
	x.press("x")
	x.presses("d", "denied")
	x.wait("you ")
	if code := x.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	x.wait("Now with a real agent")
}

// TestLongInputOnTerminal: pending and show wrap text that does not fit on a line of the
// terminal and cut nothing, and no text of a member begins a line.
func TestLongInputOnTerminal(t *testing.T) {
	c := newCrowd(t, 2)
	long := "go test ./a" + strings.Repeat(" ", 75) + "risk     low" + strings.Repeat("/x", 120) + " ./end"
	for _, a := range c.askers {
		c.call(a, "Bash", "command", long)
	}
	c.call(c.askers[0], "Bash", "command", "sh -c 'a'"+strings.Repeat(" ", 90)+"risk     low\nrisk     low")
	at := []string{"--root", c.op.Root.Path, "--state", c.op.Home.Path, "--team", "crowd", "--no-color"}
	for _, args := range [][]string{{"pending"}, {"show", "Bash(go test:*)"}} {
		x := onTerminal(t, t.TempDir(), append(args, at...)...)
		if code := x.exit(); code != 0 {
			t.Fatalf("%v: exit %d\n%s", args, code, x.text())
		}
		<-x.done
		whole, found := "", false
		for _, l := range strings.Split(strings.ReplaceAll(x.text(), "\r\n", "\n"), "\n") {
			if n := len([]rune(l)); n > 100 {
				t.Errorf("%v: a line of %d columns: %q", args, n, l)
			}
			if strings.HasPrefix(strings.TrimLeft(l, " "), "risk     low") {
				t.Errorf("%v: a member's text begins the line %q", args, l)
			}
			bar := strings.TrimLeft(l, " ")
			switch {
			case strings.HasPrefix(bar, "| "):
				whole = bar[2:]
			case strings.HasPrefix(bar, "+ "):
				whole += bar[2:]
			}
			found = found || whole == long
		}
		why := strings.Count(x.text(), "because ") // names the part of the text that it is about, and cuts it
		if !found || strings.Count(x.text(), "…") > why {
			t.Errorf("%v does not show the whole command:\n%s", args, x.text())
		}
	}
}
