package protocol

import (
	"strconv"

	"waggle/internal/json/jsontext"
)

// line is one key of an envelope that is about to be written.
type line struct {
	key string // as it is written, with quotes
	raw string // the value
}

// AppendJSON appends the entry as JSON.stringify(x, null, 2) writes it when it
// stands in an array at top level: every line but the first is indented by two
// further spaces. A new envelope has the key order of protocol §2.1; a parsed one
// keeps its own, and what is new in it goes where that order puts it.
func (e Envelope) AppendJSON(dst []byte) []byte {
	return jsontext.AppendIndent(dst, compactLines(e.lines()), 1)
}

// MarshalJSON returns the compact form, keys in the same order.
func (e Envelope) MarshalJSON() ([]byte, error) {
	return compactLines(e.lines()), nil
}

func compactLines(lines []line) []byte {
	dst := []byte{'{'}
	for i, l := range lines {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, l.key...)
		dst = append(dst, ':')
		dst = jsontext.AppendCompact(dst, l.raw)
	}
	return append(dst, '}')
}

// lines returns the entry's keys in order. Values that were not set since the
// entry was parsed keep their bytes.
func (e Envelope) lines() []line { return e.linesOf(e.origin()) }

// linesOf is lines of an entry that was parsed from what from says; nil: it is a new one.
func (e Envelope) linesOf(from *origin) []line {
	now := e.values()
	if from == nil {
		var list []line
		for s := range slots {
			if written(s, now[s]) {
				list = append(list, newLine(slotKeys[s], now[s]))
			}
		}
		return list
	}
	list := make([]line, 0, len(from.members)+1)
	var have [slots]bool
	at := make([]slot, 0, cap(list)) // the slot of each line
	for _, m := range from.members {
		l := line{m.Lit, m.Raw}
		if m.slot != noSlot {
			have[m.slot] = true
			if now[m.slot] != from.was[m.slot] {
				if !written(m.slot, now[m.slot]) {
					continue
				}
				l.raw = string(appendValue(nil, now[m.slot]))
			}
		}
		list, at = append(list, l), append(at, m.slot)
	}
	for s := range slots {
		if !have[s] && now[s] != from.was[s] && written(s, now[s]) {
			list, at = insert(list, at, s, newLine(slotKeys[s], now[s]))
		}
	}
	return list
}

// written reports whether a field is there at all with this value.
func written(s slot, v any) bool {
	switch s {
	case slotFrom, slotText, slotTimestamp, slotRead:
		return true
	}
	return v != "" && v != 0
}

func newLine(key string, v any) line {
	return line{`"` + key + `"`, string(appendValue(nil, v))}
}

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return jsontext.AppendString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case bool:
		return strconv.AppendBool(dst, v)
	}
	return dst
}

// insert puts a line behind the last one that protocol §2.1 has before it.
func insert(list []line, at []slot, s slot, l line) ([]line, []slot) {
	pos := 0
	for i, other := range at {
		if other != noSlot && other < s {
			pos = i + 1
		}
	}
	list = append(list[:pos:pos], append([]line{l}, list[pos:]...)...)
	at = append(at[:pos:pos], append([]slot{s}, at[pos:]...)...)
	return list, at
}
