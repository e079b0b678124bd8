package jsonc

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// splice replaces data[at:end] by text.
type splice struct {
	at, end int
	text    string
}

// New is a value to be written, with its key in an object.
type New struct {
	Key   string
	Value any // string, int, []any or []New for an object
}

// Append adds items behind the last one of an object or an array: each on a line of its
// own when the items that are there have lines or there are none, else behind them on
// their line. The comments behind the last item stay where they are.
func (d *Document) Append(v *Value, items ...New) {
	if len(items) == 0 {
		return
	}
	trailing := false
	if n := len(v.Items); n > 0 {
		last := v.Items[n-1]
		if trailing = last.comma >= 0; !trailing {
			d.splice(last.Value.End, last.Value.End, ",")
		}
	}
	bare := len(v.Items) == 0 && !v.comments
	w := writer{d: d, inline: !v.lines && !bare}
	indent := d.childIndent(v)
	for i, it := range items {
		if i > 0 {
			w.WriteByte(',')
		}
		if w.inline {
			w.WriteByte(' ')
		} else {
			w.WriteString(d.newline() + indent)
		}
		w.item(it, v.Kind == Object, indent)
	}
	if trailing {
		w.WriteByte(',')
	}
	if bare && !v.lines {
		w.WriteString(d.newline() + d.lineIndent(v.Start))
	}
	d.splice(v.tail, v.tail, w.String())
}

// SetRoot writes the value of a text that has none.
func (d *Document) SetRoot(value []New) {
	w := writer{d: d}
	if d.ends[len(d.data)] {
		w.WriteString(d.newline())
	}
	w.value(value, "")
	d.splice(len(d.data), len(d.data), w.String()+d.newline())
}

// Replace writes another value in the place of v, on one line.
func (d *Document) Replace(v *Value, value any) {
	w := writer{d: d, inline: true}
	w.value(value, "")
	d.splice(v.Start, v.End, w.String())
}

// Remove takes items out of an object or an array, each with the space before it and
// with one comma, so that the commas of the rest are as they were. Comments between
// items stay.
func (d *Document) Remove(v *Value, which func(i int) bool) {
	last := len(v.Items) - 1
	kept := -1 // the last item that stays
	for i, it := range v.Items {
		if !which(i) {
			kept = i
			continue
		}
		d.splice(it.before, it.Value.End, "")
		if it.comma >= 0 {
			d.splice(it.comma, it.comma+1, "")
		}
	}
	if kept >= 0 && kept < last && v.Items[last].comma < 0 {
		at := v.Items[kept].comma
		d.splice(at, at+1, "")
	}
}

// Empty replaces all between the brackets of v, items and comments.
func (d *Document) Empty(v *Value, inner string) { d.splice(v.Start+1, v.End-1, inner) }

func (d *Document) splice(at, end int, text string) {
	d.splices = append(d.splices, splice{at, end, text})
}

// Bytes is the text with all edits. It is parsed once more: an edit never makes a text
// that cannot be read. The document itself does not change.
func (d *Document) Bytes() ([]byte, error) {
	s := slices.Clone(d.splices)
	slices.SortStableFunc(s, func(a, b splice) int { return a.at - b.at })
	var out []byte
	at := 0
	for i := 0; i < len(s); {
		if s[i].at < at {
			return nil, fmt.Errorf("edit: two changes overlap at byte %d", s[i].at)
		}
		out = append(out, d.data[at:s[i].at]...)
		from := s[i].at
		text := ""
		for at = from; i < len(s) && s[i].at == at; i++ { // neighbours are one change
			text += s[i].text
			at = s[i].end
		}
		out = append(out, text...)
		// A line comment before the change must not swallow what comes after it.
		if text == "" && d.ends[from] && at < len(d.data) && d.data[at] != '\n' && d.data[at] != '\r' {
			out = append(out, d.newline()...)
		}
	}
	out = append(out, d.data[at:]...)
	if _, err := Parse(out); err != nil {
		return nil, fmt.Errorf("edit: the result cannot be read: %w", err)
	}
	return out, nil
}

// newline is the line ending of the first line.
func (d *Document) newline() string {
	n := bytes.IndexByte(d.data, '\n')
	if n > 0 && d.data[n-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineIndent is the space at the start of the line on which a byte stands.
func (d *Document) lineIndent(at int) string {
	start := bytes.LastIndexAny(d.data[:at], "\r\n") + 1
	if start == 0 && bytes.HasPrefix(d.data, bom) {
		start = len(bom)
	}
	end := start
	for end < at && (d.data[end] == ' ' || d.data[end] == '\t') {
		end++
	}
	return string(d.data[start:end])
}

// starts reports whether only space stands before a byte on its line.
func (d *Document) starts(at int) bool {
	start := bytes.LastIndexAny(d.data[:at], "\r\n") + 1
	return start > 0 && len(bytes.Trim(d.data[start:at], " \t")) == 0
}

// childIndent is the indentation of the items of v.
func (d *Document) childIndent(v *Value) string {
	for _, it := range slices.Backward(v.Items) {
		if d.starts(it.Start) {
			return d.lineIndent(it.Start)
		}
	}
	return d.lineIndent(v.Start) + d.unit()
}

// unit is one step of indentation: that of the first member of the root.
func (d *Document) unit() string {
	if d.Root != nil {
		for _, it := range d.Root.Items {
			if !d.starts(it.Start) {
				continue
			}
			if u, ok := strings.CutPrefix(d.lineIndent(it.Start), d.lineIndent(d.Root.Start)); ok && u != "" {
				return u
			}
		}
	}
	return "  "
}
