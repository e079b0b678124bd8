package ask_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waggle/internal/face/ask"
	"waggle/internal/test/testenv"
)

// TestMain is also a program that asks one question and writes the answer.
func TestMain(m *testing.M) {
	text := os.Getenv("ASK_TEST_QUESTION")
	if text == "" {
		testenv.Overlap(1)
		os.Exit(m.Run())
	}
	x, err := ask.New(os.Stdin, os.Stderr, ask.Options{})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	defer x.Close()
	q := low
	q.Handle, q.Text = text, text
	a, err := x.Ask(context.Background(), q)
	x.Close()
	fmt.Fprintf(os.Stdout, "%s: allow %v, %v\n", text, a.Allow, err)
}

// program starts a process that asks on the terminal; it is at the end of answer that it
// has ended.
func (r *rig) program(text string, leader bool) (pid int, answer func() string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "ASK_TEST_QUESTION="+text)
	cmd.Stdin, cmd.Stderr = r.tty, r.tty
	if leader {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	var out strings.Builder
	cmd.Stdout = &out
	testenv.Must(r.t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	r.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	return cmd.Process.Pid, func() string {
		r.t.Helper()
		select {
		case <-ended:
			return out.String()
		case <-time.After(20 * time.Second):
			r.t.Fatalf("%s did not end: %q", text, r.text())
			return ""
		}
	}
}

func (r *rig) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.String()
}

func (r *rig) press(keys string) {
	r.t.Helper()
	if _, err := r.far.WriteString(keys); err != nil {
		r.t.Fatal(err)
	}
}

// waits waits until a text was shown n times.
func (r *rig) waits(text string, n int) {
	r.t.Helper()
	deadline := time.After(20 * time.Second)
	for strings.Count(r.text(), text) < n {
		select {
		case <-r.more:
		case <-deadline:
			r.t.Fatalf("the terminal did not show %q %d times: %q", text, n, r.text())
		}
	}
}

// allows presses a until the question is answered: on a busy machine the keys may count later than the
// test expects.
func (r *rig) allows() {
	r.t.Helper()
	was := strings.Count(r.text(), "allowed once")
	for range 10 {
		<-time.After(ask.Stand + 100*time.Millisecond)
		r.press("a")
		for deadline := time.After(ask.Stand * 2); strings.Count(r.text(), "allowed once") == was; {
			select {
			case <-r.more:
				continue
			case <-deadline:
			}
			break
		}
		if strings.Count(r.text(), "allowed once") > was {
			return
		}
	}
	r.t.Fatalf("the key never answered: %q", r.text())
}

// TestTwoProcesses: of two processes on one terminal one asks, and the other waits until the first has
// ended: a key typed for one cannot reach the other. Repair does not disturb the process that lives.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := *r.modes()
	_, one := r.program("FIRST", false)
	r.wait("allow it?")
	asking := *r.modes()
	testenv.Must(t, ask.Repair(r.tty, r.tty, nil))
	if after := *r.modes(); after != asking {
		t.Error("Repair took the terminal from a process that asks")
	}
	_, two := r.program("SECOND", false)
	r.wait("SECOND waits for an answer, and another waggle asks on this terminal")
	if n := strings.Count(r.text(), "allow it?"); n != 1 {
		t.Fatalf("%d questions stand: %q", n, r.text())
	}
	r.allows()
	if got := one(); got != "FIRST: allow true, <nil>\n" {
		t.Errorf("the first has %q", got)
	}
	r.waits("allow it?", 2)
	r.allows()
	if got := two(); got != "SECOND: allow true, <nil>\n" {
		t.Errorf("the second has %q", got)
	}
	r.restored(before)
}

// stopped waits until a process is stopped.
func stopped(t *testing.T, pid int) {
	t.Helper()
	var stat []byte
	testenv.Eventually(t, fmt.Sprintf("process %d is stopped", pid), func() bool {
		var err error
		if stat, err = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(string(stat), ") ")
		return ok && strings.HasPrefix(rest, "T")
	}, func() string { return string(stat) })
}

// TestTypedWhileStopped: input that is typed while a process is stopped by SIGSTOP, where no shell
// takes the terminal back, is dropped, also one key; the question is asked anew.
func TestTypedWhileStopped(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, wait := range []time.Duration{0, ask.Stand * 2} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			pid, answer := r.program("FIRST", false)
			r.wait("allow it?")
			<-time.After(ask.Stand + 200*time.Millisecond) // keys count
			testenv.Must(t, syscall.Kill(pid, syscall.SIGSTOP))
			stopped(t, pid)
			r.press("a")
			<-time.After(wait)
			testenv.Must(t, syscall.Kill(pid, syscall.SIGCONT))
			r.waits("allow it?", 2)
			if strings.Contains(r.text(), "allowed once") {
				t.Fatalf("a key from while it was stopped answered: %q", r.text())
			}
			r.allows()
			if got := answer(); got != "FIRST: allow true, <nil>\n" {
				t.Errorf("it has %q", got)
			}
		})
	}
}

// TestNobodyToContinue: Ctrl-Z does not stop a process that leads the terminal's session, because no
// shell could continue it. The process asks anew.
func TestNobodyToContinue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, answer := r.program("FIRST", true)
	r.wait("allow it?")
	r.press("\x1a")
	r.waits("allow it?", 2)
	r.allows()
	if got := answer(); got != "FIRST: allow true, <nil>\n" {
		t.Errorf("it has %q", got)
	}
}

// TestHangup: a terminal that goes away gives no answer, and the process uses no processor time.
func TestHangup(t *testing.T) {
	r := newRig(t)
	x := r.open()
	defer x.Close()
	asked := make(chan error, 2)
	for range 2 {
		go func() {
			a, err := x.Ask(t.Context(), low)
			if a != (ask.Answer{}) {
				err = fmt.Errorf("it answered %+v", a)
			}
			asked <- err
		}()
	}
	r.wait("allow it?") // the other waits behind it, or is about to
	r.far.Close()
	for range 2 {
		if err := <-asked; err == nil || !strings.Contains(err.Error(), "the terminal is gone") {
			t.Errorf("the terminal is gone: %v", err)
		}
	}
	was := used(t)
	<-time.After(300 * time.Millisecond) // it would spin now
	if d := used(t) - was; d > 100*time.Millisecond {
		t.Errorf("300 ms without a terminal took %s of the processor", d)
	}
}

func used(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	testenv.Must(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTwoTerminals: a process that reads one terminal and writes to another does not ask.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	a, b := newRig(t), newRig(t)
	if _, err := ask.New(a.tty, b.tty, ask.Options{}); err == nil || errors.Is(err, ask.ErrUnsupported) {
		t.Errorf("a question on one terminal would be answered on another: %v", err)
	}
}
