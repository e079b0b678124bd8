package tui

import (
	"fmt"
	"maps"

	tea "charm.land/bubbletea/v2"

	"waggle/operator/decide"
	"waggle/operator/results"
)

// review is a member's diff with the comments of the person. While there is a comment, or the diff
// has the whole screen, it stays as it is: its lines keep their numbers.
type review struct {
	paper    Paper
	at       int            // the chosen line of paper
	comments map[int]string // by the line of the diff's text, which is one less; -1: on all of it
	said     []string       // what the last merge said
}

// reviewed is the review of the selected member; nil when a session or nothing is selected.
func (m *model) reviewed() *review {
	r := m.selected()
	if r == nil || r.team() == decide.SessionTeam {
		return nil
	}
	return m.reviewOf(MemberKey{r.team(), r.name()})
}

func (m *model) reviewOf(k MemberKey) *review {
	v := m.reviews[k]
	if v == nil {
		v = &review{comments: map[int]string{}}
		m.reviews[k] = v
	}
	return v
}

// inDiff reports whether the arrows choose a line of the diff.
func (m *model) inDiff() bool {
	return m.tab == TabDiff && m.zoom && m.shownMode() == browsing && m.reviewed() != nil
}

// changes reports whether the selected member has changed something that is on the screen.
func (m *model) changes() bool {
	v := m.reviewed()
	return v != nil && v.paper.Diff != nil && len(v.paper.Diff.Files) > 0
}

// held reports whether the diff that is shown stays as it is.
func (m *model) held() bool {
	v := m.reviewed()
	return v != nil && v.paper.Diff != nil && (len(v.comments) > 0 || m.inDiff())
}

// choose moves to a line of the diff, and scrolls to it.
func (m *model) choose(to int) {
	v := m.reviewed()
	v.at = max(0, min(to, len(v.paper.Lines)-1))
	first, last := -1, -1
	for i, l := range m.pane.lines {
		if l.at == v.at+1 {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if h := m.paneHeight(); first >= 0 {
		m.pane.scroll = max(min(m.pane.scroll, first), last-h+1)
	}
}

// comment begins a comment on the chosen line of the diff.
func (m *model) comment() {
	v := m.reviewed()
	switch {
	case m.tab != TabDiff || v == nil || v.paper.Diff == nil || len(v.paper.Diff.Files) == 0:
		m.flash = fmt.Sprintf("%s comments on a line of what a member has changed: %s shows it", m.keyOf(cmdComment), m.keyOf(cmdView))
		return
	case !m.inDiff():
		m.mode, m.zoom = browsing, true
		m.flash = fmt.Sprintf("choose a line with ↑↓, %s comments on it, %s sends all comments", m.keyOf(cmdComment), m.keyOf(cmdSend))
		return
	}
	label := "comment on all of it (empty: none): "
	if c := results.CommentsAt(v.paper.Diff.Text, map[int]string{v.at - 1: "."})[0]; c.Line > 0 {
		label = fmt.Sprintf("comment on %s:%d (empty: none): ", visible(c.File, m.w), c.Line)
	} else if c.File != "" {
		label = fmt.Sprintf("comment on %s (empty: none): ", visible(c.File, m.w))
	}
	m.begin(input{purpose: forComment, label: label, text: []rune(v.comments[v.at-1])})
}

// commented takes the comment that was typed.
func (m *model) commented(text string) {
	v := m.reviewed()
	if v == nil {
		return
	}
	if text == "" {
		delete(v.comments, v.at-1)
	} else {
		v.comments[v.at-1] = text
	}
}

// send sends the comments on the selected member's diff.
func (m *model) send() tea.Cmd {
	v, r := m.reviewed(), m.selected()
	if v == nil || len(v.comments) == 0 {
		m.flash = "there is no comment: " + m.keyOf(cmdComment) + " on a line of the tab Diff makes one"
		return nil
	}
	return m.act(Act{Verb: Review, Team: r.team(), Member: r.name(), Diff: v.paper.Diff, Comments: maps.Clone(v.comments)}, nil)
}

// unsent is how many comments were not sent.
func (m *model) unsent() (n int) {
	for _, v := range m.reviews {
		n += len(v.comments)
	}
	return n
}

// settle takes what became of a review or a merge.
func (m *model) settle(msg didMsg) {
	v := m.reviewOf(MemberKey{msg.act.Team, msg.act.Member})
	switch {
	case msg.act.Verb == Merge:
		if v.said = msg.lines; msg.err != nil {
			v.said = append(v.said, m.explain(msg.err))
		}
		m.asked = m.asked.Add(-diffEvery) // the diff is another now
	case msg.act.Verb == Review && msg.err == nil:
		maps.DeleteFunc(v.comments, func(at int, text string) bool { return msg.act.Comments[at] == text })
	}
}

// take takes a diff that was read, unless the one that is shown stays.
func (m *model) takeDiff(msg pageMsg) {
	if msg.err == nil && !m.held() {
		v := m.reviewOf(MemberKey{msg.page.Team, msg.page.Member})
		v.paper = msg.paper
		v.at = min(v.at, max(0, len(v.paper.Lines)-1))
	}
}

// diffLines lays out a diff with its comments; each line knows its number.
func diffLines(v *review, w int) []line {
	var lines []line
	for _, l := range v.said {
		lines = wrapped(lines, l, strong, w)
	}
	for i, l := range v.paper.Lines {
		s := diffStyle(l)
		if i == 0 {
			s = strong
		}
		from := len(lines)
		lines = append(lines, pageLines(s, l, w-2)...)
		for j := range lines[from:] {
			lines[from+j].at = i + 1
		}
		if c := v.comments[i-1]; c != "" {
			lines = wrapped(lines, "  # "+c, warn, w-2)
		}
	}
	return lines
}
