package mailbox

import (
	"slices"

	"waggle/internal/fs/atomicfile"
	"waggle/layout"
	"waggle/protocol"
)

// Layout is how a mailbox is laid out in its file (protocol §2.2).
type Layout = layout.Layout

// Layouts.
const (
	Array = layout.Array // inboxes/<name>.json: one JSON array
	JSONL = layout.JSONL // mailbox/<name>.jsonl: one message a line
)

// ParseLayout reads what Layout's String writes.
func ParseLayout(s string) (Layout, error) { return layout.Parse(s) }

// format is one layout of a mailbox file: where its entries begin and end, and the bytes between
// them. The entry and its read flag are the same in each layout.
type format interface {
	// empty is the content of a mailbox without entries.
	empty() string
	// encode writes an entry as it is in a file, without its separators.
	encode(protocol.Envelope) ([]byte, error)
	// scan finds the entries of data, which may begin like old.
	scan(data []byte, old *contents) (array, error)
	// add is the change that appends encoded entries.
	add(v atomicfile.View, enc [][]byte) ([]atomicfile.Splice, error)
	// without removes entries and their separators. flags are splices within entries that stay.
	without(c *contents, remove []bool, flags []atomicfile.Splice) []atomicfile.Splice
	// mend turns broken data, as scan found it, into what any reader can read,
	// and returns the bytes that have to go into quarantine first.
	mend(data []byte, a array) (mended, bad []byte)
	// whole adds to a change what any change of the file brings with it.
	whole(v atomicfile.View, splices []atomicfile.Splice) ([]atomicfile.Splice, error)
}

func formatOf(l Layout) format {
	if l == JSONL {
		return lineFormat{}
	}
	return arrayFormat{}
}

// arrayFormat is a JSON array as JSON.stringify(x, null, 2) lays it out.
type arrayFormat struct{}

var _ format = arrayFormat{}

func (arrayFormat) empty() string { return emptyArray }

func (arrayFormat) encode(e protocol.Envelope) ([]byte, error) { return e.AppendJSON(nil), nil }

// mend keeps the readable leading entries, whose bytes stay as they are.
func (arrayFormat) mend(data []byte, a array) (mended, bad []byte) {
	if a.open < 0 || len(a.elems) == 0 {
		return []byte(emptyArray), data
	}
	return append(slices.Clone(data[:a.lastEnd()]), "\n]"...), data
}
