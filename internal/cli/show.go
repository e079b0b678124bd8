package cli

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"waggle"
	"waggle/internal/view"
	"waggle/operator"
)

// show writes a page about a team. colors are asked for when a table names members; nil: no
// name has a colour.
func (a *App) show(p view.Page, name waggle.TeamName, colors func() map[string]string) {
	for _, b := range p {
		if b.Table == nil {
			a.say("%s", a.spelled(b.Line, name))
			continue
		}
		a.showTable(b.Table, colors)
	}
}

// give writes a document with --json, and else shows a page about no team.
func (a *App) give(doc any, page view.Page) error {
	if a.flags.json {
		return a.document(doc)
	}
	a.show(page, "", nil)
	return nil
}

// tell writes the lines of a page to stderr.
func (a *App) tell(p view.Page, name waggle.TeamName) {
	for _, b := range p {
		a.talk("%s", a.spelled(b.Line, name))
	}
}

// notes tells what a reader of the data has to know.
func (a *App) notes(texts []string) {
	for _, t := range texts {
		a.talk("%s %s", yellow("note:"), operator.Visible(t))
	}
}

func (a *App) showTable(t *view.Table, colors func() map[string]string) {
	switch {
	case t.Below != nil:
		a.tableBelow(t)
	case t.Bare:
		for _, l := range tableLines(make([]string, len(t.Rows[0])), t.Rows, width(a.Out), nil)[1:] {
			a.say("  %s", l)
		}
	case t.About:
		a.list(t.Head, t.Rows)
	case t.Roles != nil:
		a.tableIn(t.Head, t.Rows, func(row, column int, cell string) string {
			if cell == "" {
				return cell
			}
			return inRole(t.Roles[row][column], cell)
		})
	case t.Names != nil && colors != nil:
		of := colors()
		a.tableIn(t.Head, t.Rows, func(row, column int, cell string) string {
			if column != 0 {
				return cell
			}
			return inColor(of[t.Names[row]], cell)
		})
	default:
		a.table(t.Head, t.Rows)
	}
}

// inRole gives a text the style of its role.
func inRole(r view.Role, text string) string {
	switch r {
	case view.Strong:
		return bold(text)
	case view.Faint:
		return faint(text)
	case view.Warning:
		return yellow(text)
	case view.Good:
		return green(text)
	case view.Bad:
		return red(text)
	}
	return text
}

// tableBelow is a table whose rows have lines below them. On a terminal on which a row does
// not fit, its last cell is the first of them.
func (a *App) tableBelow(t *view.Table) {
	total, head, rows := width(a.Out), t.Head, t.Rows
	below := make([][]string, len(rows))
	for i, ls := range t.Below {
		for _, l := range ls {
			below[i] = append(below[i], a.spelled(l, ""))
		}
	}
	if total > 0 && slices.ContainsFunc(tableLines(head, rows, 0, nil), func(l string) bool { return ansi.StringWidth(l) > total }) {
		last := len(head) - 1
		for i, r := range rows {
			below[i] = append([]string{operator.Visible(r[last])}, below[i]...)
			rows[i] = r[:last]
		}
		head = head[:last]
	}
	for i, l := range tableLines(head, rows, total, nil) {
		a.say("%s", l)
		if i == 0 {
			continue
		}
		for _, l := range wrapAll(below[i-1], total-4) {
			a.say("    %s", l)
		}
	}
}

// spelled is a line with its colours and its commands.
func (a *App) spelled(l view.Line, name waggle.TeamName) string {
	var b strings.Builder
	for _, s := range l {
		text := operator.Visible(s.Text)
		if s.Next.Step != "" {
			text += stepText(s.Next)
		}
		if s.Scoped {
			text += a.scope(name)
		}
		text = inRole(s.Role, text)
		if s.Color != "" {
			text = inColor(s.Color, text)
		}
		b.WriteString(text)
	}
	return b.String()
}
