package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

// style is the role of a line or of a part of it.
type style int

const (
	plain style = iota
	strong
	faint
	warn
	good
	bad
	chosen
)

// sgr are the sequences of the styles: attributes and the first eight colours, which every terminal
// shows in its own palette.
var sgr = [...]string{"", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[32m", "\x1b[31m", "\x1b[7m"}

func (s style) of(text string) string {
	if s == plain || text == "" {
		return text
	}
	return sgr[s] + text + "\x1b[m"
}

// line is one line of a pane: visible characters only, no wider than the pane it was laid out for.
type line struct {
	style style
	text  string
	at    int // the number of the line of a diff, from 1; 0: it is none
}

// fit cuts or fills text to exactly w columns. Its characters must be visible.
func fit(text string, w int) string {
	if w <= 0 {
		return ""
	}
	n := ansi.StringWidth(text)
	if n > w {
		text = ansi.Truncate(text, w, "…")
		n = ansi.StringWidth(text)
	}
	return text + strings.Repeat(" ", max(0, w-n))
}

// visible makes text of members one visible line of at most about limit characters.
func visible(text string, limit int) string {
	if len(text) > 4*limit {
		text = strings.ToValidUTF8(text[:4*limit], "")
	}
	return operator.Visible(text)
}

// wrap cuts a visible line into pieces of at most w columns. Joined, the pieces are the line.
func wrap(l string, w int) []string {
	if ansi.StringWidth(l) <= w {
		return []string{l}
	}
	return strings.Split(ansi.Hardwrap(l, max(8, w), true), "\n")
}

// block lays out text of several lines behind a bar. The continuation of a line has a + in its
// place, so that no text can imitate the beginning of a line.
func block(lines []line, text string, s style, w int) []line {
	for _, l := range strings.Split(text, "\n") {
		for i, piece := range wrap(operator.Visible(l), w-4) {
			bar := "  | "
			if i > 0 {
				bar = "  + "
			}
			lines = append(lines, line{style: s, text: bar + piece})
		}
	}
	return lines
}

// nameWidth is the width of the names of fields.
const nameWidth = 8

// field lays out a field of one line.
func field(lines []line, name, text string, s style, w int) []line {
	for i, piece := range wrap(operator.Visible(text), w-nameWidth-2) {
		head := fit(name, nameWidth) + "  "
		if i > 0 {
			head = strings.Repeat(" ", nameWidth) + "+ "
		}
		lines = append(lines, line{style: s, text: head + piece})
	}
	return lines
}

// askLines is everything that an answer to a request is about: what runs or is asked first, with
// what makes it risky, then the other fields. Nothing of them is cut.
func (m *model) askLines(q decide.Request, w int) []line {
	lines := wrapped(nil, view.AskHead(q), riskStyle(q.Risk), w)
	fields := view.QuestionFields(q, m.now)
	if len(q.Questions) > 0 {
		lines = block(lines, strings.Join(q.Asks(), "\n"), plain, w)
	}
	parts := view.RiskParts(q)
	for _, f := range fields {
		if f.Block && len(q.Questions) == 0 {
			lines = append(lines, line{style: strong, text: fit(f.Name, w)})
			lines = blockOf(lines, f, parts, w)
		}
	}
	for _, p := range parts {
		if p.To == 0 {
			lines = field(lines, "risk", p.Why, bad, w)
		}
	}
	if diff := m.earlier[q.Digest]; diff != "" {
		lines = append(lines, line{style: strong, text: fit(EarlierTitle(q), w)})
		lines = styledBlock(lines, diff, diffStyle, w)
	}
	for _, f := range fields {
		if !f.Block && !inHead(q, f) {
			lines = field(lines, f.Name, f.Text, plain, w)
		}
	}
	return lines
}

// EarlierTitle is the line above what Source.Earlier returns.
func EarlierTitle(q decide.Request) string {
	if q.Plan != "" {
		return "changes since the revision before"
	}
	return "in the file, when this was shown first"
}

// blockOf lays out a block: a command with its risky parts, a change or a plan.
func blockOf(lines []line, f view.Field, parts []policy.RiskPart, w int) []line {
	switch f.Name {
	case "command":
		return marked(lines, f.Text, parts, w)
	case "edits":
		return styledBlock(lines, f.Text, diffStyle, w)
	case "plan":
		return styledBlock(lines, f.Text, planStyle, w)
	}
	return block(lines, f.Text, plain, w)
}

// styledBlock is block with a style for each line.
func styledBlock(lines []line, text string, of func(string) style, w int) []line {
	for _, l := range strings.Split(text, "\n") {
		lines = block(lines, l, of(l), w)
	}
	return lines
}

// planStyle is the style of a line of a plan: a heading of Markdown stands out. The text is shown as
// it is.
func planStyle(l string) style {
	if strings.HasPrefix(strings.TrimLeft(l, "#"), " ") && strings.HasPrefix(l, "#") {
		return strong
	}
	return plain
}

// marked is block with a line of ^ below each risky part of the text, and why it is risky.
func marked(lines []line, text string, parts []policy.RiskPart, w int) []line {
	at := 0 // the offset of the line in the text
	for _, l := range strings.Split(text, "\n") {
		from := len(lines)
		lines = block(lines, l, plain, w)
		pieces := slices.Clone(lines[from:])
		lines = lines[:from]
		col := 0 // of the piece in the visible line
		for i, piece := range pieces {
			lines = append(lines, piece)
			wide := ansi.StringWidth(piece.text) - 4
			for _, p := range parts {
				a, b := visibleWidth(l, p.From-at), visibleWidth(l, p.To-at)
				if p.To == 0 || a >= b || b <= col || a >= col+wide {
					continue
				}
				under := strings.Repeat(" ", 4+max(0, a-col)) + strings.Repeat("^", min(b, col+wide)-max(a, col))
				why := ""
				if b <= col+wide || i == len(pieces)-1 {
					why = p.Why
				}
				if why == "" || ansi.StringWidth(under+" "+why) <= w {
					lines = append(lines, line{style: bad, text: strings.TrimRight(under+" "+why, " ")})
					continue
				}
				lines = append(lines, line{style: bad, text: under})
				for _, u := range wrap(why, w-4) {
					lines = append(lines, line{style: bad, text: "    " + u})
				}
			}
			col += wide
		}
		at += len(l) + 1
	}
	return lines
}

// visibleWidth is how wide the first n bytes of a line are when it is shown.
func visibleWidth(l string, n int) int {
	return ansi.StringWidth(operator.Visible(l[:max(0, min(n, len(l)))]))
}

// inHead reports a field that the lines above the fields have said. The digest is computed from
// what is shown, and the id is the asker's name for it: show prints them.
func inHead(q decide.Request, f view.Field) bool {
	switch f.Name {
	case "id", "handle", "risk", "why", "tool", "asks for", "digest":
		return true
	case "status":
		return f.Text == decide.StatusOpen
	case "member", "cwd", "task", "reason", "expires", "asker", "lead", "left by", "allowed", "not held":
		return false
	}
	if len(q.Questions) > 0 {
		return true // its words and its options
	}
	switch f.Name {
	case "input":
		return q.Command != "" && !slices.ContainsFunc(q.Asks(), func(l string) bool { return strings.HasPrefix(l, "input ") })
	}
	return false
}

// batchLines is all that a batch covers.
func batchLines(b batch, w int) []line {
	var lines []line
	for _, l := range b.text {
		s := plain
		if !strings.HasPrefix(l, " ") {
			s = strong
		}
		lines = wrapped(lines, l, s, w)
	}
	return lines
}

// wrapped lays out a line that may be long and may begin with a bar. Its continuation has a + in
// the place of the bar.
func wrapped(lines []line, text string, s style, w int) []line {
	text = operator.Visible(text)
	if ansi.StringWidth(text) <= w {
		return append(lines, line{style: s, text: text})
	}
	before, rest, bar := strings.Cut(text, "| ")
	if bar = bar && strings.Trim(before, " ") == ""; !bar {
		before, rest = "  ", text
	}
	for i, piece := range wrap(rest, w-len(before)-2) {
		switch {
		case i > 0:
			piece = before + "+ " + piece
		case bar:
			piece = before + "| " + piece
		}
		lines = append(lines, line{style: s, text: piece})
	}
	return lines
}

func riskStyle(risk string) style {
	switch policy.Risk(risk) {
	case policy.RiskHigh:
		return bad
	case policy.RiskMedium:
		return warn
	}
	return strong
}

// pagesLines lays out lines of a member's output or log.
func pagesLines(text []string, w int) []line {
	lines := make([]line, 0, len(text))
	for _, l := range text {
		lines = append(lines, pageLines(plain, l, w)...)
	}
	return lines
}

// pageLines lays out one line.
func pageLines(s style, l string, w int) (lines []line) {
	for _, piece := range wrap(operator.Visible(l), w) {
		lines = append(lines, line{style: s, text: piece})
	}
	return lines
}

func diffStyle(l string) style {
	switch {
	case strings.HasPrefix(l, "+"):
		return good
	case strings.HasPrefix(l, "-"):
		return bad
	case strings.HasPrefix(l, "@@"):
		return faint
	}
	return plain
}
