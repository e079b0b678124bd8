package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"

	"golang.org/x/sys/unix"
)

// limit sets how many descriptors a living process may have, and returns what it could
// have before.
func limit(t *testing.T, pid int, most uint64) (before uint64) {
	t.Helper()
	var old unix.Rlimit
	testenv.Must(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old))
	testenv.Must(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: old.Max}, nil))
	return old.Cur
}

// TestFewDescriptors: the leader of a team of processes may have 28 descriptors, then none
// beyond those that it has, while tasks and words come and a member's process is killed.
// The leader goes on. When it may have more descriptors, each task that was taken is done
// once, the member runs again, and a start that failed for lack of descriptors does not count.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "few", "team: few\npolicy: {allow: [Bash]}\nmembers: [{name: ann, agent: exec}, {name: bob, agent: exec, restart: {most: 1, backoff: 100ms}}]\n")
	leader := h.status("few").Leader.PID
	taken := map[string]bool{}
	give := func(id string) {
		for _, who := range []string{"ann", "bob"} {
			_, _, code := h.waggle("task", "add", "work "+id, "--owner", who, "--instructions", "echo "+id+who+" >> "+filepath.Join(h.work, "ran"), "--team", "few")
			taken[id+who] = code == 0
		}
		h.waggle("send", "ann", "word "+id, "--team", "few")
	}
	was := limit(t, leader, 28)
	give("28")
	testenv.Eventually(t, "28 descriptors are enough", func() bool {
		b, _ := os.ReadFile(filepath.Join(h.work, "ran"))
		return strings.Contains(string(b), "28ann") && strings.Contains(string(b), "28bob")
	})
	limit(t, leader, 3)
	give("3")
	bob := h.status("few").Members[1]
	testenv.Must(t, syscall.Kill(bob.PID, syscall.SIGKILL))
	give("later")
	if out, _, code := h.waggle("status", "few"); code != 0 || !strings.Contains(out, "ann") {
		t.Errorf("status: code %d\n%s", code, out)
	}
	if st := h.status("few"); st.Leader.PID != leader || !st.Leader.Led {
		t.Fatalf("leader %+v, it was %d", st.Leader, leader)
	}
	limit(t, leader, was)
	testenv.Eventually(t, "all that was taken is done", func() bool {
		b, _ := os.ReadFile(filepath.Join(h.work, "ran"))
		for id, ok := range taken {
			if ok && !strings.Contains(string(b), id+"\n") {
				return false
			}
		}
		return true
	})
	testenv.Eventually(t, "bob is there again", func() bool {
		m := h.status("few").Members[1]
		return m.PID != 0 && m.PID != bob.PID && m.Ready != nil
	})
	b, _ := os.ReadFile(filepath.Join(h.work, "ran"))
	for _, id := range strings.Fields(string(b)) {
		if n := strings.Count("\n"+string(b), "\n"+id+"\n"); n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	if st := h.status("few"); st.Leader.PID != leader || st.Members[1].Restarts != 1 {
		t.Errorf("leader %d, was %d; bob started again %d times", st.Leader.PID, leader, st.Members[1].Restarts)
	}
	h.must("audit", "verify", "few")
	h.must("down", "few")
}
