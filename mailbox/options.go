package mailbox

import (
	"time"

	"waggle/internal/atomicfile"
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
	Sync     Sync
	Tier     Tier
	// Queue is a private directory for the queue file of the mailbox's lock; "": the file is beside
	// the mailbox. Boxes of a team set it.
	Queue string
	Now   func() time.Time // nil: time.Now
	// Hook is called with a step's name between the file operations of an edit, and with "torn" when a
	// read found the file broken and reads it again; for tests that stop or kill the process there.
	Hook func(step string)
}

// Sync says what is flushed to the disk before an edit is published.
type Sync int

// Values of Sync: what is flushed.
const (
	SyncNone = Sync(atomicfile.SyncNone) // nothing; a power cut may lose or shorten the file
	SyncData = Sync(atomicfile.SyncData) // the file's data
	SyncFull = Sync(atomicfile.SyncFull) // and its directory
)

func (s Sync) String() string { return atomicfile.Sync(s).String() }

// Tier says how a new content replaces the old one.
type Tier int

// Tiers of publication. Only TierExchange detects a write by a program without the lock between the
// last check and the publication.
const (
	TierAuto     = Tier(atomicfile.TierAuto)     // the best that the directory supports
	TierExchange = Tier(atomicfile.TierExchange) // exchange the two names and compare
	TierRename   = Tier(atomicfile.TierRename)   // rename over the old file
)

func (t Tier) String() string { return atomicfile.Tier(t).String() }

// file is how the mailbox's file is edited.
func (o Options) file() atomicfile.Options {
	return atomicfile.Options{Rank: atomicfile.RankInbox, Deadline: o.Deadline, Stale: o.Stale, MaxSize: o.MaxSize,
		Sync: atomicfile.Sync(o.Sync), Tier: atomicfile.Tier(o.Tier), Queue: o.Queue, Now: o.Now, Hook: o.Hook}
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}
