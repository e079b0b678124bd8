package main

import (
	"slices"
	"strings"

	"waggle/protocol"
)

// fieldRows is the table of a kind with these fields; the first row is the head. It is nil for a
// kind without fields.
func fieldRows(info protocol.KindInfo, list []protocol.Field) [][]string {
	if list == nil {
		return nil
	}
	rows := [][]string{{"field", "on the wire", "in the catalogue", "also read", "value", "weight", "meaning"}}
	return append(rows, rowsOf(info, "", list)...)
}

func rowsOf(info protocol.KindInfo, in string, list []protocol.Field) (rows [][]string) {
	for _, f := range list {
		rows = append(rows, []string{
			code(in + f.Name), onWire(f), inCatalog(f), alsoRead(f), value(f), weight(info, f), f.Doc,
		})
		rows = append(rows, rowsOf(info, in+f.Name+"[].", f.Items)...)
	}
	return rows
}

func onWire(f protocol.Field) string {
	s, ok := spelling(f, protocol.DialectWire)
	switch {
	case !ok:
		return ""
	case !s.Written:
		return "read only"
	case f.Arm != "":
		return "with `" + f.Arm + "`"
	case s.Always:
		return "always"
	}
	return "when there is one"
}

func inCatalog(f protocol.Field) string {
	if s, ok := spelling(f, protocol.DialectCatalog); ok && s.Written {
		return code(s.Path)
	}
	return ""
}

func spelling(f protocol.Field, d protocol.Dialect) (protocol.Spelling, bool) {
	for _, s := range f.Spellings {
		if s.Dialect == d {
			return s, true
		}
	}
	return protocol.Spelling{}, false
}

// alsoRead lists the spellings of the other dialects and of none.
func alsoRead(f protocol.Field) string {
	var list []string
	add := func(path string) {
		if path != f.Name && !slices.Contains(list, code(path)) {
			list = append(list, code(path))
		}
	}
	for _, s := range f.Spellings {
		if s.Dialect != protocol.DialectCatalog || !s.Written {
			add(s.Path)
		}
	}
	for _, path := range f.Also {
		add(path)
	}
	return strings.Join(list, ", ")
}

func value(f protocol.Field) string {
	text := string(f.Type)
	if len(f.Choices) > 0 {
		text = strings.Join(f.Choices, ", ")
	}
	switch {
	case f.Bare:
		text += ", without the team"
	case f.NotEmpty:
		text += ", not empty"
	}
	return text
}

// weight says who decides by a field, or on it.
func weight(info protocol.KindInfo, f protocol.Field) string {
	switch {
	case !f.Decides:
		return ""
	case info.Request:
		return "what is decided on"
	}
	return "the " + info.From + " decides"
}
