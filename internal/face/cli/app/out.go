package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/team"
)

// Document writes one JSON document to stdout, with its steps in commands and its ages now.
func (a *App) Document(v any) error {
	b, err := page.Document(a.Told(v))
	return WriteJSON(a.Out, b, err)
}

// Line writes one JSON document on one line: for --follow.
func (a *App) Line(v any) error {
	b, err := page.DocumentLine(a.Told(v))
	return WriteJSON(a.Out, b, err)
}

// Told is a document with its steps in commands and its ages now.
func (a *App) Told(doc any) page.Told { return page.Told{Doc: doc, Spell: StepText, Now: a.Now()} }

// WriteJSON writes a document, which may go to a terminal: it contains no needless escape, and
// every character that is operator.Hidden is escaped, C1 and direction controls among them. Its
// value is the same.
func WriteJSON(w io.Writer, doc []byte, err error) error {
	if err == nil {
		_, err = w.Write(append(jsonobj.Respell(nil, doc, operator.Hidden), '\n'))
	}
	return Unread(err)
}

// Say writes a line of data for people.
func (a *App) Say(format string, args ...any) { Fprint(a, a.Out, format, args...) }

// Talk writes a line about the command to stderr.
func (a *App) Talk(format string, args ...any) {
	if !a.Flags.Quiet {
		Fprint(a, a.Err, format, args...)
	}
}

// Fprint writes a line. As a last filter it passes only visible text, line ends, tabs and colours.
func Fprint(a *App, w io.Writer, format string, args ...any) {
	fmt.Fprintln(&colorprofile.Writer{Forward: w, Profile: a.Profile(w)}, operator.VisibleStyled(fmt.Sprintf(format, args...)))
}

// Styles of words. The writer drops colours where they are not wanted.
var (
	Bold   = lipgloss.NewStyle().Bold(true).Render
	Faint  = lipgloss.NewStyle().Faint(true).Render
	Green  = lipgloss.NewStyle().Foreground(lipgloss.Green).Render
	Red    = lipgloss.NewStyle().Foreground(lipgloss.Red).Render
	Yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow).Render
)

// inColor gives a member's name its colour. An unknown colour leaves it as it is.
func inColor(color, s string) string {
	params, ok := team.SGR(color)
	if !ok {
		return s
	}
	return "\x1b[" + params + "m" + s + "\x1b[39m"
}

// Table writes rows under headers. On a terminal the widest columns are cut so that a row fits in a
// line; elsewhere nothing is cut. Cells are made visible.
func (a *App) Table(headers []string, rows [][]string) { a.tableIn(headers, rows, nil) }

// tableIn is Table with cells that style may colour; style gets the row's number, without the
// headers, and does not change the width.
func (a *App) tableIn(headers []string, rows [][]string, style func(row, column int, cell string) string) {
	for _, l := range tableLines(headers, rows, Width(a.Out), style) {
		a.Say("%s", l)
	}
}

