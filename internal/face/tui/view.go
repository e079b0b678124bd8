package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/sentence"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
)

// The smallest screen on which something is shown.
const (
	leastWidth  = 40
	leastHeight = 10
)

// View implements tea.Model.
func (m *model) View() tea.View { return tea.NewView(m.frame) }

func (m *model) small() bool { return m.w < leastWidth || m.h < leastHeight }

// listWidth is the width of the list; 0: the right side has the whole screen.
func (m *model) listWidth() int {
	switch {
	case m.zoom || m.mode == helping:
		return 0
	case m.w < 100:
		return m.w * 2 / 5
	}
	return min(64, m.w*2/5)
}

// paneWidth and paneHeight are the room of the right side's text.
func (m *model) paneWidth() int {
	if n := m.listWidth(); n > 0 {
		return m.w - n - 2
	}
	return m.w
}

// bodyHeight leaves room for the title, the line that is typed and the bar of keys.
func (m *model) bodyHeight() int { return m.h - 3 }

func (m *model) paneHeight() int { return m.bodyHeight() - 1 }

// lay lays out the right side, scrolls the list to the cursor, and says what stands on the screen.
func (m *model) lay() {
	if m.small() {
		m.stand.show("")
		return
	}
	m.scrollList()
	m.layPane()
	p := &m.pane
	h := m.paneHeight()
	answers := m.answers() && m.mode != helping
	if answers {
		p.scroll = min(p.scroll, p.seen) // no line is passed over
	}
	p.scroll = max(0, min(p.scroll, len(p.lines)-h))
	was := m.stand.what
	what := ""
	if answers {
		what = fmt.Sprintf("%s\x00%dx%d\x00%d\x00%v", p.what, m.w, m.h, p.scroll, m.zoom)
	}
	m.stand.show(what)
	if what != was {
		m.pend = nil
	}
}

// shownTo is the line behind the last one that is on the screen.
func (m *model) shownTo() int { return min(len(m.pane.lines), m.pane.scroll+m.paneHeight()) }

// unread is how many lines of the subject have neither been read nor are on the screen.
func (m *model) unread() int { return len(m.pane.lines) - max(m.pane.seen, m.shownTo()) }

// read counts the lines as read that have stood long enough.
func (m *model) read(now time.Time) {
	if p := &m.pane; m.stand.armed(now) && p.scroll <= p.seen && p.seen < m.shownTo() {
		p.seen, m.stale = m.shownTo(), true
	}
}

// readOn scrolls to the next page. What is to be answered is read page by page: each stands as long as
// a request.
func (m *model) readOn() {
	if m.answers() && m.shownTo() > m.pane.seen {
		m.flash = "not yet: this page has not stood long enough to be read"
		return
	}
	m.pane.scroll += max(1, m.paneHeight()-1)
}

// layPane lays out the right side when it shows something else than before.
func (m *model) layPane() {
	id, what, lay := m.paneContent()
	what = fmt.Sprintf("%s\x00%d", what, m.paneWidth())
	p := &m.pane
	if what == p.what && id == p.id {
		return
	}
	end := p.scroll+m.paneHeight() >= len(p.lines)
	same := id == p.id
	p.id, p.what, p.lines, p.seen = id, what, lay(m.paneWidth()), 0
	switch {
	case !same || m.answers():
		p.scroll = 0
		if !m.answers() && (m.tab == TabOutput || m.tab == TabLog) {
			p.scroll = len(p.lines)
		}
	case end && (m.tab == TabOutput || m.tab == TabLog):
		p.scroll = len(p.lines) // stays at the end of what grows
	}
}

// answers reports whether the right side shows something to answer.
func (m *model) answers() bool {
	if m.mode == accepting {
		return true
	}
	_, _, why := m.subject()
	return why == ""
}

