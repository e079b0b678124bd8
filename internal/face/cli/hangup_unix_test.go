//go:build unix

package cli_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/test/testenv"
)

// TestHangupDetaches: when the terminal of a foreground up goes away, a process in the
// background leads, the members go on, and down ends the team.
func TestHangupDetaches(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("hangups are ignored here, as nohup does: nothing hears of them")
	}
	h := newHome(t, "waggle")
	h.ends("hung")
	cmd := h.command("up", h.write("hung.yaml", "team: hung\nmembers: [{name: ann, agent: exec, backend: process}]\n"))
	out, err := os.Create(filepath.Join(h.dir, "said"))
	testenv.Must(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.Must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	testenv.Eventually(t, "it is up", func() bool {
		o, _, code := h.waggle("status", "--team", "hung", "--json")
		var st view.StatusDocument
		return code == 0 && testenv.Decode([]byte(o), &st) == nil && len(st.Members) == 1 && st.Members[0].Ready != nil
	})
	before := h.status("hung")
	if before.Leader.PID != cmd.Process.Pid {
		t.Fatalf("led by %+v", before.Leader)
	}
	// As the kernel does: the whole foreground process group gets the signal.
	testenv.Must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP))
	if err := <-ended; err != nil {
		b, _ := os.ReadFile(out.Name())
		t.Fatalf("up ended with %v\n%s", err, b)
	}
	after := h.status("hung")
	if after.Leader.PID == 0 || after.Leader.PID == cmd.Process.Pid || after.Members[0].PID != before.Members[0].PID {
		t.Errorf("led by %+v; %+v", after.Leader, after.Members[0])
	}
	// A SIGHUP does not end the leading process in the background either.
	testenv.Must(t, syscall.Kill(after.Leader.PID, syscall.SIGHUP))
	h.must("down", "hung")
}

// onOwnTerminal is a command of a home on a terminal, at the question that it asks there.
func (h *homeTree) onOwnTerminal(args ...string) *terminal {
	h.t.Helper()
	if signal.Ignored(syscall.SIGHUP) {
		h.t.Skip("hangups are ignored here, as nohup does: nothing hears of them")
	}
	cmd := h.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "TMPDIR="+h.work)
	x := startTerminal(h.t, cmd)
	x.wait("allow it?")
	return x
}

const askingTeam = "team: hung\nmembers: [{name: ann, agent: exec, backend: process}]\ntasks: [{subject: s, owner: ann, instructions: touch made}]\n"

// TestTerminalClosesAtQuestion: a terminal that closes while up asks on it takes away neither the team
// nor the question: it is led from the background, and answered from another terminal.
func TestTerminalClosesAtQuestion(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("hung")
	x := h.onOwnTerminal("up", h.write("hung.yaml", askingTeam))
	before := h.status("hung")
	x.closes()
	if code := x.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, x.text())
	}
	after := h.status("hung")
	if after.Leader.PID == 0 || after.Leader.PID == before.Leader.PID || after.Members[0].PID != before.Members[0].PID {
		t.Errorf("led by %+v; %+v", after.Leader, after.Members[0])
	}
	h.must("approve", h.asked("touch made", ""))
	testenv.Eventually(t, "what was allowed is done", func() bool { return exists(h.work, "made") })
	h.must("down", "hung")
}

// TestTerminalClosesAtRun: a run and a demo whose terminal closes end as by Ctrl-C, and leave nothing behind.
func TestTerminalClosesAtRun(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "demo"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "waggle")
			args := []string{command}
			if command == "run" {
				args = append(args, h.write("hung.yaml", askingTeam))
			}
			x := h.onOwnTerminal(args...)
			x.closes()
			_ = x.exit() // nobody reads the code
			if left, err := filepath.Glob(filepath.Join(h.work, "waggle-demo-*")); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
			if left := testenv.Processes(h.dir); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}
