package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view/page"
	"waggle/operator"
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
	if r == nil || r.done != nil || r.team() == decide.SessionTeam {
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

// choose moves to a line of the diff, or the next one that is shown, and scrolls to it.
func (m *model) choose(to int) {
	v := m.reviewed()
	shown := m.shownLines()
	i, ok := slices.BinarySearch(shown, to)
	if !ok && to < v.at { // between two: the one before
		i--
	}
	at := 0
	if len(shown) > 0 {
		at = shown[max(0, min(i, len(shown)-1))]
	}
	v.at = at
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

// shownLines are the numbers of the lines of the diff that are on the right side, from 0.
func (m *model) shownLines() (at []int) {
	for _, l := range m.pane.lines {
		if n := len(at); l.at > 0 && (n == 0 || at[n-1] != l.at-1) {
			at = append(at, l.at-1)
		}
	}
	return at
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
		return m.say("there is no comment: " + m.keyOf(cmdComment) + " on a line of the tab Diff makes one")
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
			v.said = append(v.said, m.Explain(msg.err))
		}
		m.asked = m.asked.Add(-diffEvery) // the diff is another now
	case msg.act.Verb == Review && msg.err == nil:
		maps.DeleteFunc(v.comments, func(at int, text string) bool { return msg.act.Comments[at] == text })
	}
}

// take takes a diff that was read, unless the one that is shown stays.
func (m *model) takeDiff(msg pageMsg) {
	if msg.err == nil && !m.held() {
		v := m.reviewOf(MemberKey{msg.of.Team, msg.of.Member})
		v.paper = msg.got
		v.at = min(v.at, max(0, len(v.paper.Lines)-1))
	}
}

// maxShown is how many lines of a diff are shown.
const maxShown = 10000

// key differs when the lines of the review do. A diff that is read again is another.
func (v *review) key() string {
	if v.paper.Diff == nil {
		return fmt.Sprint(v.paper.Lines, v.said, v.comments)
	}
	return fmt.Sprintf("%p %d %v %v", v.paper.Diff, len(v.paper.Lines), v.said, v.comments)
}

// diffLines lays out a diff by files with its comments; each line knows its number.
func diffLines(v *review, w int) []line {
	lines := toldLines(v.said, strong.each, w)
	heads, header := fileHeads(v.paper), false
	for i, l := range v.paper.Lines[:min(len(v.paper.Lines), maxShown)] {
		one := line{style: diffStyle(l), text: l}
		switch head, ok := heads[i]; {
		case i == 0:
			one.style = strong
		case ok:
			one, header = head, true
			lines = append(lines, line{})
		case strings.HasPrefix(l, "@@"):
			header = false
		case header && inFileHead(l):
			continue
		}
		from := len(lines)
		lines = append(lines, styledLines(one, w-2)...)
		for j := range lines[from:] {
			lines[from+j].at = i + 1
		}
		if c := v.comments[i-1]; c != "" {
			lines = wrapped(lines, "  # "+c, warn, w-2)
		}
	}
	switch n := len(v.paper.Lines) - maxShown; {
	case n > 0:
		lines = wrapped(lines, fmt.Sprintf("… and %s that have no room here: the files are in %s", page.Count(n, "line"), v.paper.Diff.Path), warn, w)
	case v.paper.Diff != nil && v.paper.Diff.More:
		lines = wrapped(lines, "… the diff is cut here: the files are in "+v.paper.Diff.Path, warn, w)
	}
	return lines
}

// fileHeads are the lines that begin a file in a diff, by their number: its name, what became of it, and how many lines
// were added and deleted.
func fileHeads(p Paper) map[int]line {
	heads := map[int]line{}
	if p.Diff == nil {
		return heads
	}
	n := 0
	for i, l := range p.Lines {
		if !strings.HasPrefix(l, "diff --git ") || n >= len(p.Diff.Files) {
			continue
		}
		f := p.Diff.Files[n]
		n++
		if !strings.HasSuffix(l, " b/"+f.Path) && !strings.HasSuffix(l, `"`) { // git quotes a name with unusual characters
			continue
		}
		what := ""
		for _, h := range p.Lines[i+1 : min(len(p.Lines), i+3)] {
			switch {
			case strings.HasPrefix(h, "new file mode 100755"):
				what = "  new, a program"
			case strings.HasPrefix(h, "new file mode 120000"):
				what = "  new, a link"
			case strings.HasPrefix(h, "new file"):
				what = "  new"
			case strings.HasPrefix(h, "deleted file"):
				what = "  deleted"
			}
		}
		head := line{style: strong, text: operator.Visible(f.Path) + what}
		if f.Binary {
			head.text += "  binary"
		} else {
			at := len(head.text)
			added := fmt.Sprintf("  +%d", f.Added)
			head.text += added + fmt.Sprintf(" -%d", f.Deleted)
			head.spans = []span{{at, at + len(added), good}, {at + len(added), len(head.text), bad}}
		}
		heads[i] = head
	}
	return heads
}

// inFileHead reports a line of git about a file that the head of the file says.
func inFileHead(l string) bool {
	return slices.ContainsFunc([]string{"index ", "--- ", "+++ ", "new file mode ", "deleted file mode ", "Binary files "}, func(p string) bool { return strings.HasPrefix(l, p) })
}

// styledLines lays out a line that may be too long, with its parts.
func styledLines(l line, w int) []line {
	if l.spans != nil && ansi.StringWidth(l.text) <= w {
		return []line{l}
	}
	return pageLines(l.style, l.text, w)
}
