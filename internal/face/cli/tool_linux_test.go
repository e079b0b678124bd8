package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/process"
	"waggle/spawn"
)

// orphaned brings up a member whose command starts a process without an environment,
// kills the member's process, and returns the team's home and that process.
func orphaned(t *testing.T, team, restart string) (*homeTree, spawn.Identity) {
	t.Helper()
	h := newHome(t, "waggle")
	h.write("tool.sh", "env -i sleep 307 >/dev/null 2>&1 & echo $! > tool.tmp; mv tool.tmp tool.pid; wait\n")
	h.must("up", h.write(team+".yaml", fmt.Sprintf(`
team: %s
policy: {allow: [Bash]}
members: [{name: ann, agent: exec, backend: process, restart: %s}]
`, team, restart)), "--detach", "--quiet")
	h.must("task", "add", "tool", "--owner", "ann", "--instructions", "sh tool.sh", "--team", team)
	id := h.process("tool.pid")
	h.ends(team, id)
	worker, err := os.FindProcess(h.status(team).Members[0].PID)
	if err == nil {
		err = worker.Kill()
	}
	testenv.Must(t, err)
	return h, id
}

// process waits for a process that a member has started, and whose id is in a file.
func (h *homeTree) process(file string) spawn.Identity {
	h.t.Helper()
	var pid int
	testenv.Eventually(h.t, file, func() bool {
		b, err := os.ReadFile(filepath.Join(h.work, file))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	id := identify(h.t, pid)
	return id
}

// TestToolEndsBeforeRestart: a process of a crashed worker's command, even one without an
// environment, is ended by its recorded group before the member starts again.
func TestToolEndsBeforeRestart(t *testing.T) {
	t.Parallel()
	h, id := orphaned(t, "again", "{policy: on-failure, backoff: 50ms}")
	testenv.Eventually(t, "ann has started again", func() bool {
		m := h.status("again").Members[0]
		return m.Ready != nil && m.Restarts == 1
	})
	if id.Alive() {
		t.Errorf("process %d of the worker before runs beside the one after", id.PID)
	}
}

// TestToolIsShown: while a process of a dead worker's command lives, and the member is not
// started again, status, why and gc show it; task-status.json says that the member has died.
func TestToolIsShown(t *testing.T) {
	t.Parallel()
	h, id := orphaned(t, "shown", "never")
	shown := fmt.Sprintf("pid %d (sleep 307)", id.PID)
	testenv.Eventually(t, "the death is on record", func() bool { return h.status("shown").Members[0].Evidence.Died != nil })
	if !id.Alive() {
		t.Fatal("it was ended")
	}
	for _, args := range [][]string{{"status", "--team", "shown", "--json"}, {"why", "ann", "--team", "shown"}} {
		if out := h.must(args...); !strings.Contains(out, shown) {
			t.Errorf("%q does not show %s:\n%s", args, shown, out)
		}
	}
	if out := h.must("gc"); !strings.Contains(out, strconv.Itoa(id.PID)) {
		t.Errorf("gc does not list it:\n%s", out)
	}
	testenv.Eventually(t, "task-status.json says that it has died", func() bool {
		b, err := os.ReadFile(filepath.Join(h.operator().Root.MemberDir("shown", "ann"), "task-status.json"))
		return err == nil && strings.Contains(string(b), `"error"`)
	})
	var found struct {
		Unseen []process.Unseen `json:"unseen"`
	}
	want, times := []process.Unseen{{Team: "shown", Member: "ann"}}, 1
	if ownGroups() { // gc sees all processes that the member started
		want, times = nil, 0
	}
	if err := json.Unmarshal([]byte(h.must("gc", "--json")), &found); err != nil || !slices.Equal(found.Unseen, want) {
		t.Errorf("gc --json says of what it cannot see: %+v, %v", found, err)
	}
	if _, said, _ := h.waggle("gc", "--yes"); strings.Count(said, "cannot be seen: what commands of ann@shown started") != times {
		t.Errorf("gc does not say once what it cannot see:\n%s", said)
	}
	if id.Alive() {
		t.Errorf("gc has left process %d", id.PID)
	}
}
