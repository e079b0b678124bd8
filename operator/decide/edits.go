package decide

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"waggle/internal/jsonobj"
)

// Edits shows the change that a call of an editing tool makes, as lines that begin with -, + or a
// blank. It uses only the input and does not read the file. It is "" for other tools and for an
// input of another form, which is shown as JSON.
func (q Question) Edits() string {
	o, err := jsonobj.Parse(q.Input)
	if err != nil || len(o.Duplicates()) > 0 {
		return ""
	}
	switch q.Tool {
	case "Edit":
		return editOf(o)
	case "MultiEdit":
		return editsOf(o)
	case "Write":
		return linesOf(o, "", "content")
	case "NotebookEdit":
		return linesOf(o, "", "new_source")
	}
	return ""
}

// editsOf returns every edit of a list, each under its number.
func editsOf(o *jsonobj.Object) string {
	raw, _ := o.Get("edits")
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var b strings.Builder
	for i, one := range list {
		e, err := jsonobj.Parse(one)
		if err != nil || len(e.Duplicates()) > 0 {
			return ""
		}
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
