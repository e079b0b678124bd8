package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// ErrTooLarge refuses an entry or a file over its limit before anything is written. The error text
// has both sizes.
var ErrTooLarge = errors.New("too large")

// Limits on one entry: the text that Decode reads, and room for the other fields. Encoded, a text
// may grow sixfold (\u0000).
const (
	maxOverhead = 64 << 10
	maxEntry    = 6*protocol.MaxText + 2*maxOverhead
)

const emptyArray = "[]"

// encode writes entries as they are in a file, without the separators.
func encode(f format, entries []protocol.Envelope) ([][]byte, error) {
	enc := make([][]byte, len(entries))
	for i, e := range entries {
		if len(e.Text) > protocol.MaxText {
			return nil, fmt.Errorf("entry %d: %w: its text has %d bytes, at most %d are allowed", i+1, ErrTooLarge, len(e.Text), protocol.MaxText)
		}
		b, err := f.encode(e)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if len(b) > maxEntry {
			return nil, fmt.Errorf("entry %d: %w: it has %d bytes, at most %d are allowed", i+1, ErrTooLarge, len(b), maxEntry)
		}
		if end, ok := newScanner(b).Value(0); !ok || end != len(b) {
			return nil, fmt.Errorf("entry %d cannot be written as JSON", i+1)
		}
		enc[i] = b
	}
	return enc, nil
}

// add adds encoded entries behind the last one in the layout of JSON.stringify(x, null,
// 2) and changes no earlier byte. The error is that of scan.
func (f arrayFormat) add(v atomicfile.View, enc [][]byte) ([]atomicfile.Splice, error) {
	if !v.Exists() {
		return []atomicfile.Splice{{Insert: []byte("[" + string(join(enc)) + "\n]")}}, nil
	}
	t, ok := tailOf(v)
	if !ok {
		data, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		a, err := f.scan(data, nil)
		if err != nil {
			return nil, err
		}
		t = tail{at: int64(a.lastEnd()), gap: data[a.lastEnd():a.close], empty: len(a.elems) == 0}
	}
	list := join(enc)
	if t.empty {
		return []atomicfile.Splice{{Offset: t.at, Delete: int64(len(t.gap)), Insert: append(list, '\n')}}, nil
	}
	list = append([]byte{','}, list...)
	if bytes.IndexByte(t.gap, '\n') < 0 {
		list = append(list, '\n')
	}
	return []atomicfile.Splice{{Offset: t.at, Insert: list}}, nil
}

// join lays entries out in an array, each on lines of its own.
func join[E ~[]byte](enc []E) []byte {
	var b []byte
	for i, e := range enc {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "\n  "...)
		b = append(b, e...)
	}
	return b
}

// tail is the place in an array where the next entry is inserted.
type tail struct {
	at    int64  // behind the last entry, or behind the opening bracket
	gap   []byte // white space from there to the closing bracket
	empty bool
}

// tailSize is how many bytes at the end are read: the white space behind an array is short.
const tailSize = 4096

// tailOf finds the tail of a file that this process wrote, and that is therefore valid, from its
// last bytes. When ok is false, the caller must scan the file.
func tailOf(v atomicfile.View) (tail, bool) {
	if !atomicfile.Ours(v) || v.Size() == 0 {
		return tail{}, false
	}
	b := make([]byte, min(v.Size(), tailSize))
	from := v.Size() - int64(len(b))
	if n, _ := v.ReadAt(b, from); n < len(b) {
		return tail{}, false
	}
	shut := len(trimSpace(b)) - 1
	if shut < 1 || b[shut] != ']' {
		return tail{}, false
	}
	end := len(trimSpace(b[:shut]))
	if end == 0 {
		return tail{}, false
	}
	return tail{at: from + int64(end), gap: b[end:shut], empty: b[end-1] == '['}, true
}

func trimSpace(b []byte) []byte { return bytes.TrimRight(b, " \t\r\n") }

// whole removes a byte order mark with any change of the file: programs that parse JSON strictly,
// such as Claude Code, cannot read a file that begins with one.
func (arrayFormat) whole(v atomicfile.View, splices []atomicfile.Splice) ([]atomicfile.Splice, error) {
	mark := int64(len(byteOrderMark))
	if len(splices) == 0 || splices[0].Offset < mark || v.Size() < mark {
		return splices, nil
	}
	head := make([]byte, mark)
	if _, err := v.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(head, byteOrderMark) {
		return splices, nil
	}
	return append([]atomicfile.Splice{{Delete: mark}}, splices...), nil
}

// whole keeps byte order marks: each line may have one.
func (lineFormat) whole(_ atomicfile.View, splices []atomicfile.Splice) ([]atomicfile.Splice, error) {
	return splices, nil
}