// paneContent is what the right side shows: its identity, its identity with its text, and how it is
// laid out.
func (m *model) paneContent() (id, what string, lay func(w int) []line) {
	mode, r := m.shownMode(), m.selected()
	switch {
	case mode == helping:
		return "help", "help", m.helpLines
	case mode == batching:
		// with its heading: a wide batch of the same requests is another subject
		id = fmt.Sprint("batch ", m.batch.id, m.batch.wide)
		return id, id, func(w int) []line { return toldLines(m.batch.text, headed, w) }
	case mode == ruling && m.open() != nil:
		q := *m.open()
		text := m.rules.text(q)
		return "rule " + askKey(&q), fmt.Sprint(text, q.Digest, m.earlier[q.Digest]), func(w int) []line { return append(text.lay(w), m.askLines(q, w)...) }
	case mode == changing && m.changed() != nil:
		q := *m.changed()
		return "changed " + askKey(&q), fmt.Sprint(q, m.earlier[q.Digest]), func(w int) []line {
			return append(wrapped(nil, "this runs instead of what was asked:", strong, w), m.askLines(q, w)...)
		}
	case mode == accepting:
		s := m.setups[0]
		return "setup " + s.task(), fmt.Sprint(s.task(), s.text()), s.lines
	case m.tab == TabTasks:
		lines := m.taskLines()
		return "tasks", strings.Join(lines, "\n"), func(w int) []line { return toldLines(lines, plain.each, w) }
	case m.tab == TabToday && !m.page.of.Same(Page{Tab: TabToday}):
		return "today", "", func(w int) []line { return pagesLines([]string{"…"}, plain.each, w) }
	case r == nil && m.tab != TabToday:
		text := operator.VisibleLines(strings.Join(m.emptyLines(), "\n"))
		return "empty", text, func(w int) []line { return pagesLines(strings.Split(ansi.Wordwrap(text, w, ""), "\n"), plain.each, w) }
	case r != nil && r.done != nil && m.tab != TabToday && !r.told(m.tab):
		lines := m.doneLines(*r)
		if m.tab == TabWhy {
			lines = append(slices.Clone(m.problems()), lines...)
		}
		return r.key, strings.Join(lines, "\n"), func(w int) []line { return toldLines(lines, plain.each, w) }
	case m.tab == TabAsk && r.ask != nil:
		q, gone := *r.ask, r.ended(m.now)
		rest := q
		rest.Input = nil // as bytes it would be a list of numbers
		return "ask " + r.key, fmt.Sprintf("%s %v %s %s %s", r.key, rest, q.Input, gone, m.earlier[q.Digest]), func(w int) []line {
			if gone != "" {
				return append(wrapped(nil, gone, good, w), m.askLines(q, w)...)
			}
			return m.askLines(q, w)
		}
	case m.tab == TabDiff && m.reviewed() != nil && (m.page.err == nil && m.reviewed().paper.Lines != nil || m.reviewed().said != nil):
		v := *m.reviewed()
		if m.page.err != nil {
			v.paper = Paper{Lines: []string{m.Explain(m.page.err)}}
		}
		if v.said == nil && r.note != "" && r.gone == "" { // what another process was told
			v.said = []string{r.note}
			if next := m.Step(r.next()); next != "" {
				v.said = append(v.said, "next: "+next)
			}
		}
		return "diff " + memberKey(r.team(), r.name()), v.key(), func(w int) []line { return diffLines(&v, w) }
	}
	page := m.page
	lines := page.got.Lines
	switch {
	case page.err != nil:
		lines = []string{m.Explain(page.err)}
	case lines == nil:
		lines = []string{"…"}
	case len(lines) == 0:
		lines = []string{"nothing here"}
	}
	id = fmt.Sprint(page.of)
	var about []string
	switch m.tab {
	case TabToday:
	case TabWhy:
		about = m.problems()
	default:
		about = m.memberHead(*r)
	}
	return id, strings.Join(slices.Concat([]string{id}, about, lines), "\n"), func(w int) []line {
		head := toldLines(about, strong.each, w)
		if m.tab == TabOutput {
			return append(head, pagesLines(lines, written, w)...)
		}
		return append(head, toldLines(lines, plain.each, w)...)
	}
}

