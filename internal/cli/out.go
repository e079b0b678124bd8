package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"waggle/internal/jsonobj"
	"waggle/operator"
	"waggle/team"
)

// document writes one JSON document to stdout.
func (a *App) document(v any) error {
	b, err := jsonobj.MarshalIndent(v)
	return writeJSON(a.Out, b, err)
}

// line writes one JSON document on one line: for --follow.
func (a *App) line(v any) error {
	b, err := jsonobj.Marshal(v)
	return writeJSON(a.Out, b, err)
}

// writeJSON writes a document, which may go to a terminal: no needless escape is in
// it, and every character that is operator.Hidden is escaped, C1 and direction
// controls among them. Its value is the same.
func writeJSON(w io.Writer, doc []byte, err error) error {
	if err == nil {
		_, err = w.Write(append(jsonobj.Respell(nil, doc, operator.Hidden), '\n'))
	}
	return err
}

// say writes a line of data for people.
func (a *App) say(format string, args ...any) { fprint(a, a.Out, format, args...) }

// talk writes a line of talk to stderr.
func (a *App) talk(format string, args ...any) {
	if !a.flags.quiet {
		fprint(a, a.Err, format, args...)
	}
}

// fprint writes a line. Whatever a caller has forgotten to make visible, it lets
// through nothing but line ends, tabs and colours.
func fprint(a *App, w io.Writer, format string, args ...any) {
	fmt.Fprintln(&colorprofile.Writer{Forward: w, Profile: a.profile(w)}, operator.VisibleStyled(fmt.Sprintf(format, args...)))
}

// Styles of words. Colour is dropped by the writer where it is not wanted.
var (
	bold   = lipgloss.NewStyle().Bold(true).Render
	faint  = lipgloss.NewStyle().Faint(true).Render
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green).Render
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red).Render
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow).Render
)

// inColor gives a member's name its colour. What is no colour, and a terminal
// that wants none, leaves it as it is.
func inColor(color, s string) string {
	params, ok := team.SGR(color)
	if !ok {
		return s
	}
	return "\x1b[" + params + "m" + s + "\x1b[39m"
}

// table writes rows under headers. On a terminal the widest columns are cut so
// that a row is a line; elsewhere nothing is cut. Cells are made visible.
func (a *App) table(headers []string, rows [][]string) { a.tableIn(headers, rows, nil) }

// tableIn is table with cells that style may colour; it is given the row's number
// without the headers, and keeps the width as it is.
func (a *App) tableIn(headers []string, rows [][]string, style func(row, column int, cell string) string) {
	for _, l := range tableLines(headers, rows, width(a.Out), style) {
		a.say("%s", l)
	}
}

// tableLines are the lines of a table of at most total columns, 0 for any number;
// the first has the headers.
func tableLines(headers []string, rows [][]string, total int, style func(row, column int, cell string) string) []string {
	w := make([]int, len(headers))
	all := append([][]string{headers}, rows...)
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
				c = bold(c)
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

// list is table for rows whose last cell says what they are about. On a terminal
// on which a row does not fit, those cells follow on lines of their own: wrapped,
// and cut only after listLines lines.
func (a *App) list(headers []string, rows [][]string) {
	total := width(a.Out)
	whole := tableLines(headers, rows, 0, nil)
	if total == 0 || !slices.ContainsFunc(whole, func(l string) bool { return ansi.StringWidth(l) > total }) {
		for _, l := range whole {
			a.say("%s", l)
		}
		return
	}
	last := len(headers) - 1
	front := make([][]string, len(rows))
	for i, r := range rows {
		front[i] = r[:last]
	}
	for i, l := range tableLines(headers[:last], front, total, nil) {
		a.say("%s", l)
		if i == 0 {
			continue
		}
		about := strings.Split(ansi.Wrap(operator.Visible(rows[i-1][last]), max(20, total-4), ""), "\n")
		if len(about) > listLines {
			about = append(about[:listLines], "…")
		}
		for _, l := range about {
			a.say("    %s", l)
		}
	}
}

// wrap cuts a line into pieces of at most total columns, 0 or less for any number.
// Joined they are the line: no space is lost where it is cut.
func wrap(l string, total int) []string {
	if total <= 0 {
		return []string{l}
	}
	return strings.Split(ansi.Hardwrap(l, max(20, total), true), "\n")
}

// wrapAll is wrap for lines that may begin with a bar: a piece but the first has a +
// in its place, so that no text can look like a line of its own.
func wrapAll(lines []string, total int) []string {
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
