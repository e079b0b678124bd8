package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
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
	code
	chosen
)

// sgr are the sequences of the styles: attributes and the first eight colours, which every terminal
// shows in its own palette.
var sgr = [...]string{"", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[32m", "\x1b[31m", "\x1b[36m", "\x1b[7m"}

func (s style) of(text string) string {
	if s == plain || text == "" {
		return text
	}
	return sgr[s] + text + "\x1b[m"
}

// each is the style of every line.
func (s style) each(string) style { return s }

// line is one line of a pane: visible characters only, no wider than the pane it was laid out for.
type line struct {
	style style
	text  string
	at    int    // the number of the line of a diff, from 1; 0: it is none
	spans []span // parts of another style, in order; none overlaps another
}

// span is a part of a text with a style of its own: the bytes from one to before another.
type span struct {
	from, to int
	style    style
}

// paint is a line of w columns with its styles.
func (l line) paint(w int) string {
	text := fit(l.text, w)
	if l.spans == nil || !strings.HasPrefix(text, l.text) {
		return l.style.of(text)
	}
	var b strings.Builder
	at := 0
	for _, p := range l.spans {
		b.WriteString(l.style.of(text[at:p.from]))
		b.WriteString(p.style.of(text[p.from:p.to]))
		at = p.to
	}
	b.WriteString(l.style.of(text[at:]))
	return b.String()
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

// wrap cuts a visible line into pieces of at most w columns, behind a blank where one is near the end of a piece. Joined,
// the pieces are the line.
func wrap(l string, w int) (pieces []string) {
	w = max(8, w)
	if len(l) <= w { // a character has no more columns than bytes
		return []string{l}
	}
	for ansi.StringWidth(l[:min(len(l), 8*w)]) > w {
		piece := ansi.Hardwrap(l[:min(len(l), 8*w)], w, true)
		piece, _, _ = strings.Cut(piece, "\n")
		if i := strings.LastIndexByte(piece, ' ') + 1; i > len(piece)/2 && l[len(piece)] != ' ' {
			piece = piece[:i]
		}
		pieces, l = append(pieces, piece), l[len(piece):]
	}
	if ansi.StringWidth(l) <= w {
		return append(pieces, l)
	}
	return append(pieces, strings.Split(ansi.Hardwrap(l, w, true), "\n")...) // characters without width
}

// block lays out text of several lines behind a bar, each in its style. The continuation of a line has a + in its
// place, so that no text can imitate the beginning of a line.
func block(lines []line, text string, of func(string) style, w int) []line {
	for l := range strings.SplitSeq(text, "\n") {
		lines = blockLine(lines, operator.Visible(l), of(l), nil, w)
	}
	return lines
}

// barWidth is the width of the bar of a block.
const barWidth = 4

// blockLine lays out one visible line of a block; spans are parts of it, in order.
func blockLine(lines []line, text string, s style, spans []span, w int) []line {
	at := 0
	for i, piece := range wrap(text, w-barWidth) {
		l := line{style: s, text: "  | " + piece}
		if i > 0 {
			l.text = "  + " + piece
		}
		for _, p := range spans {
			if from, to := max(p.from, at), min(p.to, at+len(piece)); from < to {
				l.spans = append(l.spans, span{from - at + barWidth, to - at + barWidth, p.style})
			}
		}
		lines = append(lines, l)
		at += len(piece)
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
// what makes it risky, then the other fields, and the rule that would cover it. Nothing of them is cut.
func (m *model) askLines(q decide.Request, w int) []line {
	lines := wrapped(nil, view.AskHead(q), riskStyle(q.Risk), w)
	parts := view.RiskParts(q)
	fields := view.QuestionFields(q, parts, m.now)
	lines = subjectLines(lines, q, fields, w)
	for i, p := range parts { // all of a text of several lines is not marked line by line
		if p.From == 0 && p.To >= len(q.Command) && (len(wrap(q.Command, w-barWidth)) > 1 || strings.Contains(q.Command, "\n")) {
			parts[i].To = 0
		}
	}
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
		lines = block(lines, strings.TrimSuffix(diff, "\n"), diffStyle, w)
	}
	notes := view.ShortOf(q).Notes
	for _, f := range fields {
		if !f.Block && !inHead(q, f) && !usual(f, notes) {
			lines = field(lines, f.Name, f.Text, plain, w)
		}
	}
	if m.mode != ruling {
		lines = m.ruleLines(lines, q, w)
	}
	return lines
}

// subjectLines is what a request is about before its texts: what is asked in words, the host, the file with where it
// leads, or the input of a tool of which no text is shown.
func subjectLines(lines []line, q decide.Request, fields []view.Field, w int) []line {
	switch {
	case len(q.Questions) > 0:
		lines = block(lines, strings.Join(q.Asks(), "\n"), plain.each, w)
		for i, one := range q.Questions {
			about := ""
			if len(q.Questions) > 1 {
				about = fmt.Sprintf("question %d: ", i+1)
			}
			if one.Multiple {
				lines = field(lines, "answer", about+"several may be chosen, as 1,2", plain, w)
			}
			if one.Closed {
				lines = field(lines, "answer", about+"one of these, no other words", plain, w)
			}
		}
		return lines
	case q.Host != "":
		return field(lines, "host", decide.ShownHost(q.Host, q.Port), strong, w)
	case q.Edited() != "":
		lines = field(lines, "file", q.Edited(), strong, w)
		for _, f := range fields {
			if f.Name == "path" {
				lines = field(lines, f.Name, f.Text, plain, w)
			}
		}
	}
	switch more := view.FurtherInput(q); {
	case more != "":
		lines = inputLines(lines, more, w)
	case q.Tool != "" && q.Command == "" && q.Edits() == "" && q.Plan == "":
		lines = inputLines(lines, decide.ShownJSON(string(q.Input)), w)
	}
	return lines
}

// inputLines lays out JSON: in a line, or each of its fields in one.
func inputLines(lines []line, text string, w int) []line {
	const name = "input"
	var b bytes.Buffer
	if ansi.StringWidth(text) <= w-nameWidth-2 || json.Indent(&b, []byte(text), "", "  ") != nil {
		return field(lines, name, text, plain, w)
	}
	return block(append(lines, line{style: strong, text: fit(name, w)}), b.String(), plain.each, w)
}

// ruleLines is the narrowest rule that would cover a request, for whom and until when, and how it is made.
func (m *model) ruleLines(lines []line, q decide.Request, w int) []line {
	switch {
	case q.Kind == decide.KindProposal || record.GateOf(protocol.Kind(q.Kind)) != policy.GateTool:
		return lines
	case len(q.Suggest) == 0:
		return field(lines, "rule", "none should cover it", plain, w)
	}
	lines = field(lines, "rule", q.Suggest[0], plain, w)
	if !ruled(q) {
		return field(lines, "", "made on the command line: it is in no team", plain, w)
	}
	text := fmt.Sprintf("for %s, %s: %s adds it", q.Member, ruleEnds[0].says(false), m.keyOf(cmdRule))
	if n := len(q.Suggest) - 1; n > 0 {
		text += fmt.Sprintf(" (%d wider)", n)
	}
	return field(lines, "", text, plain, w)
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
		return block(lines, f.Text, diffStyle, w)
	case "plan":
		return planLines(lines, f.Text, w)
	}
	return block(lines, f.Text, plain.each, w)
}

// marked is block with the risky parts of the text in their colour, a line of ^ below each, and why it is risky.
func marked(lines []line, text string, parts []policy.RiskPart, w int) []line {
	at := 0 // the offset of the line in the text
	for _, l := range strings.Split(text, "\n") {
		from := len(lines)
		lines = blockLine(lines, operator.Visible(l), plain, riskSpans(l, at, parts), w)
		pieces := slices.Clone(lines[from:])
		lines = lines[:from]
		var there []markedPart // of the visible line
		for _, p := range parts {
			if a, b := visibleWidth(l, p.From-at), visibleWidth(l, p.To-at); p.To > 0 && a < b {
				there = append(there, markedPart{a, b, p.Why})
			}
		}
		col := 0 // of the piece in the visible line
		for i, piece := range pieces {
			lines = append(lines, piece)
			wide := ansi.StringWidth(piece.text) - barWidth
			for _, p := range there {
				a, b := p.from, p.to
				if b <= col || a >= col+wide {
					continue
				}
				under := strings.Repeat(" ", barWidth+max(0, a-col)) + strings.Repeat("^", min(b, col+wide)-max(a, col))
				why := ""
				if b <= col+wide || i == len(pieces)-1 {
					why = p.why
				}
				if why == "" || ansi.StringWidth(under+" "+why) <= w {
					lines = append(lines, line{style: bad, text: strings.TrimRight(under+" "+why, " ")})
					continue
				}
				lead := barWidth + max(0, a-col)
				if n := ansi.StringWidth(why); n+1 <= lead { // on the other side
					lines = append(lines, line{style: bad, text: strings.Repeat(" ", lead-n-1) + why + under[lead-1:]})
					continue
				} else if n <= w-barWidth { // below, as near as it fits
					lines = append(lines, line{style: bad, text: under}, line{style: bad, text: strings.Repeat(" ", min(lead, w-n)) + why})
					continue
				}
				lines = append(lines, line{style: bad, text: under})
				for _, u := range wrap(why, w-barWidth) {
					lines = append(lines, line{style: bad, text: "    " + u})
				}
			}
			col += wide
		}
		at += len(l) + 1
	}
	return lines
}

// markedPart is a risky part of a visible line by its columns.
type markedPart struct {
	from, to int
	why      string
}

// riskSpans are the risky parts of a line that begins at an offset of its text, as spans of the visible line.
func riskSpans(l string, at int, parts []policy.RiskPart) (spans []span) {
	visible := func(n int) int { return len(operator.Visible(l[:max(0, min(n, len(l)))])) }
	for _, p := range parts {
		if from, to := visible(p.From-at), visible(p.To-at); p.To > 0 && from < to {
			spans = append(spans, span{from, to, bad})
		}
	}
	return united(spans)
}

// united are spans of one style in order, those that overlap as one.
func united(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	for _, p := range spans {
		if n := len(out); n > 0 && p.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// visibleWidth is how wide the first n bytes of a line are when it is shown.
func visibleWidth(l string, n int) int {
	return ansi.StringWidth(operator.Visible(l[:max(0, min(n, len(l)))]))
}

// inHead reports a field that the other lines have said. The digest is computed from
// what is shown, and the id is the asker's name for it: show prints them.
func inHead(q decide.Request, f view.Field) bool {
	switch f.Name {
	case "id", "handle", "risk", "why", "tool", "asks for", "digest", "input", "host":
		return true
	case "status":
		return f.Text == decide.StatusOpen
	case "path":
		return q.Edited() != ""
	case "not held": // nothing runs
		return q.Plan != "" || len(q.Questions) > 0
	case "member", "cwd", "task", "reason", "expires", "asker", "lead", "left by", "allowed":
		return false
	}
	return len(q.Questions) > 0 || strings.HasPrefix(f.Name, "rule ")
}

// usual reports a field of what is as on every system, and of what waggle adds to each call: notes are those that are not.
func usual(f view.Field, notes []string) bool {
	switch f.Name {
	case "env", "word":
		return !slices.Contains(notes, f.Text)
	case "program":
		return !slices.Contains(notes, "run by "+f.Text)
	}
	return false
}

// headed is the style of a line of a batch: the heads of its groups stand out.
func headed(l string) style {
	if strings.HasPrefix(l, " ") {
		return plain
	}
	return strong
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

// toldLines lays out lines in which waggle tells of members. The continuation of a line begins with a +, so that what a
// member chose, a command or a subject, can imitate no line.
func toldLines(text []string, of func(string) style, w int) (lines []line) {
	for _, l := range text {
		lines = wrapped(lines, l, of(l), w)
	}
	return lines
}

// pagesLines lays out lines of waggle's own, or of what a member has written.
func pagesLines(text []string, of func(string) style, w int) []line {
	lines := make([]line, 0, len(text))
	for _, l := range text {
		lines = append(lines, pageLines(of(l), l, w)...)
	}
	return lines
}

// calling is a line of an agent's output about a call that it makes.
var calling = regexp.MustCompile(`^\[[A-Za-z][A-Za-z0-9_-]*\]( |$)`)

// written is the style of a line that a member has written: the calls of an agent stand out, and those that failed.
func written(l string) style {
	switch {
	case calling.MatchString(l):
		return strong
	case strings.HasPrefix(l, "    failed: "):
		return bad
	}
	return plain
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
