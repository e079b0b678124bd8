package mailbox

import (
	"bytes"
	"context"
	"slices"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// AppendOnce is Append of those envelopes that the store does not hold, for a message that several
// processes may put there: its sender, the process that leads and its receiver, each after an attempt
// whose end it does not know. The stores of this package compare under the lock that the append takes, also
// behind a Store that passes its context on; any other Store is read before it. They compare by identity
// (trust §10). An envelope without a msg_id is always appended: two alike are two messages. Errors are Append's
// and, of another Store, those of Entries.
func AppendOnce(ctx context.Context, s Store, entries ...protocol.Envelope) error {
	switch s.(type) {
	case *Box, *Located, *memory:
	default:
		there, err := s.Entries(ctx)
		if err != nil {
			return err
		}
		entries = slices.DeleteFunc(slices.Clone(entries), func(e protocol.Envelope) bool { return held(there, e) })
	}
	return s.Append(context.WithValue(ctx, onceKey{}, true), entries...)
}

// onceKey is in the context of an Append that leaves out what the mailbox has. A method beside Append would pass
// over the Append of a type that embeds a Box.
type onceKey struct{}

// held reports an envelope with a msg_id whose identity entries have.
func held(entries []Entry, e protocol.Envelope) bool {
	if e.MsgID == "" {
		return false
	}
	hash := HashOf(e)
	return slices.ContainsFunc(entries, func(t Entry) bool { return t.ID.Hash == hash })
}

// addition are the entries of one append, with their encoded forms.
type addition struct {
	entries []protocol.Envelope
	enc     [][]byte
	once    bool // those that the mailbox has are left out
}

func newAddition(ctx context.Context, f format, entries []protocol.Envelope) (addition, error) {
	enc, err := encode(f, entries)
	return addition{entries: entries, enc: enc, once: ctx.Value(onceKey{}) != nil}, err
}

// lacking returns what is to be added to the mailbox in v; last is its cached content. Only a file that has
// the bytes of a msg_id is parsed.
func (a addition) lacking(f format, v atomicfile.View, last *contents) (addition, error) {
	if !a.once || !v.Exists() {
		return a, nil
	}
	data, err := v.Bytes()
	if err != nil || !slices.ContainsFunc(a.entries, func(e protocol.Envelope) bool { return bytes.Contains(data, []byte(e.MsgID)) }) {
		return a, err
	}
	there, err := contentsOf(f, v, last, nil)
	if err != nil {
		return a, err
	}
	kept := addition{once: true}
	for i, e := range a.entries {
		if !held(there.entries, e) {
			kept.entries, kept.enc = append(kept.entries, e), append(kept.enc, a.enc[i])
		}
	}
	return kept, nil
}
