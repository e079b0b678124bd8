package mailbox

import (
	"context"
	"encoding/json"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Store is one member's messages. All methods may be called from several
// goroutines and several processes at once.
type Store interface {
	// Append adds all entries at the end or none: one lock and one publication for any number of
	// entries. It fails with *LockedError, ErrTooLarge, *LimitError, or fs.ErrNotExist when the
	// mailbox's team was deleted.
	Append(ctx context.Context, entries ...protocol.Envelope) error
	// Entries returns every entry in file order. It takes no lock.
	Entries(ctx context.Context) ([]Entry, error)
	// Unread returns the entries whose read flag is not true, in file order.
	Unread(ctx context.Context) ([]Entry, error)
	// MarkRead marks the entries with these ids or, where retention is Prune, removes them. It
	// ignores ids of entries that do not exist any more.
	MarkRead(ctx context.Context, ids ...ID) error
}

// Entry is one stored entry.
type Entry struct {
	ID       ID
	Index    int               // position in the file
	Raw      json.RawMessage   // the bytes as they stand; not to be changed
	Envelope protocol.Envelope // zero when Err is set
	Err      error             // why the entry cannot be read; it blocks no other
}

// Retention says what marking does.
type Retention int

// Retentions (protocol §2.2). Prune removes an entry once every entry of equal
// content is marked, and marks it until then: the others keep their identity.
const (
	Keep  Retention = iota // read entries stay with read:true (named teams)
	Prune                  // read entries are removed (session teams)
)

// Report describes a repair or another state of the mailbox for a person.
type Report struct {
	Path       string
	What       string // one sentence
	Quarantine string // where the bad bytes are, when there are any
}

// LockedError reports a mailbox that another process holds (exit code 8).
type LockedError = atomicfile.LockedError

// ErrNotRegular refuses a link, a FIFO, a device or a directory where a mailbox is expected.
var ErrNotRegular = atomicfile.ErrNotRegular
