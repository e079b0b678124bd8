package mailbox

import (
	"fmt"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// Limits bound the unread entries of a mailbox, against a sender that does not stop. Append checks
// them under the mailbox's lock and refuses all of its entries together. Control messages are never
// refused, so that a mailbox full of text loses no answer, order or shutdown. A zero field sets no
// limit.
//
// The limits count the entries in the mailbox by their from field. They do not stop a sender that
// uses other members' names or writes files itself.
type Limits struct {
	Entry       int   // bytes of one entry as it is stored
	Count       int   // unread entries
	Bytes       int64 // of unread entries
	SenderCount int   // unread entries of one sender
	SenderBytes int64 // of them
	// Rate is how many entries of one sender may have a time within the last
	// RateWindow, read ones included where they are kept.
	Rate int
}

// RateWindow is what Limits.Rate counts in.
const RateWindow = time.Minute

// DefaultLimits are those of waggle send and of members that write to each other.
var DefaultLimits = Limits{Entry: 2 << 20, Count: 10_000, Bytes: 64 << 20, SenderCount: 2_000, SenderBytes: 16 << 20, Rate: 600}

// LimitError refuses an append that would exceed a limit (exit code 6). Nothing was written.
type LimitError struct {
	What   string // Limits' field
	Sender string // of the entry; "" when the limit is the mailbox's
	Have   int64  // with the new entries
	Max    int64
}

func (e *LimitError) Error() string {
	who := "the mailbox"
	if e.Sender != "" {
		who = fmt.Sprintf("%.64q", e.Sender)
	}
	switch e.What {
	case "Entry":
		return fmt.Sprintf("too large: the message has %d bytes as it is stored, at most %d are taken", e.Have, e.Max)
	case "Rate":
		return fmt.Sprintf("too many: %s would have sent %d messages within %v, at most %d are taken: wait a little", who, e.Have, RateWindow, e.Max)
	case "Bytes", "SenderBytes":
		return fmt.Sprintf("too much waits there: %s would have %d bytes unread, at most %d are taken: its owner has to read first", who, e.Have, e.Max)
	}
	return fmt.Sprintf("too many wait there: %s would have %d messages unread, at most %d are taken: its owner has to read first", who, e.Have, e.Max)
}

// leastEntry is the size of the smallest entry there can be: a file with less than
// so many bytes an entry cannot hold more.
const leastEntry = int64(len(`{"from":"","text":"","timestamp":""}`))

// limited reports an entry that limits apply to: words.
func limited(e protocol.Envelope) bool {
	switch protocol.Decode(e).Kind {
	case protocol.KindText, protocol.KindUnknown, protocol.KindInvalid, protocol.KindSystemInit:
		return true
	}
	return false
}

// amount is how much of something there is.
type amount struct{ count, bytes, lately int64 }

// admit returns a *LimitError when entries, encoded as enc, would exceed a limit of the mailbox in
// v. last is the cached content; read is the content that was read now, nil when nothing had to be
// read.
func (l Limits) admit(f format, v atomicfile.View, last *contents, entries []protocol.Envelope, enc [][]byte, now time.Time) (read *contents, err error) {
	if l == (Limits{}) {
		return nil, nil
	}
	var all amount
	by := map[string]*amount{}
	for i, e := range entries {
		if !limited(e) {
			continue
		}
		size := int64(len(enc[i]))
		if l.Entry > 0 && size > int64(l.Entry) {
			return nil, &LimitError{What: "Entry", Sender: e.From, Have: size, Max: int64(l.Entry)}
		}
		if by[e.From] == nil {
			by[e.From] = &amount{}
		}
		all.add(size, true, true)
		by[e.From].add(size, true, true)
	}
	if len(by) == 0 || !l.near(v.Size(), all) {
		return nil, nil
	}
	if v.Exists() { // in a new mailbox there is nothing else to count
		since := protocol.FormatTime(now.Add(-RateWindow))
		read, err = count(f, v, last, since, func(e Entry, size int64, unread, lately bool) {
			all.add(size, unread, lately)
			if a := by[e.Envelope.From]; a != nil && e.Err == nil {
				a.add(size, unread, lately)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	over := []LimitError{{"Count", "", all.count, int64(l.Count)}, {"Bytes", "", all.bytes, l.Bytes}}
	for _, e := range entries { // in their order, so that the same one is named
		if a := by[e.From]; a != nil {
			over = append(over, LimitError{"SenderCount", e.From, a.count, int64(l.SenderCount)}, LimitError{"SenderBytes", e.From, a.bytes, l.SenderBytes},
				LimitError{"Rate", e.From, a.lately, int64(l.Rate)})
		}
	}
	for _, e := range over {
		if e.Max > 0 && e.Have > e.Max {
			return read, &e
		}
	}
	return read, nil
}

func (a *amount) add(size int64, unread, lately bool) {
	if unread {
		a.count++
		a.bytes += size
	}
	if lately {
		a.lately++
	}
}

// near reports whether a file of this size, with what is new, could be over a limit.
func (l Limits) near(size int64, more amount) bool {
	for _, n := range []int{l.Count, l.SenderCount, l.Rate} {
		if n > 0 && size/leastEntry+more.count > int64(n) {
			return true
		}
	}
	for _, n := range []int64{l.Bytes, l.SenderBytes} {
		if n > 0 && size+more.bytes > n {
			return true
		}
	}
	return false
}

// count shows each entry that is unread, or whose time is not before since.
func count(f format, v atomicfile.View, last *contents, since string, each func(e Entry, size int64, unread, lately bool)) (*contents, error) {
	lately := func(stamp string) bool { return stamp >= since }
	c, err := contentsOf(f, v, last, func(data []byte, el element) bool {
		return el.read != readTrue || el.wild || lately(string(data[el.stamp:el.stampEnd]))
	})
	if err != nil {
		return nil, err
	}
	for i, e := range c.entries {
		if e.ID.Hash != "" {
			each(e, int64(len(e.Raw)), c.array.elems[i].read != readTrue, lately(e.Envelope.Timestamp))
		}
	}
	return c, nil
}
