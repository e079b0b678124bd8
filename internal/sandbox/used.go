package sandbox

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Used reads what the kernel has counted of the limits of one call, while it runs and when it has ended.
// The zero value is ready. It is safe for concurrent use.
type Used struct {
	mu    sync.Mutex
	group group
	last  Usage
}

// Usage is how often limits were met, and the processor time that is known.
type Usage struct {
	Killed  uint64        // processes that the kernel has ended because the memory of the group was at its limit
	Refused uint64        // processes that were not started because the group had its most
	CPU     time.Duration // of all processes that have ended and were waited for; 0: not known yet
}

// Look reads the counts.
func (u *Used) Look() Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.read()
	return u.last
}

// begin attaches it to the groups of a call.
func (u *Used) begin(g group) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.group, u.last = g, Usage{}
}

// end keeps the last counts: the groups are removed next.
func (u *Used) end(cpu time.Duration) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.read()
	u.group, u.last.CPU = nil, cpu
}

// read reads the counts of the groups. The caller holds mu.
func (u *Used) read() {
	for _, dir := range u.group {
		// The kernel counts there what any lack of memory has ended, the machine's too: only with the group at
		// its limit was it the limit.
		switch {
		case counted(dir, "memory.events", "oom") > 0:
			u.last.Killed = counted(dir, "memory.events", "oom_kill")
		case counted(dir, "memory.failcnt", "") > 0: // version 1
			u.last.Killed = counted(dir, "memory.oom_control", "oom_kill")
		}
		u.last.Refused = max(u.last.Refused, counted(dir, "pids.events", "max"))
	}
}

// counted is a number of a file of a group, that of a line "NAME NUMBER", or the only one; 0 where there is none.
func counted(dir, file, name string) uint64 {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0 // another version, or without that controller
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 1 && name == "" || len(f) == 2 && f[0] == name {
			n, err := strconv.ParseUint(f[len(f)-1], 10, 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}
