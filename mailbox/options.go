package mailbox

import (
	"time"

	"waggle/internal/fs/atomicfile"
)

// Options are a mailbox's settings. The zero value works.
type Options struct {
	Retention Retention
	Limits    Limits  // limits of Append; the zero value sets none
	Archive   Archive // where read entries go when they are many
	// Report is told what was repaired: a corrupt file whose bad bytes were
	// quarantined, a foreign edit that could not be merged. It is called without
	// any lock. May be nil.
	Report func(Report)
	// Unmended: a broken file is read as far as it can be, reported, and left as it is, for
	// who only looks. Otherwise who reads it mends it.
	Unmended bool

	Deadline time.Duration // of one operation, with the wait for its lock; 0: 5 s
	Stale    time.Duration // age of another program's lock that counts as abandoned; 0: 10 s
	MaxSize  int64         // a larger file is neither read nor written; 0: 256 MiB
	// Queue is a private directory for the queue file of the mailbox's lock; "": the file is beside
	// the mailbox. Boxes of a team set it.
	Queue string
	Now   func() time.Time // nil: time.Now
	// Hook is called with a step's name between the file operations of an edit, and with "torn" when a
	// read found the file broken and reads it again; for tests that stop or kill the process there.
	Hook func(step string)

	sync atomicfile.Sync // the tests set these two
	tier atomicfile.Tier
}

// file is how the mailbox's file is edited.
func (o Options) file() atomicfile.Options {
	return atomicfile.Options{Rank: atomicfile.RankInbox, Deadline: o.Deadline, Stale: o.Stale, MaxSize: o.MaxSize,
		Sync: o.sync, Tier: o.tier, Queue: o.Queue, Now: o.Now, Hook: o.Hook}
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}
