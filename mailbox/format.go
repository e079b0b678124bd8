package mailbox

import (
	"encoding/json"
	"slices"

	"waggle"
	"waggle/internal/atomicfile"
	"waggle/internal/jsonscan"
	"waggle/layout"
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

// format is what differs between layouts: where entries begin and end, and what
// stands between them. What an entry is, and what its read flag means, does not.
type format interface {
	// empty is the content of a mailbox without entries.
	empty() string
	// encode writes an entry as it stands in a file, without what separates it.
	encode(waggle.Envelope) ([]byte, error)
	// scan finds the entries of data, which may begin like old.
	scan(data []byte, old *contents) (array, error)
	// add is the change that appends encoded entries.
	add(v atomicfile.View, enc [][]byte) ([]atomicfile.Splice, error)
	// without removes entries, and what separates them from their neighbours.
	// flags are splices within entries that stay.
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

func (arrayFormat) encode(e waggle.Envelope) ([]byte, error) { return e.AppendJSON(nil), nil }

func (arrayFormat) scan(data []byte, old *contents) (array, error) { return rescan(data, old) }

func (arrayFormat) add(v atomicfile.View, enc [][]byte) ([]atomicfile.Splice, error) {
	return appendSplices(v, enc)
}

func (arrayFormat) without(c *contents, remove []bool, flags []atomicfile.Splice) []atomicfile.Splice {
	return c.without(remove, flags)
}

// mend keeps the readable leading entries, whose bytes stay as they are.
func (arrayFormat) mend(data []byte, a array) (mended, bad []byte) {
	if a.open < 0 || len(a.elems) == 0 {
		return []byte(emptyArray), data
	}
	return append(slices.Clone(data[:a.lastEnd()]), "\n]"...), data
}

// compact is raw, one valid JSON value, without white space between its tokens:
// what makes one line of an entry that stands on several. Tokens keep their bytes.
func compact(raw json.RawMessage) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch raw[i] {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := jsonscan.StringEnd(raw, i)
			out = append(out, raw[i:end]...)
			i = end
		default:
			out = append(out, raw[i])
			i++
		}
	}
	return out
}
