package app

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"waggle"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
)

// ShowPage writes a page about a team. It calls colors when a table names members; nil: no name has
// a colour.
func (a *App) ShowPage(p view.Page, name waggle.TeamName, colors func() map[string]string) {
	for _, b := range p {
		if b.Table == nil {
			a.Say("%s", a.Spelled(b.Line, name))
			continue
		}
		a.showTable(b.Table, colors)
	}
}

// Give writes a document with --json, and else shows a page about no team.
func (a *App) Give(doc any, page view.Page) error {
	if a.Flags.JSON {
		return a.Document(doc)
	}
	a.ShowPage(page, "", nil)
	return nil
}

// Tell writes the lines of a page to stderr.
func (a *App) Tell(p view.Page, name waggle.TeamName) {
	for _, b := range p {
		a.Talk("%s", a.Spelled(b.Line, name))
	}
}

// Notes writes remarks about the data to stderr.
func (a *App) Notes(texts []string) {
	for _, t := range texts {
		a.Talk("%s %s", Yellow("note:"), operator.Visible(t))
	}
}

func (a *App) showTable(t *view.Table, colors func() map[string]string) {
	switch {
	case t.Below != nil:
		a.tableBelow(t)
	case t.Bare:
		for _, l := range tableLines(make([]string, len(t.Rows[0])), t.Rows, Width(a.Out), nil)[1:] {
			a.Say("  %s", l)
		}
	case t.About:
		a.List(t.Head, t.Rows)
	case t.Roles != nil:
		a.TableIn(t.Head, t.Rows, func(row, column int, cell string) string {
			if cell == "" {
				return cell
			}
			return inRole(t.Roles[row][column], cell)
		})
	case t.Names != nil && colors != nil:
		of := colors()
		a.TableIn(t.Head, t.Rows, func(row, column int, cell string) string {
			if column != 0 {
				return cell
			}
			return InColor(of[t.Names[row]], cell)
		})
	default:
		a.Table(t.Head, t.Rows)
	}
}

// inRole gives a text the style of its role.
func inRole(r view.Role, text string) string {
	switch r {
	case view.Strong:
		return Bold(text)
	case view.Faint:
		return Faint(text)
	case view.Warning:
		return Yellow(text)
	case view.Good:
		return Green(text)
	case view.Bad:
		return Red(text)
	}
	return text
}

// tableBelow writes a table whose rows have lines below them. On a terminal on which a row does not
// fit, its last cell is the first of those lines.
func (a *App) tableBelow(t *view.Table) {
	total, head, rows := Width(a.Out), t.Head, t.Rows
	below := make([][]string, len(rows))
	for i, ls := range t.Below {
		for _, l := range ls {
			below[i] = append(below[i], a.Spelled(l, ""))
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
		a.Say("%s", l)
		if i == 0 {
			continue
		}
		for _, l := range WrapAll(below[i-1], total-4) {
			a.Say("    %s", l)
		}
	}
}

// Spelled returns a line with its colours and its commands.
func (a *App) Spelled(l view.Line, name waggle.TeamName) string {
	var b strings.Builder
	for _, s := range l {
		text := operator.Visible(s.Text)
		if s.Next.Step != "" {
			text += StepText(s.Next)
		}
		if s.Scoped {
			text += a.Scope(name)
		}
		text = inRole(s.Role, text)
		if s.Color != "" {
			text = InColor(s.Color, text)
		}
		b.WriteString(text)
	}
	return b.String()
}

func (a *App) SaySessionRules(r *decide.SessionRules, err error) error {
	if err != nil {
		return err
	}
	return a.Give(view.SessionRules(r), view.SessionRulesPage(r))
}
