package atomicfile

import (
	"cmp"
	"io/fs"
	"time"
)

// Sync says what is flushed before an edit is published. With SyncNone a power
// cut may leave a published file short or zeroed on some file systems; with
// SyncData the published content is whole, but the last edits may be missing.
type Sync int

// Sync policies (FORMAT, "How a shared file changes").
const (
	SyncNone Sync = iota // nothing, as in Claude Code
	SyncData             // the file's data before it is published
	SyncFull             // and the directory after
)

// Tier says how a new content replaces the old one.
type Tier int

// Tiers. Only the exchange tier sees the change of a program that does not lock
// and writes between our last check and our publishing.
const (
	TierAuto     Tier = iota // best the directory supports, found by use and cached
	TierExchange             // copy, splice, exchange the two names, compare, unlink
	TierRename               // copy, splice, rename
)

var tierNames = [...]string{TierAuto: "auto", TierExchange: "exchange", TierRename: "rename"}

func (t Tier) String() string { return named(tierNames[:], int(t), "unknown") }

// named is the name of a number, or what a number without one is called.
func named(names []string, n int, none string) string {
	if n < 0 || n >= len(names) {
		return none
	}
	return cmp.Or(names[n], none)
}

// Rank orders nested locks (trust §6). A goroutine that holds a lock of some rank may only take
// locks of higher ranks; in tests a violation panics (package ordertest). The zero rank is not
// checked.
type Rank int

// Ranks, outermost first.
const (
	RankLease   Rank = iota + 1 // process lease, try only
	RankTasks                   // tasks/<team>/.lock
	RankTask                    // tasks/<team>/<n>.json, ascending n
	RankConfig                  // teams/<team>/config.json
	RankLayout                  // teams/<team>/.layout: making mailboxes, and a migration
	RankInbox                   // one inbox
	RankJournal                 // a leaf
)

var rankNames = [...]string{RankLease: "lease", RankTasks: "tasks", RankTask: "task", RankConfig: "config", RankLayout: "layout",
	RankInbox: "inbox", RankJournal: "journal"}

func (r Rank) String() string { return named(rankNames[:], int(r), "none") }

// Defaults of Options.
const (
	DefaultDeadline = 5 * time.Second
	DefaultStale    = 10 * time.Second
	DefaultMaxSize  = 256 << 20
)

// Options are the settings of a lock or an edit. The zero value works.
type Options struct {
	Rank     Rank
	Sync     Sync
	Tier     Tier
	Deadline time.Duration // for the whole operation; 0 means 5 s
	Stale    time.Duration // age of a foreign lock that counts as abandoned; 0 means 10 s
	Perm     fs.FileMode   // of a new file; 0 means 0600. An existing file keeps its mode
	MaxSize  int64         // refuse to read or write more; 0 means 256 MiB
	// Queue is a private directory for the queue file of a lock, which is named after the locked
	// file's real path; "": it is beside the file. The queue only reduces contention among our
	// processes: the lock directory alone excludes them, also those with another queue.
	Queue string
	// Aside is the directory into which a lock and WriteFile move what is at their path and is no lock
	// or no regular file (SetAside). "": a lock moves it to a name beside the path, and WriteFile
	// refuses it.
	Aside string
	// Cleared is told what was at the path of a lock, was no lock and was set aside, and where it is
	// now. May be nil.
	Cleared func(path, place string)
	Now     func() time.Time
	// Hook is called with a step's name between the file operations of an edit,
	// for tests that stop or kill the process there. Nil in production. The steps
	// of an edit in order: queued, flocked, announced, lock-made, locked, read,
	// temp-created, temp-written, synced, checked, published, compared, unlinked,
	// unlocking, lock-removed, unlocked.
	Hook func(step string)
	// Kept is told where a foreign content was put that could be neither published
	// nor merged: two programs that do not lock wrote within the same microseconds
	// as we, or a writer of ours was killed there. May be nil.
	Kept func(path string)
}

func (o Options) deadline() time.Duration { return cmp.Or(max(o.Deadline, 0), DefaultDeadline) }

func (o Options) stale() time.Duration { return cmp.Or(max(o.Stale, 0), DefaultStale) }

// refresh is how often a long hold renews its lock directory: well inside the
// 5 s that proper-lockfile itself uses, and three times per stale period.
func (o Options) refresh() time.Duration { return min(o.stale()/3, 3*time.Second) }

func (o Options) perm() fs.FileMode { return cmp.Or(o.Perm.Perm(), 0o600) }

func (o Options) maxSize() int64 { return cmp.Or(max(o.MaxSize, 0), DefaultMaxSize) }

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

func (o Options) hook(step string) {
	if o.Hook != nil {
		o.Hook(step)
	}
}
