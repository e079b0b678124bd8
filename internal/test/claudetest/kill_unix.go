//go:build unix

package claudetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

// Until is testenv.Eventually with Patience; never says what did not come.
func Until(t testing.TB, never func() string, cond func() bool) {
	t.Helper()
	if !testenv.WaitFor(Patience, cond) {
		t.Fatalf("after %v: %s", Patience, never())
	}
}

// Kill ends the tmux server, so its panes, and then the processes that are left.
func (h *Home) Kill() {
	h.t.Helper()
	groups := h.paneGroups()
	if _, err := os.Stat(h.socket); err == nil {
		_ = h.Command("tmux", "-S", h.socket, "kill-server").Run()
	}
	for _, pgid := range groups {
		_ = syscall.Kill(-pgid, syscall.SIGKILL)
	}
	// Hooks, commands and servers may have left their groups. A process may have started another one
	// before it was killed, so look again until there is none.
	deadline := time.Now().Add(Patience)
	for pids := h.Processes(); len(pids) > 0; pids = h.Processes() {
		for _, pid := range pids {
			h.kill(pid)
		}
		if time.Now().After(deadline) {
			h.t.Errorf("processes %d of the client stay", pids)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// kill ends a process of this home. It is held while it is looked at again: its number may be
// another's by now.
func (h *Home) kill(pid int) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer p.Release()
	if h.started(pid) {
		_ = p.Kill()
	}
}

// started reports whether a process was started in this home.
func (h *Home) started(pid int) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")) // empty for a zombie
	mark := []byte(markName + "=" + h.Root + "\x00")
	return err == nil && (bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...)))
}

// Processes lists the processes that were started in this home. Only Linux lists them; elsewhere the
// groups of the panes must do.
func (h *Home) Processes() []int {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, file := range environs {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() && h.started(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
