package mailbox

import (
	"slices"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsontext"
)

// markSplices marks the wanted entries read, or removes them.
func markSplices(f format, c *contents, ids []ID, r Retention) []atomicfile.Splice {
	wanted := set(ids)
	mark := make([]bool, len(c.entries))
	marked, unmarked := map[string]bool{}, map[string]bool{} // hashes of which an entry is marked, or stays unread
	for i, e := range c.entries {
		if e.ID.Hash == "" {
			continue // not decoded: none of equal content is wanted
		}
		if mark[i] = wanted[e.ID]; mark[i] {
			marked[e.ID.Hash] = true
		} else if c.array.elems[i].read != readTrue {
			unmarked[e.ID.Hash] = true
		}
	}
	if r == Keep {
		return c.flag(mark)
	}
	// An entry with an unread twin is marked and stays: the twin would get its
	// occurrence number, and be taken for what was done already. It goes with the
	// last of them.
	remove := make([]bool, len(mark))
	for i, e := range c.entries {
		remove[i] = marked[e.ID.Hash] && !unmarked[e.ID.Hash]
		mark[i] = mark[i] && !remove[i]
	}
	return f.without(c, remove, c.flag(mark))
}

// flag sets the read flag of entries. An entry that is not an object has none,
// and stays as it is.
func (c *contents) flag(mark []bool) []atomicfile.Splice {
	var list []atomicfile.Splice
	for i := range c.array.elems {
		el := &c.array.elems[i]
		if !mark[i] || el.read == readTrue {
			continue
		}
		raw := c.data[el.start:el.end]
		spans, ok := members(raw)
		if !ok {
			continue
		}
		if el.read == readMissing {
			list = append(list, addRead(raw, spans, int64(el.start)))
			continue
		}
		for _, m := range spans {
			// Every duplicate of the key is set, so that all parsers read the same value.
			if isKey(raw[m.Key:m.KeyEnd], "read") && string(raw[m.Value:m.End]) != "true" {
				list = append(list, atomicfile.Splice{
					Offset: int64(el.start + m.Value), Delete: int64(m.End - m.Value), Insert: []byte("true"),
				})
			}
		}
	}
	return list
}

// addRead adds the key to an object in the style of its last member.
func addRead(raw []byte, spans []jsontext.Span, base int64) atomicfile.Splice {
	if len(spans) == 0 {
		return atomicfile.Splice{Offset: base + 1, Insert: []byte(`"read":true`)}
	}
	last := spans[len(spans)-1]
	from := 1 // behind the brace
	if len(spans) > 1 {
		from = jsontext.Space(raw, spans[len(spans)-2].End) + 1 // behind the comma
	}
	text := slices.Concat([]byte{','}, raw[from:last.Key], []byte(`"read"`), raw[last.KeyEnd:last.Value], []byte("true"))
	return atomicfile.Splice{Offset: base + int64(last.End), Insert: text}
}

// without removes elements and their separators.
func (arrayFormat) without(c *contents, remove []bool, flags []atomicfile.Splice) []atomicfile.Splice {
	if !slices.Contains(remove, true) {
		return flags
	}
	if !slices.Contains(remove, false) {
		return []atomicfile.Splice{{Delete: int64(len(c.data)), Insert: []byte(emptyArray)}}
	}
	list := flags
	for i := 0; i < len(remove); i++ {
		if !remove[i] {
			continue
		}
		run := i
		for i+1 < len(remove) && remove[i+1] {
			i++
		}
		// A run goes with the separator before it, the first with the one behind.
		from, to := c.array.elems[run].start, 0
		if run > 0 {
			from, to = c.array.elems[run-1].end, c.array.elems[i].end
		} else {
			to = c.array.elems[i+1].start
		}
		list = append(list, atomicfile.Splice{Offset: int64(from), Delete: int64(to - from)})
	}
	slices.SortFunc(list, func(a, b atomicfile.Splice) int { return int(a.Offset - b.Offset) })
	return list
}

// cutMembers returns an object's bytes without the members of this name.
func cutMembers(raw []byte, spans []jsontext.Span, name string) []byte {
	out := []byte{'{'}
	for _, m := range spans {
		if isKey(raw[m.Key:m.KeyEnd], name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw[m.Key:m.End]...)
	}
	return append(out, '}')
}
