package mailbox

import (
	"cmp"
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
