package tui

import (
	"fmt"
	"slices"
	"strings"

	"waggle/operator/inspect"
	"waggle/policy"
)

// lineOf is the line of a row in the list, 0 for one that is not there.
func (m *model) lineOf(i int) int {
	return max(0, slices.IndexFunc(m.listLines(), func(l listLine) bool { return l.row == i }))
}

// listLine is one line of the list: a title, nothing, or a row.
type listLine struct {
	title inspect.Group
	row   int // -1: none
	blank bool
}

// listLines are the rows; each section has a title and, but for the first, an empty line above it.
func (m *model) listLines() []listLine {
	lines := make([]listLine, 0, len(m.rows)+int(2*inspect.Groups))
	last := inspect.Group(-1)
	for i, r := range m.rows {
		if r.group != last {
			if last >= 0 {
				lines = append(lines, listLine{row: -1, blank: true})
			}
			lines = append(lines, listLine{title: r.group, row: -1})
			last = r.group
		}
		lines = append(lines, listLine{row: i})
	}
	return lines
}

// numbered are the rows that have a number on the screen, from 1.
func (m *model) numbered() (rows []int) {
	if m.small() {
		return nil
	}
	lines := m.listLines()
	for _, l := range lines[min(m.top, len(lines)):min(m.top+m.bodyHeight(), len(lines))] {
		if l.row >= 0 && len(rows) < 9 {
			rows = append(rows, l.row)
		}
	}
	return rows
}

func (m *model) scrollList() {
	lines, h, at := len(m.listLines()), m.bodyHeight(), m.lineOf(m.cursor)
	if at < m.top {
		m.top = at
		if at <= 1 {
			m.top = 0 // with the title
		}
	}
	if at >= m.top+h {
		m.top = at - h + 1
	}
	m.top = max(0, min(m.top, lines-h))
}

func (m *model) several() bool {
	team := ""
	for _, r := range m.rows {
		if r.done != nil {
			continue // it names its team
		}
		if t := r.team(); team != "" && t != team {
			return true
		} else {
			team = t
		}
	}
	return false
}

func (m *model) paintList() []string {
	w, h := m.listWidth(), m.bodyHeight()
	if w == 0 {
		return nil
	}
	out := make([]string, 0, h)
	lines, several, number := m.listLines(), m.several(), 0
	count, to := m.counts(), columnsOf(m.rows, w-5, several)
	for i := m.top; len(out) < h; i++ {
		switch {
		case i >= len(lines) || lines[i].blank:
			out = append(out, strings.Repeat(" ", w))
		case lines[i].row < 0:
			out = append(out, strong.of(fit(fmt.Sprintf("%s (%d)", lines[i].title, count[lines[i].title]), w)))
		default:
			number++
			out = append(out, m.paintRow(lines[i].row, number, w, several, to))
		}
	}
	return out
}

// marks are the risks as characters: they are told without colours.
var marks = map[policy.Risk]string{policy.RiskHigh: "!!", policy.RiskMedium: "! ", policy.RiskLow: ". "}

func (m *model) paintRow(i, number, w int, several bool, to columns) string {
	r := m.rows[i]
	digit := " "
	if number <= 9 {
		digit = fmt.Sprint(number)
	}
	cursor := " "
	if i == m.cursor {
		cursor = ">"
	}
	mark, s := "  ", plain
	switch {
	case !m.waits(r) && r.ask == nil:
		s = faint
	case !m.waits(r):
		mark, s = "ok", faint
	case r.ask != nil:
		mark, s = marks[policy.Risk(r.ask.Risk)], riskStyle(r.ask.Risk)
	case r.group == inspect.GroupNeedsYou || r.group == inspect.GroupFailed || r.group == inspect.GroupUnknown:
		mark, s = "? ", warn
	}
	text := r.cells(m.now, several).paint(to, w-5, i == m.cursor)
	_, since := r.of()
	if end := ageEnds(since, m.now); m.aged.IsZero() || !end.IsZero() && end.Before(m.aged) {
		m.aged = end
	}
	if i == m.cursor {
		return chosen.of(fit(digit+cursor+mark+" "+text, w))
	}
	return faint.of(digit) + cursor + s.of(mark) + " " + text
}
