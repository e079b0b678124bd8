//go:build unix

package spawn_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"waggle/spawn"
)

// TestGroupOf: a process that leads a group is the group; when it is gone there is none. A start
// that is no number is an error, and not a group that is gone: nobody may act on it.
func TestGroupOf(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	id, err := spawn.Identify(cmd.Process.Pid)
	if err != nil {
		t.Error(err)
	}
	group, err := spawn.GroupOf(id)
	if err != nil || len(group) != 1 || group[0] != id {
		t.Errorf("%v, %v; want %v", group, err, id)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	if group, err := spawn.GroupOf(id); err != nil || len(group) != 0 {
		t.Errorf("gone: %v, %v", group, err)
	}
	id.Start = "soon"
	if group, err := spawn.GroupOf(id); err == nil || len(group) != 0 || !strings.Contains(err.Error(), "start time of process") {
		t.Errorf("a start that is none: %v, %v", group, err)
	}
}
