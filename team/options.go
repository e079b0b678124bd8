package team

import (
	"time"

	"waggle/internal/fs/atomicfile"
)

// Options are the settings of an open registry. The zero value works.
type Options struct {
	Deadline time.Duration    // of one operation, with the wait for its lock; 0: 5 s
	Stale    time.Duration    // age of another program's lock that counts as abandoned; 0: 10 s
	Now      func() time.Time // nil: time.Now
	// Hook is called with a step's name between the file operations of an edit, and with "torn" when a
	// read found the file broken; for tests that stop or kill the process there.
	Hook func(step string)
}

// LockedError reports a registry that another process holds (exit code 8).
type LockedError = atomicfile.LockedError

// Errors of a registry's file.
var (
	// ErrNotRegular refuses a link, a FIFO, a device or a directory where a file is expected.
	ErrNotRegular = atomicfile.ErrNotRegular
	// ErrTooLarge refuses a config.json of more than 16 MiB.
	ErrTooLarge = atomicfile.ErrTooLarge
)

// file is how a team's config.json is edited.
func (o Options) file(queue string) atomicfile.Options {
	return atomicfile.Options{Rank: atomicfile.RankConfig, Deadline: o.Deadline, Stale: o.Stale, MaxSize: maxConfig, Perm: 0o600,
		Queue: queue, Now: o.Now, Hook: o.Hook}
}
