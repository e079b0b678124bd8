package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/protocol"
	"waggle/spawn"
)

// TestDownKeepsForeign: a member's mark in the environment of a process does not make the
// process the member's. The user's own window, in a tmux server whose environment has the
// mark, and a process that the user's shell runs with it, outlive stop, down and gc, which
// report pid and program. A process that the member itself has left behind is ended.
func TestDownKeepsForeign(t *testing.T) {
	t.Parallel()
	tmux := testenv.Require(t, "tmux")
	h := newTeam(t, "shared", `
team: shared
policy: {allow: [Bash]}
members: [{name: ann, agent: exec, backend: process}, {name: bob, agent: exec, backend: process}]
`)
	h.must("task", "add", "leave", "--owner", "ann", "--instructions", "setsid sleep 301 >/dev/null 2>&1 & echo $! > left.pid; sleep 302", "--team", "shared")
	o := h.operator()
	s, err := o.Open(t.Context(), "shared", operator.Act)
	testenv.Must(t, err)
	known := map[string]spawn.Identity{}
	note := func(name, pid string) {
		t.Helper()
		n, err := strconv.Atoi(strings.TrimSpace(pid))
		testenv.Must(t, err)
		if known[name], err = spawn.Identify(n); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(h.dir, "user")
	at := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tmux, append([]string{"-f", os.DevNull, "-S", socket}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	at("new-session", "-d", "-s", "mine", "sleep", "303")
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() })
	for _, name := range []string{"ann", "bob"} {
		m, ok := s.Lead.Member(protocol.MemberName(name))
		if !ok {
			t.Fatalf("no %s", name)
		}
		mark := filepath.Base(s.Dir.Path) + "/" + string(m.Instance)
		at("set-environment", "-g", spawn.MemberVar, mark)
		note("window "+name, at("new-window", "-d", "-P", "-F", "#{pane_pid}", "sleep", "304"))
		sh := exec.Command("sh", "-c", fmt.Sprintf("%s sh -c 'sleep 305 & echo $!; wait' & wait", spawn.MemberMark(mark)))
		out, err := sh.StdoutPipe()
		if err == nil {
			err = sh.Start()
		}
		testenv.Must(t, err)
		t.Cleanup(func() { _ = sh.Process.Kill(); _ = sh.Wait() })
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil {
			t.Fatal(err)
		}
		note("shell "+name, strconv.Itoa(pid))
		id := known["shell "+name]
		t.Cleanup(func() { _, _ = spawn.StopTree(context.WithoutCancel(t.Context()), id, spawn.Grace{}) })
	}
	var left string
	testenv.Eventually(t, "ann has left something", func() bool {
		b, err := os.ReadFile(filepath.Join(h.work, "left.pid"))
		left = strings.TrimSpace(string(b))
		return err == nil && left != ""
	})
	note("left", left)
	own := known["left"]
	delete(known, "left")
	says := func(when, said string, names ...string) {
		t.Helper()
		for name, id := range known {
			if !id.Alive() {
				t.Fatalf("%s ended %s", when, name)
			}
		}
		for _, name := range names {
			if want := fmt.Sprintf("pid %d (sleep 30", known[name].PID); !strings.Contains(said, want) {
				t.Errorf("%s does not say %q:\n%s", when, want, said)
			}
		}
	}
	_, said, _ := h.waggle("stop", "bob", "--force", "--team", "shared")
	says("stop", said, "window bob", "shell bob")
	_, said, _ = h.waggle("down", "shared", "--force")
	says("down", said, "window ann", "shell ann")
	if own.Alive() {
		t.Errorf("what ann left behind, %d, runs on", own.PID)
	}
	out, said, code := h.waggle("gc", "--yes")
	says("gc", out+said, "window ann", "shell ann", "window bob", "shell bob")
	if code != 0 {
		t.Errorf("gc: code %d\n%s", code, said)
	}
}

// TestSweepSays: down ends a process that a killed worker left in another session. down
// reports the pid and command of the process, or the leader's log has them.
func TestSweepSays(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "swept", `
team: swept
policy: {allow: [Bash]}
members: [{name: ann, agent: exec, backend: process, restart: never}]
`)
	h.must("task", "add", "leave", "--owner", "ann", "--instructions", "setsid sleep 301 >/dev/null 2>&1 & echo $! > left.tmp; mv left.tmp left.pid; sleep 302", "--team", "swept")
	id := h.process("left.pid")
	st := h.status("swept")
	worker, err := os.FindProcess(st.Members[0].PID)
	testenv.Must(t, err)
	testenv.Must(t, worker.Kill())
	testenv.Eventually(t, "the death is on record", func() bool {
		return h.status("swept").Members[0].State == "died" || h.status("swept").Members[0].State == "dead"
	})
	out, _, _ := h.waggle("gc", "--json")
	if want := `"argv": "sleep 301"`; !strings.Contains(out, want) {
		t.Errorf("gc does not list %s:\n%s", want, out)
	}
	_, said, _ := h.waggle("down", "swept")
	o := h.operator()
	known, err := o.Home.Find(o.RootURL, "swept")
	testenv.Must(t, err)
	log := readFile(t, filepath.Join(known[0].Path, "leader.log"))
	said += string(log)
	if want := fmt.Sprintf("pid %d (sleep 301)", id.PID); !strings.Contains(said, want) || id.Alive() {
		t.Errorf("down does not say %q; it runs: %v\n%s", want, id.Alive(), said)
	}
}
