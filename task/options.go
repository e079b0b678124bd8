package task

import (
	"time"

	"waggle/internal/fs/atomicfile"
)

// Options are the settings of a list. The zero value works.
type Options struct {
	Deadline time.Duration // of each lock; 0: 5 s
	Stale    time.Duration // age of another program's lock that counts as abandoned; 0: 10 s
	// Queue is a private directory for the queue files of the list's locks; "": they are beside the
	// tasks. team.Root.Queue returns it.
	Queue string
	Now   func() time.Time // nil: time.Now
	// Hook is called with a step's name between the file operations of an edit, and with "torn" when a
	// read found the file broken; for tests that stop or kill the process there.
	Hook func(step string)
}

// LockedError reports a list or a task that another process holds (exit code 8).
type LockedError = atomicfile.LockedError

// Errors of a task's file.
var (
	// ErrNotRegular refuses a link, a FIFO, a device or a directory where a file is expected.
	ErrNotRegular = atomicfile.ErrNotRegular
	// ErrTooLarge refuses a file over 16 MiB.
	ErrTooLarge = atomicfile.ErrTooLarge
)

// file is how the files of a list are edited.
func (o Options) file() atomicfile.Options {
	return atomicfile.Options{Deadline: o.Deadline, Stale: o.Stale, MaxSize: maxTask, Perm: 0o600,
		Queue: o.Queue, Now: o.Now, Hook: o.Hook}
}