// tableLines returns the lines of a table of at most total columns, 0 for any number; the first has
// the headers. A row may have fewer cells than another.
func tableLines(headers []string, rows [][]string, total int, style func(row, column int, cell string) string) []string {
	all := append([][]string{headers}, rows...)
	columns := 0
	for _, r := range all {
		columns = max(columns, len(r))
	}
	w := make([]int, columns)
	for _, r := range all {
		for i := range r {
			r[i] = operator.Visible(r[i])
			w[i] = max(w[i], ansi.StringWidth(r[i]))
		}
	}
	fit(w, total)
	var lines []string
	for n, r := range all {
		cells := make([]string, len(r))
		for i, c := range r {
			c = ansi.Truncate(c, w[i], "…")
			pad := ""
			if i < len(r)-1 {
				pad = strings.Repeat(" ", w[i]-ansi.StringWidth(c))
			}
			switch {
			case n == 0:
				c = Bold(c)
			case style != nil:
				c = style(n-1, i, c)
			}
			cells[i] = c + pad
		}
		lines = append(lines, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
	return lines
}

// listLines is how many lines of a terminal the last cell of a list's row gets.
const listLines = 4

// List is Table for rows whose last cell describes them. On a terminal on which a row does not fit,
// those cells follow on lines of their own: wrapped, and cut only after listLines lines.
func (a *App) List(headers []string, rows [][]string) {
	total := Width(a.Out)
	if !overflows(headers, rows, total) {
		a.Table(headers, rows)
		return
	}
	last := len(headers) - 1
	front, below := make([][]string, len(rows)), make([][]string, len(rows))
	for i, r := range rows {
		about := strings.Split(ansi.Wrap(operator.Visible(r[last]), max(20, total-4), ""), "\n")
		if len(about) > listLines {
			about = append(about[:listLines], "…")
		}
		front[i], below[i] = r[:last], about
	}
	a.spread(headers[:last], front, below)
}

// overflows reports that a row of a table is wider than total columns, 0 for any number.
func overflows(headers []string, rows [][]string, total int) bool {
	return total > 0 && slices.ContainsFunc(tableLines(headers, rows, 0, nil), func(l string) bool { return ansi.StringWidth(l) > total })
}

// spread is Table with lines below each row.
func (a *App) spread(headers []string, rows, below [][]string) {
	for i, l := range tableLines(headers, rows, Width(a.Out), nil) {
		a.Say("%s", l)
		if i == 0 {
			continue
		}
		for _, l := range below[i-1] {
			a.Say("    %s", l)
		}
	}
}

// wrap cuts a line into pieces of at most total columns, 0 or less for any number. Joined, the
// pieces are the line: no space is dropped at a cut.
func wrap(l string, total int) []string {
	if total <= 0 {
		return []string{l}
	}
	return strings.Split(ansi.Hardwrap(l, max(8, total), true), "\n")
}

// fold breaks a line between words where it is wider than total columns, 0 for any number. What follows
// is indented, so that it is no line of its own; a word that is too long stays whole, as a command or a
// path is copied.
func fold(l string, total int) string {
	if total <= 0 || ansi.StringWidth(l) <= total {
		return l
	}
	plain := ansi.Strip(l)
	if strings.HasPrefix(strings.TrimLeft(plain, " "), "| ") {
		return strings.Join(WrapAll([]string{l}, total), "\n")
	}
	indent := strings.Repeat(" ", min(len(plain)-len(strings.TrimLeft(plain, " "))+4, total/2))
	var out strings.Builder
	width := 0 // of the line that is being written
	for i, word := range strings.Split(l, " ") {
		w := ansi.StringWidth(word)
		switch {
		case i == 0:
			width = w
		case w > 0 && width+1+w > total && width > len(indent):
			out.WriteString("\n" + indent)
			width = len(indent) + w
		default:
			out.WriteByte(' ')
			width += 1 + w
		}
		out.WriteString(word)
	}
	return out.String()
}

// errWidth is how wide a line on stderr may be, 0 for any width.
func (a *App) errWidth() int {
	if a.Log {
		return 0
	}
	return Width(a.Err)
}

// WrapAll is wrap for lines that may begin with a bar: every piece but the first has a + in its
// place, so that no text can imitate the beginning of a line.
func WrapAll(lines []string, total int) []string {
	var out []string
	for _, l := range lines {
		head, text, has := strings.Cut(l, "| ")
		if has = has && strings.Trim(head, " ") == ""; !has {
			head, text = "", l
		}
		for i, piece := range wrap(text, total-len(head)-2) {
			switch {
			case i > 0:
				piece = head + "+ " + piece
			case has:
				piece = head + "| " + piece
			}
			out = append(out, piece)
		}
	}
	return out
}

// fit shrinks the widest column until a row fits.
func fit(w []int, total int) {
	if total == 0 {
		return
	}
	for {
		sum, widest := 2*(len(w)-1), 0
		for i, n := range w {
			sum += n
			if n > w[widest] {
				widest = i
			}
		}
		if sum <= total || w[widest] <= 8 {
			return
		}
		w[widest] -= min(sum-total, w[widest]-8)
	}
}

// QuestionText returns everything that a decision is about; it cuts nothing decisive, and writes
// hidden characters as codes. Text of agents never begins a line: what is wider than total columns,
// 0 for any number, continues behind a mark.
func (a *App) QuestionText(q decide.Request, total int) string {
	var b strings.Builder
	row := func(k, v string) {
		for i, l := range wrap(operator.Visible(v), total-11) {
			head := Bold(fmt.Sprintf("%-8s", k))
			if i > 0 {
				head = strings.Repeat(" ", 8) + " +"
			}
			fmt.Fprintf(&b, "%s %s\n", head, l)
		}
	}
	for _, f := range view.QuestionFields(q, view.RiskParts(q), a.Clock()) {
		if f.Block {
			b.WriteString(Block(f.Name, f.Text, total))
		} else {
			row(f.Name, f.Text)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// Block is a text behind a bar, below its name, in lines of at most total columns; 0: any number.
func Block(name, text string, total int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", Bold(name))
	for _, l := range strings.Split(text, "\n") {
		for _, l := range WrapAll([]string{"  | " + operator.Visible(l)}, total) {
			fmt.Fprintf(&b, "%s\n", l)
		}
	}
	return b.String()
}

// SayNote shows progress on stderr.
func (a *App) SayNote(n operator.Note) {
	what := n.What
	switch n.What {
	case "completed":
		what = Green(what)
	case "failed", "skipped", "unverified":
		what = Red(what)
	case "asked", operator.NoteOverlap, operator.NoteKept:
		what = Yellow(what)
	default:
		what = Faint(what)
	}
	text := fmt.Sprintf("%s %s %s", Bold(operator.Visible(n.Member)), what, operator.Visible(page.Local(page.Spell(StepText).Sentence(operator.Sentence{Text: n.Text, Do: n.Next}), a.Clock())))
	a.Talk("%s", fold(text, a.errWidth()))
}

// Scope returns the flags that the next command needs too.
func (a *App) Scope(name protocol.TeamName) string {
	s := ""
	if a.Flags.Root != "" {
		s += " --root " + a.Flags.Root
	}
	if a.Flags.State != "" {
		s += " --state " + a.Flags.State
	}
	if a.named(name) {
		s += " --team " + string(name)
	}
	return s
}
