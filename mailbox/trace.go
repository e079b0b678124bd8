package mailbox

import (
	"cmp"
	"context"
	"os"

	"waggle/protocol"
)

// Trace is the evidence of one message in a mailbox that another program reads. Such a
// reader writes no journal, so the mailbox file is the only evidence.
type Trace string

// The traces.
const (
	Lies   Trace = "lies"   // unread
	Marked Trace = "marked" // its reader has marked it read
	Taken  Trace = "taken"  // not in the mailbox, and no older entry is unread: its reader removes read entries
	Erased Trace = "erased" // not in the mailbox while older entries are unread, or the file is gone: nobody has read it
)

// FileTime is when the file of a mailbox was last written, Unix nanoseconds; 0: the file does not
// exist, or the store has no file.
func FileTime(s Store) int64 {
	var path string
	var err error
	switch s := s.(type) {
	case interface{ Path() string }:
		path = s.Path()
	case interface{ Path() (string, error) }:
		path, err = s.Path()
	default:
		return 0
	}
	st, serr := os.Stat(path)
	if cmp.Or(err, serr) != nil {
		return 0
	}
	return st.ModTime().UnixNano()
}

// Written describes a message at the time when it was put into a mailbox.
type Written struct {
	Envelope protocol.Envelope
	File     int64 // FileTime right after; 0: not known
}

// TraceOf reports what happened to a message, from the current entries of its mailbox and the time
// of the mailbox file. A reader takes messages in order: when an older entry is unread, the message
// was not taken either.
func TraceOf(w Written, entries []Entry, file int64) Trace {
	older := false
	for _, e := range entries {
		switch {
		case e.Err != nil:
		case Same(e.Envelope, w.Envelope) && e.Envelope.Read:
			return Marked
		case Same(e.Envelope, w.Envelope):
			return Lies
		case !e.Envelope.Read && e.Envelope.Timestamp <= w.Envelope.Timestamp:
			older = true
		}
	}
	if older || w.File != 0 && file < w.File {
		return Erased
	}
	return Taken
}

// Same reports whether two envelopes are one message: programs that do not know msg_id drop it when
// they rewrite a mailbox, so Same compares the other fields (protocol §2.1).
func Same(a, b protocol.Envelope) bool {
	return a.From == b.From && a.Timestamp == b.Timestamp && a.Text == b.Text && (a.MsgID == b.MsgID || a.MsgID == "" || b.MsgID == "")
}

// Missing returns the envelopes of sent that the store does not hold, in their order. An envelope
// that was appended twice and is there once is missing once. Missing takes no lock.
//
// A sender uses it to find lost messages. A program that holds the lock never removes an unread
// entry, so an envelope that is missing and that its receiver has not taken was overwritten by a
// program that writes without the lock. Append cannot detect that: such a program may have read the
// file before the append and replace it long after. In a store with Prune, read entries are missing
// too.
func Missing(ctx context.Context, s Store, sent ...protocol.Envelope) ([]protocol.Envelope, error) {
	if len(sent) == 0 {
		return nil, nil
	}
	entries, err := s.Entries(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[string]int, len(entries))
	for _, e := range entries {
		there[e.ID.Hash]++
	}
	var gone []protocol.Envelope
	for _, e := range sent {
		hash := HashOf(e)
		if there[hash]--; there[hash] < 0 {
			gone = append(gone, e)
		}
	}
	return gone, nil
}