// memberHead are the lines about a member above its pages.
func (m *model) memberHead(r row) []string {
	mem := r.member
	if mem == nil {
		return []string{""}
	}
	text := fmt.Sprintf("%s: %s", mem.Name, view.Words(mem.Stand, m.now))
	if mem.Why != "" {
		text += ": " + page.Local(mem.Why, m.now)
	}
	lines := []string{text}
	if t := r.task; t != nil {
		lines = append(lines, fmt.Sprintf("task %s: %s (%s)", t.ID, t.Subject, t.Status))
	}
	var made []string
	if r.lines != (Lines{}) {
		made = append(made, fmt.Sprintf("+%d -%d", r.lines.Added, r.lines.Deleted))
	}
	if mem.Spent != nil {
		made = append(made, sentence.Spent(*mem.Spent))
	}
	if made != nil {
		lines = append(lines, strings.Join(made, ", "))
	}
	if r.gone != "" {
		return []string{mem.Name + ": " + r.gone}
	}
	if r.note != "" {
		lines = append(lines, r.note)
	}
	if next := m.Step(r.next()); next != "" {
		lines = append(lines, "next: "+next)
	}
	return lines
}

// doneLines are what became of something that is done, and the next command about it.
func (m *model) doneLines(r row) []string {
	d := r.done
	lines := []string{fmt.Sprintf("%s %s: %s", d.Kind, d.who(), r.became())}
	if r.gone != "" {
		lines = append(lines, r.gone)
	}
	if !d.At.IsZero() {
		lines = append(lines, "at "+page.Clock(d.At, m.now))
	}
	if d.Path != "" {
		lines = append(lines, d.Path)
	}
	if next := m.Step(r.next()); next != "" && r.gone == "" {
		lines = append(lines, "next: "+next)
	}
	return lines
}

func (m *model) helpLines(w int) []line {
	var lines []line
	for _, h := range help {
		var keys []string
		for _, c := range h.commands {
			keys = append(keys, m.keysOf(c)...)
		}
		if h.commands == nil {
			keys = []string{"1-9"}
		}
		for i, piece := range strings.Split(ansi.Wordwrap(h.does, max(8, w-18), ""), "\n") {
			head := fit(strings.Join(keys, " "), 16)
			if i > 0 {
				head = strings.Repeat(" ", 16)
			}
			lines = append(lines, line{style: plain, text: head + "  " + piece})
		}
	}
	return lines
}

func (m *model) emptyLines() []string {
	switch {
	case m.trouble != "":
		return []string{m.trouble}
	case !m.loaded:
		return []string{"reading the teams…"}
	case m.filter != "":
		return []string{"no row has this text: Esc shows all"}
	}
	lines := []string{"Nothing waits for you, and no member runs.", "", m.keyOf(cmdNew) + " starts a member with a task."}
	for _, l := range m.crew.First {
		lines = append(lines, "- "+l)
	}
	return append(lines, m.crew.Problems...)
}

func (m *model) taskLines() (lines []string) {
	for _, t := range m.crew.Tasks {
		state := string(cmp.Or(t.State, board.TaskState(t.Status)))
		l := fmt.Sprintf("%s/%s  %-11s %-10s %s", t.Team, t.ID, state, t.Owner, t.Subject)
		if t.Note.Text != "" {
			l += " (" + t.Note.Text + ")"
		}
		lines = append(lines, l)
	}
	if lines == nil {
		lines = []string{"there are no tasks"}
	}
	return lines
}

// problems are what is wrong as a whole. The title has the first one, as far as there is room, and the tab Why all of them.
func (m *model) problems() []string {
	if m.trouble != "" {
		return append([]string{m.trouble}, m.crew.Problems...)
	}
	return m.crew.Problems
}

// whole is the whole screen.
func (m *model) whole() string {
	if m.small() {
		return fmt.Sprintf("the screen needs %dx%d", leastWidth, leastHeight)
	}
	out := make([]string, 0, m.h)
	out = append(out, m.titleLine())
	left, right := m.paintList(), m.paintPane()
	for i := range right {
		if n := m.listWidth(); n > 0 {
			out = append(out, left[i]+faint.of("│")+" "+right[i])
		} else {
			out = append(out, right[i])
		}
	}
	return strings.Join(append(out, m.inputLine(), m.bar()), "\n")
}

// counts is how many rows of each section wait or work.
func (m *model) counts() (n [inspect.Groups]int) {
	for _, r := range m.rows {
		if m.waits(r) {
			n[r.group]++
		}
	}
	return n
}

// windowTitle is the title of the terminal's window: how much needs the person, whatever the filter shows.
func (m *model) windowTitle() string {
	rows := m.rows
	if m.filter != "" {
		rows = rowsOf(m.asks, m.crew, nil, nil, "", "")
	}
	n := 0
	for _, r := range rows {
		if r.group == inspect.GroupNeedsYou && m.waits(r) {
			n++
		}
	}
	switch n {
	case 0:
		return "waggle"
	case 1:
		return "waggle: 1 needs you"
	}
	return fmt.Sprintf("waggle: %d need you", n)
}

