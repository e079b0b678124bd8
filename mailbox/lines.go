package mailbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsontext"
	"waggle/protocol"
)

// lineFormat is one entry a line. Blank lines, a byte order mark before a line and
// a carriage return behind one are passed over and stay. A last line without its
// end is an entry if it is a whole object; else it is torn: the beginning of
// something that its writer may still complete. It stays the last line, and what
// we append goes before it. Any other line that is not JSON is garbage.
type lineFormat struct{}

var _ format = lineFormat{}

// garbageError says that lines of a file are not JSON.
type garbageError struct{ lines, at int }

func (e *garbageError) Error() string {
	return fmt.Sprintf("%d lines that are not JSON, the first at byte %d", e.lines, e.at)
}

func (lineFormat) empty() string { return "" }

func (lineFormat) encode(e protocol.Envelope) ([]byte, error) { return e.MarshalJSON() }

// scan returns errTooMany or a *garbageError.
func (lineFormat) scan(data []byte, old *contents) (array, error) {
	a := array{open: -1, close: -1, torn: -1}
	s := newScanner(nil)
	i := 0
	if done := old.common(data); len(done) > 0 {
		// The rest of the last line may be new, so that line is scanned again.
		a.elems = append(make([]element, 0, len(done)+16), done[:len(done)-1]...)
		i = done[len(done)-1].start
	}
	for i < len(data) {
		end, next := len(data), len(data)
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			end, next = i+n, i+n+1
		}
		s.Text = data[:end]
		at := jsontext.Space(s.Text, i)
		if bytes.HasPrefix(s.Text[at:], byteOrderMark) {
			at = jsontext.Space(s.Text, at+len(byteOrderMark))
		}
		if at == end {
			i = next
			continue
		}
		e, ok := elementAt(s, at)
		ok = ok && jsontext.Space(s.Text, e.end) == end
		switch {
		case next == end && !(ok && s.Text[at] == '{'): // no line end
			a.torn = i
		case !ok:
			a.bad = append(a.bad, [2]int{i, next})
		case len(a.elems) == maxElements:
			return a, errTooMany
		default:
			a.elems = append(a.elems, e)
		}
		i = next
	}
	if len(a.bad) > 0 {
		return a, &garbageError{len(a.bad), a.bad[0][0]}
	}
	return a, nil
}

// add reads only the last line: every earlier line is whole or garbage and ends with a newline.
func (f lineFormat) add(v atomicfile.View, enc [][]byte) ([]atomicfile.Splice, error) {
	var list []byte
	for _, e := range enc {
		list = append(append(list, e...), '\n')
	}
	size := v.Size()
	if size == 0 {
		return []atomicfile.Splice{{Insert: list}}, nil
	}
	var last [1]byte
	if n, err := v.ReadAt(last[:], size-1); n < 1 {
		return nil, err
	}
	if last[0] == '\n' {
		return []atomicfile.Splice{{Offset: size, Insert: list}}, nil
	}
	data, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	start := bytes.LastIndexByte(data, '\n') + 1
	if a, _ := f.scan(data[start:], nil); a.torn >= 0 {
		return []atomicfile.Splice{{Offset: int64(start), Insert: list}}, nil
	}
	return []atomicfile.Splice{{Offset: int64(len(data)), Insert: slices.Concat([]byte{'\n'}, list)}}, nil
}

// without removes whole lines. When no entry and no unfinished line remains, the file becomes
// empty.
func (lineFormat) without(c *contents, remove []bool, flags []atomicfile.Splice) []atomicfile.Splice {
	if !slices.Contains(remove, true) {
		return flags
	}
	if !slices.Contains(remove, false) && c.array.torn < 0 {
		return []atomicfile.Splice{{Delete: int64(len(c.data))}}
	}
	list, end := flags, -1
	for i, gone := range remove {
		if !gone {
			continue
		}
		from, to := c.line(i)
		if from == end { // right behind the one before
			list[len(list)-1].Delete += int64(to - from)
		} else {
			list = append(list, atomicfile.Splice{Offset: int64(from), Delete: int64(to - from)})
		}
		end = to
	}
	slices.SortFunc(list, func(a, b atomicfile.Splice) int { return int(a.Offset - b.Offset) })
	return list
}

// tornLine is an unfinished last line as a Box has seen it.
type tornLine struct {
	sum   [sha256.Size]byte
	since time.Time // when it was first seen like this
	told  bool
}

// tornPatience is how long an unfinished line may stay unchanged before it is reported: the stale
// time of its writer's lock.
const tornPatience = atomicfile.DefaultStale

// noteTorn reports an unfinished last line that does not grow, once. Its writer was
// killed, most likely.
func (b *Box) noteTorn(c *contents) {
	if c.array.torn < 0 {
		return
	}
	sum, now := sha256.Sum256(c.data[c.array.torn:]), b.now()
	b.mu.Lock()
	if b.torn.sum != sum {
		b.torn = tornLine{sum: sum, since: now}
		if fi, err := os.Lstat(b.path); err == nil && fi.ModTime().Before(now) {
			b.torn.since = fi.ModTime()
		}
	}
	tell := !b.torn.told && now.Sub(b.torn.since) > tornPatience
	b.torn.told = b.torn.told || tell
	b.mu.Unlock()
	if tell {
		b.report([]Report{{Path: b.path, What: fmt.Sprintf(
			"the last line of %s is not complete and has not grown for %v: it stays for its writer to complete, and is not delivered", b.path, tornPatience)}})
	}
}

// line returns where the line of an entry begins and ends, its end included.
func (c *contents) line(i int) (from, to int) {
	e := c.array.elems[i]
	from = bytes.LastIndexByte(c.data[:e.start], '\n') + 1
	if n := bytes.IndexByte(c.data[e.end:], '\n'); n >= 0 {
		return from, e.end + n + 1
	}
	return from, len(c.data)
}

// appendLine appends an entry as a line; white space between its tokens goes.
func appendLine(dst []byte, raw json.RawMessage) []byte {
	return append(jsontext.AppendCompact(dst, raw), '\n')
}

func linesOf(entries []Entry) (out []byte) {
	for _, e := range entries {
		out = appendLine(out, e.Raw)
	}
	return out
}

// mend removes the lines that are not JSON; every other line keeps its bytes.
func (lineFormat) mend(data []byte, a array) (mended, bad []byte) {
	at := 0
	for _, b := range a.bad {
		mended = append(mended, data[at:b[0]]...)
		bad = append(bad, data[b[0]:b[1]]...)
		at = b[1]
	}
	return append(mended, data[at:]...), bad
}
