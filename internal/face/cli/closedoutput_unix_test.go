//go:build unix

package cli_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
)

// unread is a pipe that nobody reads.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	testenv.Must(t, err)
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

const pipedTeam = `team: piped
policy: {mode: bypassPermissions}
sandbox: {mode: off}
members: [{name: ann, agent: exec}]
tasks: [{subject: s, owner: ann, instructions: "yes | head -n 1 && touch done"}]
`

// TestClosedOutput: a run whose output and messages nobody reads does its tasks, ends its team and writes
// its report; its code is that of the run. A member's commands end by SIGPIPE as usual.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("piped")
	file := h.write("piped.yaml", pipedTeam)
	for _, format := range []string{"--json=false", "--json"} {
		_ = os.Remove(filepath.Join(h.work, "done"))
		cmd := h.command("run", file, "--headless", "--report", filepath.Join(h.dir, format[2:]), format)
		cmd.Stdout, cmd.Stderr = unread(t), unread(t)
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if r := h.report(format[2:]); len(r.Tasks) != 1 || r.Tasks[0].Status != "completed" || strings.Contains(r.Tasks[0].OutputTail, "roken pipe") {
			t.Errorf("%s: %+v", format, r)
		}
		if !exists(h.work, "done") {
			t.Error("there is no done")
		}
		if out := h.must("team", "list", "--json"); strings.Contains(out, "piped") {
			t.Errorf("left: %s", out)
		}
	}
}

// TestClosedReader: a team that is up goes on to be led when nobody reads what up writes; a command that
// follows ends with its reader, and marks nothing as read that was not shown.
func TestClosedReader(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("piped")
	up := h.command("up", h.write("piped.yaml", "team: piped\nmembers: [{name: ann, agent: exec, backend: process}]\n"))
	up.Stdout, up.Stderr = unread(t), unread(t)
	testenv.Must(t, up.Start())
	ended := make(chan error, 1)
	go func() { ended <- up.Wait() }()
	t.Cleanup(func() { _ = up.Process.Kill() })
	testenv.Eventually(t, "ann is ready", func() bool {
		_, _, code := h.waggle("status", "--team", "piped", "--json")
		return code == 0 && len(h.status("piped").Members) == 1 && h.status("piped").Members[0].Ready != nil
	})
	h.must("send", "lead", "words", "--team", "piped", "--as", "ann")
	for _, args := range [][]string{{"inbox", "--mark-read"}, {"inbox", "--mark-read", "--json"}, {"inbox", "--as-prompt", "--mark-read"}, {"inbox", "--follow", "--mark-read"},
		{"log", "--follow"}, {"log", "--follow", "--json"}, {"peek", "ann", "--follow", "--json"}, {"status", "--json"}, {"team", "export", "piped"}} {
		cmd := h.command(append(args, "--team", "piped")...)
		cmd.Stdout = unread(t)
		var said strings.Builder
		cmd.Stderr = &said
		err := cmd.Run()
		if whole := args[1] != "export"; (err == nil) != whole {
			t.Errorf("waggle %v: %v, %s", args, err, said.String())
		}
	}
	if out := h.must("inbox", "--unread", "--team", "piped"); !strings.Contains(out, "words") {
		t.Errorf("what was not shown is read: %q", out)
	}
	// A reader that ends later: the follower ends with it.
	r, w, err := os.Pipe()
	testenv.Must(t, err)
	follow := h.command("log", "--follow", "--team", "piped")
	follow.Stdout = w
	testenv.Must(t, follow.Start())
	w.Close()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	r.Close()
	if err := follow.Wait(); err != nil {
		t.Errorf("log --follow: %v", err)
	}
	testenv.Must(t, up.Process.Signal(syscall.SIGINT))
	if err := <-ended; err != nil {
		t.Errorf("up: %v", err)
	}
}

// TestClosedStreams: a run and a team come up, go on and end in order, whichever of their streams is closed, full or unread;
// an output that has no space is exit 1.
func TestClosedStreams(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("piped")
	file := h.write("piped.yaml", pipedTeam)
	for _, c := range []struct {
		streams string
		full    bool
	}{{"<&-", false}, {">&-", false}, {"2>&-", false}, {"<&- >&- 2>&-", false}, {"2>/dev/full", false}, {">/dev/full", true}, {"| true", false}, {"2>&1 | true", false}} {
		run := func(args ...string) {
			t.Helper()
			cmd := h.command("version")
			line := `"$0" "$@"`
			if pipe := strings.Index(c.streams, "|"); pipe >= 0 {
				line = `{ ` + line + ` ` + c.streams[:pipe] + `; echo $? >code; } ` + c.streams[pipe:] + `; until test -s code; do read -t 1 x <>fifo; done; read x <code; rm code; exit $x`
			} else {
				line += " " + c.streams
			}
			sh := exec.Command("bash", append([]string{"-c", line, cmd.Path}, args...)...)
			sh.Env, sh.Dir = cmd.Env, cmd.Dir
			_ = sh.Run() // its state says it
			if code := sh.ProcessState.ExitCode(); code != 0 && !(c.full && code == 1) {
				t.Errorf("waggle %v %s: exit %d", args, c.streams, code)
			}
		}
		if err := syscall.Mkfifo(filepath.Join(h.work, "fifo"), 0o600); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		run("run", file, "--headless")
		if left := testenv.Processes(h.dir); len(left) > 0 {
			t.Errorf("run %s left %v", c.streams, left)
		}
		run("up", "--detach", file)
		if leader := h.status("piped").Leader; leader.PID == 0 {
			t.Errorf("up %s: %+v", c.streams, leader)
		}
		run("notify")
		run("send", "ann", "hello", "--team", "piped")
		run("down", "piped", "--force")
		if left := testenv.Processes(h.dir); len(left) > 0 {
			t.Errorf("down %s left %v", c.streams, left)
		}
	}
}

// TestHangupOfRun: a run without a terminal that gets SIGHUP in the middle of its tasks ends its members in order, and
// writes its report.
func TestHangupOfRun(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("hangups are ignored here, as nohup does: nothing hears of them")
	}
	h := newHome(t, "waggle")
	h.ends("piped")
	cmd := h.command("run", h.write("piped.yaml", strings.Replace(pipedTeam, "yes | head -n 1 && touch done", "touch begun; sleep 600", 1)), "--headless", "--grace", "1s", "--report", filepath.Join(h.dir, "out"))
	cmd.Stdout, cmd.Stderr = unread(t), unread(t)
	testenv.Must(t, cmd.Start())
	testenv.Eventually(t, "the task has begun", func() bool { return exists(h.work, "begun") })
	testenv.Must(t, cmd.Process.Signal(syscall.SIGHUP))
	_ = cmd.Wait() // its state says it
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d", code)
	}
	if left := testenv.Processes(h.dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if r := h.report("out"); len(r.Tasks) != 1 {
		t.Errorf("%+v", r)
	}
}