func (m *model) titleLine() string {
	n := m.counts()
	text := fmt.Sprintf(" waggle   %d need you", n[inspect.GroupNeedsYou])
	wrong := m.problems()
	for g := inspect.GroupNeedsYou + 1; g < inspect.Groups; g++ {
		if n[g] > 0 || len(wrong) == 0 && (g == inspect.GroupWorking || g == inspect.GroupReady) {
			text += fmt.Sprintf("   %d %s", n[g], strings.ToLower(g.String()))
		}
	}
	if today := view.TodayText(m.today); today != "" {
		text += "   " + today
	}
	if m.filter != "" {
		text += "   rows with: " + visible(m.filter, m.w)
	}
	if len(wrong) > 0 {
		key := ""
		if m.selected() != nil {
			key = "(" + m.keyOf(cmdWhy) + ") "
		}
		text += "   " + key + visible(wrong[0], m.w)
	}
	return chosen.of(fit(text, m.w))
}

func (m *model) paintPane() []string {
	w, h := m.paneWidth(), m.paneHeight()
	out := make([]string, 0, h+1)
	out = append(out, m.tabLine(w))
	p := &m.pane
	for i := range h {
		if at := p.scroll + i; at < len(p.lines) {
			out = append(out, m.paintLine(p.lines[at], w))
			continue
		}
		out = append(out, strings.Repeat(" ", w))
	}
	return out
}

// paintLine draws a line of the right side. A line of a diff has a gutter, in which the chosen one
// is marked.
func (m *model) paintLine(l line, w int) string {
	if l.at == 0 {
		return l.paint(w)
	}
	if v := m.reviewed(); v != nil && m.inDiff() && l.at == v.at+1 {
		return chosen.of(fit("> "+l.text, w))
	}
	return "  " + l.paint(w-2)
}

func (m *model) tabLine(w int) string {
	switch m.shownMode() {
	case batching:
		what := "alike"
		if m.batch.wide {
			what = "below high risk"
		}
		return strong.of(fit(fmt.Sprintf("Batch of %d %s: %s allow, %s deny", len(m.batch.requests), what, m.keyOf(cmdAllow), m.keyOf(cmdDeny)), w))
	case ruling:
		return strong.of(fit(fmt.Sprintf("Rule: ↑↓ choose, %s scope, %s end, %s add", m.keyOf(cmdScope), m.keyOf(cmdUntil), m.keyOf(cmdAllow)), w))
	case changing:
		return strong.of(fit(fmt.Sprintf("Changed: %s allows this once, %s goes back", m.keyOf(cmdAllow), m.keyOf(cmdBack)), w))
	case accepting:
		return strong.of(fit("Setup of the new member's worktree", w))
	case helping:
		return strong.of(fit("Keys", w))
	}
	var b strings.Builder
	n := 0
	for t := m.firstTab(w); t < tabs; t++ {
		name := t.String()
		if n += t.width(); n > w {
			break
		}
		if t == m.tab && (t != TabAsk || m.selected() != nil) {
			b.WriteString(chosen.of("["+name+"]") + " ")
		} else {
			b.WriteString(" " + faint.of(name) + "  ")
		}
	}
	pos := ""
	if p := m.pane; len(p.lines) > m.paneHeight() {
		pos = fmt.Sprintf("%d-%d of %d", p.scroll+1, min(len(p.lines), p.scroll+m.paneHeight()), len(p.lines))
	}
	text := b.String()
	room := w - ansi.StringWidth(text)
	if room < len(pos) {
		pos = ""
	}
	return text + strings.Repeat(" ", max(0, room-len(pos))) + faint.of(pos)
}

// width is how many columns a tab has in the line of tabs.
func (t Tab) width() int { return len(t.String()) + 3 }

// firstTab is the first tab of the line: where not all have room, the shown one does.
func (m *model) firstTab(w int) Tab {
	n := 0
	for t := m.tab; t >= TabAsk; t-- {
		if n += t.width(); n > w {
			return min(t+1, m.tab)
		}
	}
	return TabAsk
}
