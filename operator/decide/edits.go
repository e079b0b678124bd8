package decide

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"waggle/internal/json/jsonobj"
)

// Edits shows the change that a call of an editing tool makes, as lines that begin with -, + or a
// blank. It uses only the input and does not read the file. It is "" for other tools and for an
// input of another form, which is shown as JSON.
func (q Request) Edits() string {
	o, tool := object(q.Input), editing[q.Tool]
	if o == nil || tool.change == nil {
		return ""
	}
	return tool.change(o)
}

// editing are the tools that change a file, each with the field that names it and the lines that a call changes.
var editing = map[string]struct {
	file   string
	change func(*jsonobj.Object) string
}{
	"Edit":         {"file_path", editOf},
	"MultiEdit":    {"file_path", editsOf},
	"Write":        {"file_path", func(o *jsonobj.Object) string { return linesOf(o, "", "content") }},
	"NotebookEdit": {"notebook_path", func(o *jsonobj.Object) string { return linesOf(o, "", "new_source") }},
}

// object reads an object whose keys are there once; nil: it is another text.
func object(raw []byte) *jsonobj.Object {
	o, err := jsonobj.Parse(raw)
	if err != nil || len(o.Duplicates()) > 0 {
		return nil
	}
	return o
}

// Edited is the file that a call of an editing tool changes, as the call spells it. It is "" for other
// calls.
func (q Request) Edited() (file string) {
	o, tool := object(q.Input), editing[q.Tool]
	if o == nil || tool.file == "" || !textAt(o, tool.file, &file) {
		return ""
	}
	return file
}

// EditedPath is where Edited leads, as it was resolved when it was asked; "" when that is not known.
func (q Request) EditedPath() string {
	file := q.Edited()
	if file == "" {
		return ""
	}
	if !path.IsAbs(file) {
		file = path.Join(q.Cwd, file)
	}
	for _, p := range q.Paths {
		if p.Spelled == path.Clean(file) {
			return p.Real
		}
	}
	return ""
}

// InFile shows what a call of an editing tool changes in the text that its file has: the lines with their
// numbers and some around them, or why it changes nothing. It is "" where Edits says all of it.
func (q Request) InFile(text string) string {
	o := object(q.Input)
	if o == nil {
		return ""
	}
	after, why := text, ""
	switch q.Tool {
	case "Edit":
		after, why = replaced(o, text)
	case "MultiEdit":
		list := editList(o)
		for i, e := range list {
			if after, why = replaced(e, after); why != "" {
				return fmt.Sprintf("edit %d of %d: %s", i+1, len(list), why)
			}
		}
	case "Write":
		if text == "" || !textAt(o, "content", &after) {
			return ""
		}
	}
	switch {
	case why != "":
		return why
	case after == text:
		return ""
	case len(text)+len(after) > maxCompared:
		return fmt.Sprintf("%d lines become %d", lines(text), lines(after))
	}
	diff := udiff.Unified("", "", text, after)
	for range 2 { // the file names, which the request says
		_, diff, _ = strings.Cut(diff, "\n")
	}
	return strings.TrimSuffix(diff, "\n")
}

// replaced is the text with one edit made as the tools make it, or why they do not make it.
func replaced(o *jsonobj.Object, text string) (after, why string) {
	var old, is string
	if !textAt(o, "old_string", &old) || !textAt(o, "new_string", &is) || old == "" {
		return text, ""
	}
	all, _ := o.Get("replace_all")
	switch n := strings.Count(text, old); {
	case n == 0:
		return text, "the text that it replaces is not in the file"
	case n > 1 && string(all) != "true":
		return text, fmt.Sprintf("the text that it replaces occurs %d times in the file", n)
	}
	return strings.ReplaceAll(text, old, is), ""
}

// lines counts the lines of a text.
func lines(text string) int { return strings.Count(ended(strings.TrimSuffix(text, "\n")), "\n") }

// editList has the edits of a MultiEdit; nil: one cannot be read.
func editList(o *jsonobj.Object) (list []*jsonobj.Object) {
	raw, _ := o.Get("edits")
	var edits []json.RawMessage
	if json.Unmarshal(raw, &edits) != nil {
		return nil
	}
	for _, one := range edits {
		e := object(one)
		if e == nil {
			return nil
		}
		list = append(list, e)
	}
	return list
}

// editsOf returns every edit of a list, each under its number.
func editsOf(o *jsonobj.Object) string {
	list := editList(o)
	var b strings.Builder
	for i, e := range list {
		text := editOf(e)
		if text == "" {
			return ""
		}
		fmt.Fprintf(&b, "edit %d of %d:\n%s\n", i+1, len(list), text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func editOf(o *jsonobj.Object) string {
	text := linesOf(o, "old_string", "new_string")
	if all, _ := o.Get("replace_all"); text != "" && string(all) == "true" {
		return "everywhere in the file:\n" + text
	}
	return text
}

// linesOf compares two texts of an object by lines; old may name no field.
func linesOf(o *jsonobj.Object, old, is string) string {
	before, after := "", ""
	if old != "" && !textAt(o, old, &before) || !textAt(o, is, &after) || before == after {
		return ""
	}
	return lineDiff(before, after)
}

func textAt(o *jsonobj.Object, key string, to *string) bool {
	raw, ok := o.Get(key)
	return ok && len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, to) == nil
}

// maxCompared is the largest size of texts that are compared line by line; longer ones are shown as
// all lines removed and all lines added.
const maxCompared = 64 << 10

// lineDiff compares two texts and returns all lines of both.
func lineDiff(before, after string) string {
	if !strings.HasSuffix(before, "\n") && !strings.HasSuffix(after, "\n") {
		before, after = ended(before), ended(after)
	}
	edits := []udiff.Edit{{Start: 0, End: len(before), New: after}}
	if len(before)+len(after) <= maxCompared {
		edits = udiff.Lines(before, after)
	}
	text, err := udiff.ToUnified("", "", before, edits, strings.Count(before, "\n")+1)
	if err != nil {
		return ""
	}
	for range 3 { // the file names and the position, which are not known
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSuffix(text, "\n")
}

// ended returns a text with a newline at its end.
func ended(s string) string {
	if s == "" {
		return s
	}
	return s + "\n"
}
