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
)

// until polls what another program shows and never announces.
func until(t testing.TB, never func() string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", Patience, never())
		}
	}
}

// Kill ends the tmux server, so its panes, and then whatever is left.
func (h *Home) Kill() {
	h.t.Helper()
	groups := h.paneGroups()
	if _, err := os.Stat(h.socket); err == nil {
		_ = h.Command("tmux", "-S", h.socket, "kill-server").Run()
	}
	for _, pgid := range groups {
		_ = syscall.Kill(-pgid, syscall.SIGKILL)
	}
	// Hooks, commands and servers may have left their groups. What is killed may
	// have started another process meanwhile, so look again until there is none.
	deadline := time.Now().Add(Patience)
	for pids := h.Processes(); len(pids) > 0; pids = h.Processes() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(deadline) {
			h.t.Errorf("processes %d of the client stay", pids)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Processes lists the processes that were started in this home. Only Linux can tell;
// elsewhere the groups of the panes must do.
func (h *Home) Processes() []int {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, file := range environs {
		env, err := os.ReadFile(file) // empty for a zombie
		if err != nil {
			continue
		}
		mark := []byte(markName + "=" + h.Root + "\x00")
		if !bytes.HasPrefix(env, mark) && !bytes.Contains(env, append([]byte{0}, mark...)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}
