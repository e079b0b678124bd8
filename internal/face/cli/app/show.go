package app

import (
	"cmp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/protocol"
)

// ShowPage writes a page about a team. It calls colors when a table names members; nil: no name has
// a colour.
func (a *App) ShowPage(p page.Page, name protocol.TeamName, colors func() map[string]string) {
	for _, b := range p {
		if b.Table == nil {
			width := Width(a.Out)
			if b.AsIs {
				width = 0
			}
			a.Say("%s", fold(a.Spelled(b.Line, name), width))
			continue
		}
		a.showTable(b.Table, colors)
	}
}

// Give writes a document with --json, and else shows a page about no team, and then what is only for people.
func (a *App) Give(doc any, page page.Page, then ...func()) error {
	if a.Flags.JSON {
		return a.Document(doc)
	}
	a.ShowPage(page, "", nil)
	for _, say := range then {
		say()
	}
	return nil
}

// Tell writes the lines of a page to stderr.
func (a *App) Tell(p page.Page, name protocol.TeamName) {
	for _, b := range p {
		a.Talk("%s", fold(a.Spelled(b.Line, name), a.errWidth()))
	}
}

// Notes writes remarks about the data to stderr.
func (a *App) Notes(texts []string) {
	for _, t := range texts {
		a.Talk("%s", fold(Yellow("note:")+" "+operator.Visible(t), a.errWidth()))
	}
}

func (a *App) showTable(t *page.Table, colors func() map[string]string) {
	t, once := narrowed(t, Width(a.Out))
	defer func() {
		for _, l := range once {
			a.Say("%s", Faint(l))
		}
	}()
	switch {
	case t.Below != nil:
		a.tableBelow(t)
	case t.Bare:
		for _, l := range bareLines(t, Width(a.Out)) {
			a.Say("  %s", l)
		}
	case t.About:
		a.List(t.Head, t.Rows)
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
		a.Table(t.Head, t.Rows)
	}
}

// rowRoom is how many columns the cells of a row keep beside its next step.
const rowRoom = 40

// bareLines are the rows of a table without a head, each with its next step behind it, in total columns, 0 for any
// number. Where a step leaves a row no room, it is a line of its own.
func bareLines(t *page.Table, total int) (lines []string) {
	total = max(0, total-2)
	room := total
	steps := make([]string, len(t.Rows))
	for i, n := range t.Do {
		steps[i] = operator.Visible(StepText(n))
		if w := ansi.StringWidth(steps[i]) + 2; w > 2 && total > 0 && total-w >= rowRoom {
			room = min(room, total-w)
		}
	}
	rows := tableLines(make([]string, len(t.Rows[0])), t.Rows, room, nil)[1:]
	wide := 0
	for _, l := range rows {
		wide = max(wide, ansi.StringWidth(l))
	}
	for i, l := range rows {
		w := ansi.StringWidth(steps[i])
		switch {
		case w == 0:
			lines = append(lines, l)
		case total > 0 && wide+2+w > total:
			lines = append(lines, l, "  "+Faint(steps[i]))
		default:
			lines = append(lines, l+strings.Repeat(" ", wide-ansi.StringWidth(l))+"  "+Faint(steps[i]))
		}
	}
	return lines
}

// narrowed leaves the spare columns of a table out while its rows are wider than total columns, 0 for any
// number, and says what all rows have in one of them.
func narrowed(t *page.Table, total int) (narrow *page.Table, once []string) {
	for _, head := range t.Spare {
		if overflows(t.Head, t.Rows, total) {
			rest, _, _ := t.Without(head)
			t = &rest
		}
	}
	for _, head := range t.Once {
		if rest, cell, same := t.Without(head); same && overflows(t.Head, t.Rows, total) {
			t, once = &rest, append(once, "all: "+strings.ToLower(head)+" "+operator.Visible(cell))
		}
	}
	return t, once
}

// inRole gives a text the style of its role.
func inRole(r page.Role, text string) string {
	switch r {
	case page.RoleStrong:
		return Bold(text)
	case page.RoleFaint:
		return Faint(text)
	case page.RoleWarning:
		return Yellow(text)
	case page.RoleGood:
		return Green(text)
	case page.RoleBad:
		return Red(text)
	}
	return text
}

// tableBelow writes a table whose rows have lines below them. On a terminal on which a row does not
// fit, its last cell is the first of those lines.
func (a *App) tableBelow(t *page.Table) {
	total, head, rows := Width(a.Out), t.Head, t.Rows
	below := make([][]string, len(rows))
	for i, ls := range t.Below {
		for _, l := range ls {
			below[i] = append(below[i], a.Spelled(l, ""))
		}
	}
	if overflows(head, rows, total) {
		last := len(head) - 1
		for i, r := range rows {
			below[i] = append([]string{operator.Visible(r[last])}, below[i]...)
			rows[i] = r[:last]
		}
		head = head[:last]
	}
	for i := range below {
		below[i] = WrapAll(below[i], total-4)
	}
	a.spread(head, rows, below)
}

// Spelled returns a line with its colours and its commands.
func (a *App) Spelled(l page.Line, name protocol.TeamName) string {
	var b strings.Builder
	for _, s := range l {
		text := operator.Visible(s.Text)
		switch {
		case s.Scoped && strings.Contains(Steps[s.Next.Step], "{in}"):
			of := cmp.Or(s.Next.Team, name)
			s.Next.Team = ""
			text += a.StepsOf(of)(s.Next) + a.Scope("")
		case s.Scoped:
			text += StepText(s.Next) + a.Scope(name)
		default:
			text += StepText(s.Next)
		}
		text = inRole(s.Role, text)
		if s.Color != "" {
			text = inColor(s.Color, text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// Answer gives what a call returned, with the page that show makes of it now, or the error of the call.
func Answer[T any](a *App, show func(T, time.Time) page.Page) func(T, error) error {
	return func(doc T, err error) error {
		if err != nil {
			return err
		}
		return a.Give(doc, show(doc, a.Clock()))
	}
}
