package jsonc

import (
	"fmt"
	"strconv"
	"strings"

	"waggle/internal/json/jsonobj"
)

// writer writes new values in the style of a document.
type writer struct {
	strings.Builder
	d      *Document
	inline bool // all on one line
}

func (w *writer) item(it New, member bool, indent string) {
	if member {
		w.Write(jsonobj.AppendString(nil, it.Key))
		w.WriteString(": ")
	}
	w.value(it.Value, indent)
}

// value writes a value whose first line is indented by indent.
func (w *writer) value(v any, indent string) {
	switch v := v.(type) {
	case string:
		w.Write(jsonobj.AppendString(nil, v))
	case int:
		w.WriteString(strconv.Itoa(v))
	case []New:
		w.list("{", "}", len(v), indent, func(i int, in string) { w.item(v[i], true, in) })
	case []any:
		w.list("[", "]", len(v), indent, func(i int, in string) { w.value(v[i], in) })
	default:
		panic(fmt.Sprintf("jsonc: a value of type %T", v)) // a mistake of the caller
	}
}

func (w *writer) list(opening, closing string, n int, indent string, one func(i int, indent string)) {
	w.WriteString(opening)
	in := indent + w.d.unit()
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		if !w.inline {
			w.WriteString(w.d.newline() + in)
		} else if i > 0 {
			w.WriteByte(' ')
		}
		one(i, in)
	}
	if n > 0 && !w.inline {
		w.WriteString(w.d.newline() + indent)
	}
	w.WriteString(closing)
}
