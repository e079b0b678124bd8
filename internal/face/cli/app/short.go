package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/ask"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
)

// shortLines is how many lines a request has in short, above the line of keys.
const shortLines = 5

// shortText lays a request out for a number of columns, 0 for any. Text of agents never begins a line. What does not fit
// is counted. more is how many other requests wait; rule says that a key adds the narrowest rule.
func shortText(q decide.Request, cols, more int, rule bool) ask.Short {
	s := view.ShortOf(q)
	l := shortLayout{head: labelled("", s.Head+others(more), cols), notes: notesLines(s, cols)}
	l.body, l.marked = bodyLines(s.Body, cols)
	if s.Why != "" {
		l.why = []string{labelled("why", s.Why, 0)[0]}
		if cols > 0 {
			l.why[0] = ansi.Truncate(l.why[0], cols-1, "…")
		}
	}
	if rule {
		l.rule = labelled("rule", fmt.Sprintf("r adds %s for %s, 24 hours", s.Rule, q.Member), cols)
	}
	return l.fit()
}

func others(more int) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf("  (%d more to answer)", more)
}

// notesLines are the directory and whatever else is not as usual.
func notesLines(s view.Short, cols int) (lines []string) {
	notes := s.Notes
	label := "with"
	if s.In != "" {
		label, notes = "in", append([]string{s.In}, notes...)
	}
	if len(notes) > 0 {
		lines = labelled(label, strings.Join(notes, "; "), cols)
	}
	return lines
}

// labelWidth is that of the names of the lines.
const labelWidth = 5

// labelled is a text behind its name; what is wider than cols goes on behind a mark.
func labelled(name, text string, cols int) (lines []string) {
	indent := 0
	if name != "" {
		indent = labelWidth
	}
	width := 0
	if cols > 0 {
		width = cols - 1 - max(indent, labelWidth)
	}
	for i, piece := range wrap(operator.Visible(text), width) {
		switch {
		case i > 0:
			piece = strings.Repeat(" ", labelWidth-2) + "+ " + piece
		case name != "":
			piece = Bold(fmt.Sprintf("%-*s", labelWidth, name)) + piece
		default:
			piece = Bold(piece)
		}
		lines = append(lines, piece)
	}
	return lines
}

// bodyLines are the lines of an agent's text behind a bar, and the same with a line of ^ below the risky parts of those
// that are not wrapped.
func bodyLines(body []view.ShortLine, cols int) (lines, marked []string) {
	for _, l := range body {
		bar := "| "
		if l.Stdin {
			bar = "< "
		}
		width := 0
		if cols > 0 {
			width = cols - 5
		}
		pieces := wrap(operator.Visible(l.Text), width)
		for i, piece := range pieces {
			if i > 0 {
				bar = "+ "
			}
			lines, marked = append(lines, "  "+bar+piece), append(marked, "  "+bar+piece)
		}
		if under := marks(l); under != "" && len(pieces) == 1 {
			marked = append(marked, "    "+Red(under))
		}
	}
	return lines, marked
}

// marks is a line of ^ below the risky parts of a line.
func marks(l view.ShortLine) string {
	width := func(n int) int { return ansi.StringWidth(operator.Visible(l.Text[:n])) }
	var b strings.Builder
	for _, p := range l.Risky {
		if gap := width(p.From) - b.Len(); gap > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		b.WriteString(strings.Repeat("^", max(0, width(p.To)-b.Len())))
	}
	return b.String()
}

// shortLayout are the lines to be fitted into shortLines.
type shortLayout struct{ head, body, marked, why, notes, rule []string }

// fit leaves out, in this order, the rule, the marks, and why it asks with the end of what does not fit.
func (l shortLayout) fit() (out ask.Short) {
	if most := max(1, shortLines-len(l.head)-len(l.why)-1); len(l.notes) > most {
		l.notes = append(l.notes[:most-1:most-1], "  … more of what runs, and where")
		out.Hides = true
	}
	room := shortLines - len(l.head) - len(l.notes) - len(l.why)
	if room < min(2, len(l.body)) {
		l.why, room = nil, room+len(l.why)
	}
	switch {
	case len(l.rule) > 0 && len(l.marked)+len(l.rule) <= room:
		l.body, out.Choices = l.marked, true
	case len(l.marked) <= room:
		l.body = l.marked
	case len(l.body) > max(1, room):
		out.Hides = true
		shown := max(1, room-1)
		l.body = append(l.body[:shown:shown], "  … "+page.Count(len(l.body)-shown, "more line"))
	}
	if !out.Choices {
		l.rule = nil
	}
	out.Text = strings.Join(slices.Concat(l.head, l.body, l.why, l.notes, l.rule), "\n")
	return out
}

// wordsText is a question that takes words, or a proposal, with the command that answers it.
func wordsText(q decide.Request, cols int) string {
	if q.Kind == decide.KindProposal {
		return shortText(q, cols, 0, false).Text + "\nstart it with waggle approve " + q.Handle + ", or refuse it with waggle deny " + q.Handle
	}
	s := view.ShortOf(q)
	body, _ := bodyLines(s.Body, cols)
	answers := ""
	for _, one := range q.Questions {
		words := " CHOICE"
		if one.Multiple {
			words += ",…"
		}
		if !one.Closed {
			words += "|TEXT"
		}
		answers += words
	}
	return strings.Join(slices.Concat(labelled("", s.Head, cols), body, []string{"answer it with words: waggle answer " + q.Handle + answers}), "\n")
}
