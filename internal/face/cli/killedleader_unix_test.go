//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/face/view"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// leaderOf is the process that leads a team, by what status says.
func (h *homeTree) leaderOf(team string) spawn.Identity {
	h.t.Helper()
	return identify(h.t, h.status(team).Leader.PID)
}

// TestResumeAfterKill: resume right after kill -9 of the leader ends with 0 only when a living process leads, however
// much of the killed one is left: its threads, its lease, its socket.
func TestResumeAfterKill(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "killed", "team: killed\nmembers: [{name: ann, agent: exec, backend: process}, {name: ben, agent: exec, backend: process}]\n")
	delays := []time.Duration{0, 0, 0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}
	for i := range testenv.Scale(30, 300) {
		was := h.leaderOf("killed")
		testenv.Must(t, syscall.Kill(was.PID, syscall.SIGKILL))
		time.Sleep(delays[i%len(delays)]) // real clock: the kernel's, which takes the process apart
		out, say, code := h.waggle("resume", "killed", "-d")
		if code != 0 {
			t.Fatalf("round %d: exit %d: %s%s", i, code, out, say)
		}
		if now := h.leaderOf("killed"); now == was || !now.Alive() {
			t.Fatalf("round %d: resume ended with 0, and %+v leads: %s%s", i, now, out, say)
		}
	}
}

// stoppedLeader is a home with a team of one member, ann, whose leader is stopped until the end of the test.
func stoppedLeader(t *testing.T, team string) (*homeTree, spawn.Identity) {
	t.Helper()
	h := newTeam(t, team, "team: "+team+"\nmembers: [{name: ann, agent: exec, backend: process}]\n")
	leader := h.leaderOf(team)
	testenv.Must(t, syscall.Kill(leader.PID, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(leader.PID, syscall.SIGCONT) })
	return h, leader
}

// TestResumeBesideAStoppedLeader: a process that leads and is stopped cannot answer, so resume does not end with 0.
func TestResumeBesideAStoppedLeader(t *testing.T) {
	t.Parallel()
	h, leader := stoppedLeader(t, "frozen")
	if out, say, code := h.waggle("resume", "frozen", "-d"); code != 8 {
		t.Errorf("exit %d: %s%s", code, out, say)
	}
	testenv.Must(t, syscall.Kill(leader.PID, syscall.SIGCONT))
	h.must("resume", "frozen", "-d")
}

// TestAnswerBesideAStoppedLeader: what a member asks while the process that leads is stopped is shown and named by status,
// pending, show and why, its answer is recorded and reported as not delivered, and the call runs once.
func TestAnswerBesideAStoppedLeader(t *testing.T) {
	t.Parallel()
	h, leader := stoppedLeader(t, "stopped")
	h.must("task", "add", "a", "-i", "echo ran >>ran", "--owner", "ann", "--team", "stopped")
	var st *view.StatusDocument
	testenv.Eventually(t, "status has the request", func() bool { st = h.status("stopped"); return len(st.Leader.Untaken) == 1 })
	handle, id, _ := strings.Cut(st.Leader.Untaken[0], " ")
	for _, c := range []struct{ want, args string }{
		{id, "status"}, {"kill -CONT", "status"}, {handle, "status"}, {handle, "pending"}, {"echo ran", "show " + id}, {handle, "why ann"}, {"echo ran", "recap stopped"},
	} {
		if out := h.must(append(strings.Fields(c.args), "--team", "stopped")...); !strings.Contains(out, c.want) {
			t.Errorf("%s lacks %q:\n%s", c.args, c.want, out)
		}
	}
	if out := h.must("approve", id, "--team", "stopped"); !strings.Contains(out, "allow, decided, not yet delivered") || !strings.Contains(out, "is stopped") {
		t.Errorf("approve: %s", out)
	}
	if out := h.must("approve", handle, "--team", "stopped"); !strings.Contains(out, "allow already") {
		t.Errorf("approve again: %s", out)
	}
	testenv.Must(t, syscall.Kill(leader.PID, syscall.SIGCONT))
	testenv.Eventually(t, "the call has run", func() bool {
		return strings.Contains(h.must("log", "ann", "--team", "stopped", "--kind", "finished"), "finished")
	})
	if b, err := os.ReadFile(filepath.Join(h.work, "ran")); string(b) != "ran\n" {
		t.Errorf("it ran as %q, %v", b, err)
	}
	if out := h.must("audit", "verify", "--team", "stopped"); strings.Contains(out, "broken") {
		t.Error(out)
	}
}
