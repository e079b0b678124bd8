package journal

import (
	"context"
	"fmt"
	"path"
)

// Fold is a state that is rebuilt from records. Apply is called with each record
// once, in order. An error says that the state must not be used further: the
// journal then refuses to append (trust §4: read-only and denying).
type Fold interface {
	Apply(Record) error
}

// Tentative is a Fold that can be thrown away. An append folds its drafts into it
// before it writes them: a draft that the fold refuses is never written, and after a
// refusal or a failed write the fold is made again from what is on disk (trust §4).
// Drafts for any other Fold are written first.
type Tentative interface {
	Fold
	// Reset empties the fold. What observers have received is not undone.
	Reset()
	// Hold makes the fold queue its calls of observers, and Keep makes the queued calls: the
	// records are on disk.
	Hold()
	Keep()
	// MaySetAside reports whether records of a kind may be left out when they contradict the fold:
	// their absence must not widen what anyone may do. The rest of the journal is then still used.
	MaySetAside(kind string) bool
}

// Snapshotter is a Fold that need not be rebuilt from the first record.
type Snapshotter interface {
	Fold
	// FoldVersion names the fold and the form of its snapshots. It changes with
	// everything that changes what the same records fold to.
	FoldVersion() string
	Snapshot() ([]byte, error)
	// Restore makes the state of a fresh fold that of the snapshot. On an error
	// the fold is as fresh as before.
	Restore([]byte) error
}

// Journal is an open journal and its fold. A Journal is used by one goroutine at
// a time: its owner holds a mutex around calls and around reads of the fold.
// Several Journals, in several processes, may be open on the same record.
type Journal interface {
	// Refresh folds every record that was appended since. It takes no lock and ignores an
	// unfinished append at the end.
	Refresh(ctx context.Context) error
	// Append locks the journal, refreshes, and calls propose. The drafts are folded (Tentative),
	// written as one write, flushed and returned. propose sees a current fold; it must only compare
	// and draft, and must not send, run or lock anything (trust §6). Append returns the error of
	// propose unchanged. Without drafts it writes nothing. A reader sees all drafts of an append or
	// none. After an error the caller does not know whether the records are written; the next call
	// reads again.
	Append(ctx context.Context, w Writer, propose func() ([]Draft, error)) ([]Record, error)
}

// BrokenError locates a break in the chain. The journal appends and folds nothing until the break
// is undone. A Journal with a Tentative fold reads a broken journal again from time to time and
// continues when every line is back.
type BrokenError struct {
	Journal Name
	File    string // segment or body file, below the journal's directory
	Line    int    // in that segment, from 1; 0 when the file as a whole is meant
	Seq     Seq    // that was expected there
	Why     string
	Err     error // what the fold said of a record that contradicts it; nil for any other break
	Gone    bool  // the directory of the team's journals was removed: the break cannot be undone
}

func (e *BrokenError) Unwrap() error { return e.Err }

// Error says where the break is.
func (e *BrokenError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s, line %d", e.File, e.Line)
	}
	return fmt.Sprintf("journal %s is broken at seq %d (%s): %s; nothing more is decided from it",
		e.Journal, e.Seq, path.Join(string(e.Journal), at), e.Why)
}

// DraftError refuses an append whose record the journal's fold would refuse. Nothing was written,
// and the journal can be used.
type DraftError struct {
	Journal Name
	Kind    string
	Err     error
}

// Error says what the fold said.
func (e *DraftError) Error() string {
	return fmt.Sprintf("journal %s: %s is not recorded: it contradicts the records before it: %v", e.Journal, e.Kind, e.Err)
}

func (e *DraftError) Unwrap() error { return e.Err }

// FutureError reports something that only a newer waggle understands.
type FutureError struct{ What string }

// Error says what to do.
func (e *FutureError) Error() string {
	return "written by a newer waggle (" + e.What + "): this one only reads; upgrade it"
}

// StaleError refuses an append by an earlier start of an instance: a later one
// has written (trust §2). The process must end.
type StaleError struct {
	Journal  Name
	Instance string
	Epoch    uint64 // of the refused writer
	Current  uint64 // newest on record
}

// Error names both epochs.
func (e *StaleError) Error() string {
	return fmt.Sprintf("journal %s: epoch %d of %s may not write: epoch %d has started", e.Journal, e.Epoch, e.Instance, e.Current)
}

// KindRepaired is the one kind this package writes itself: an unfinished append
// was cut, or a record set aside.
const KindRepaired = "repaired"

// Repaired is the body of a KindRepaired record: one of Cut and Aside is set.
type Repaired struct {
	Cut *Ref `json:"cut,omitempty"` // the cut bytes, kept among the bodies
	// Aside is the seq of a record that links to the one before and contradicts it all
	// the same. No fold applies it.
	Aside Seq    `json:"aside,omitempty"`
	Kind  string `json:"kind,omitempty"` // of that record
	Why   string `json:"why,omitempty"`
}
