package relay

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// apply lowers this process's own limits, which the command inherits. It raises no limit, and
// disables core dumps. A process gets SIGXCPU at its limit of processor time, which tells why it ends, and SIGKILL
// a second later.
func (l Limits) apply() error {
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	for _, r := range []struct {
		name     string
		resource int
		value    uint64
		set      bool
		more     uint64 // until the hard limit
	}{
		{"core size", unix.RLIMIT_CORE, 0, true, 0},
		{"processor time", unix.RLIMIT_CPU, seconds, seconds > 0, 1},
		{"data size", unix.RLIMIT_DATA, l.Memory, l.Memory > 0, 0},
		{"processes", unix.RLIMIT_NPROC, l.Processes, l.Processes > 0, 0},
		{"open files", unix.RLIMIT_NOFILE, l.Files, l.Files > 0, 0},
		{"file size", unix.RLIMIT_FSIZE, l.FileSize, l.FileSize > 0, 0},
	} {
		if !r.set {
			continue
		}
		if err := lower(r.resource, r.value, r.more); err != nil {
			return fmt.Errorf("limit the %s to %d: %w", r.name, r.value, err)
		}
	}
	return nil
}

func lower(resource int, value, more uint64) error {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(resource, &old); err != nil {
		return err
	}
	// syscall, not x/sys: it forgets the limit of open files that Go would restore.
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(value, old.Max), Max: min(value+more, old.Max)})
}
