package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"waggle"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/internal/view/sentence"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/record"
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

// lineOf is the line of a row in the list: each section has a title and, but for the first, an
// empty line above it.
func (m *model) lineOf(i int) int {
	line, last := 0, inspect.Group(-1)
	if i < len(m.rows) && i >= 0 {
		// Sections before the row's own, each with rows.
		for j, r := range m.rows[:i+1] {
			if r.group != last {
				if last >= 0 {
					line++
				}
				line++
				last = r.group
			}
			if j < i {
				line++
			}
		}
	}
	return line
}

// listLine is one line of the list: a title, nothing, or a row.
type listLine struct {
	title inspect.Group
	row   int // -1: none
	blank bool
}

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
		return id, id, func(w int) []line { return batchLines(m.batch, w) }
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
		return "tasks", strings.Join(lines, "\n"), func(w int) []line { return toldLines(lines, w) }
	case m.tab == TabToday && !m.page.page.Same(Page{Tab: TabToday}):
		return "today", "", func(w int) []line { return pagesLines([]string{"…"}, w) }
	case r == nil && m.tab != TabToday:
		text := operator.VisibleLines(strings.Join(m.emptyLines(), "\n"))
		return "empty", text, func(w int) []line { return pagesLines(strings.Split(ansi.Wordwrap(text, w, ""), "\n"), w) }
	case r != nil && r.done != nil && m.tab != TabToday && !r.told(m.tab):
		lines := m.doneLines(*r)
		if m.tab == TabWhy {
			lines = append(slices.Clone(m.problems()), lines...)
		}
		return r.key, strings.Join(lines, "\n"), func(w int) []line { return toldLines(lines, w) }
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
			v.paper = Paper{Lines: []string{m.explain(m.page.err)}}
		}
		if v.said == nil && r.note != "" && r.gone == "" { // what another process was told
			v.said = []string{r.note}
			if next := m.step(r.next()); next != "" {
				v.said = append(v.said, "next: "+next)
			}
		}
		return "diff " + memberKey(r.team(), r.name()), v.key(), func(w int) []line { return diffLines(&v, w) }
	}
	page := m.page
	lines := page.paper.Lines
	switch {
	case page.err != nil:
		lines = []string{m.explain(page.err)}
	case lines == nil:
		lines = []string{"…"}
	case len(lines) == 0:
		lines = []string{"nothing here"}
	}
	id = fmt.Sprint(page.page)
	var about []string
	switch m.tab {
	case TabToday:
	case TabWhy:
		about = m.problems()
	default:
		about = m.memberHead(*r)
	}
	return id, strings.Join(slices.Concat([]string{id}, about, lines), "\n"), func(w int) []line {
		var head []line
		for _, l := range about {
			head = wrapped(head, l, strong, w)
		}
		if m.tab == TabOutput {
			return append(head, outputLines(lines, w)...)
		}
		return append(head, toldLines(lines, w)...)
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
	if next := m.step(r.next()); next != "" {
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
	if next := m.step(r.next()); next != "" && r.gone == "" {
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
		if t.Note != "" {
			l += " (" + t.Note + ")"
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
	if end := ageEnds(r.since(), m.now); m.aged.IsZero() || !end.IsZero() && end.Before(m.aged) {
		m.aged = end
	}
	if i == m.cursor {
		return chosen.of(fit(digit+cursor+mark+" "+text, w))
	}
	return faint.of(digit) + cursor + s.of(mark) + " " + text
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

// inputLine is the line in which a person types. While nothing is typed it says what just happened, or that it starts a task.
func (m *model) inputLine() string {
	if lines := m.flashed(); m.mode != typing && m.flash != "" {
		return strong.of(fit(lines[0], m.w))
	}
	if m.mode != typing {
		return faint.of(fit(fmt.Sprintf("> %s: a task for a new member", m.keyOf(cmdNew)), m.w))
	}
	label, text := visible(m.line.label, 2*m.w), string(m.line.text)
	if over := ansi.StringWidth(label+text) - m.w + 4; over > 0 {
		text = "…" + ansi.TruncateLeft(text, over+1, "")
	}
	return fit("> "+label+text+"_", m.w)
}

// flashed is what just happened, in two lines where it has no room in one and nothing is typed.
func (m *model) flashed() []string {
	text := visible(m.flash, 2*m.w)
	if ansi.StringWidth(text) <= m.w || m.mode == typing {
		return []string{text}
	}
	first := wrap(text, m.w)[0]
	return []string{first, strings.TrimPrefix(text, first)}
}

// bar is the keys that do something now. What just happened is there where the line above it has no room for it.
func (m *model) bar() string {
	if lines := m.flashed(); m.flash != "" && (m.mode == typing || len(lines) > 1) {
		return strong.of(fit(lines[len(lines)-1], m.w))
	}
	return faint.of(fit(m.hint(), m.w))
}

// typedHint is what the keys do while something is typed.
func (m *model) typedHint() string {
	switch m.line.act.Verb {
	case Message:
		if m.line.purpose == forMessage {
			return "Enter sends it  Tab gives it as a task  Esc leaves it"
		}
	case NewTask:
		return "Enter gives it  Tab sends it as a message  Esc leaves it"
	case NewMember:
		return "Enter starts it  \"codex: …\" or \"exec: COMMAND\" names the agent  Esc leaves it"
	}
	does := map[purpose]string{forReason: "denies it", forHandle: "allows it", forWords: "answers", forFilter: "keeps these rows", forComment: "keeps the comment", forMerge: "merges it"}
	return fmt.Sprintf("Enter %s  Esc leaves it", does[m.line.purpose])
}

func (m *model) hint() string {
	k := m.keyOf
	rest := fmt.Sprintf("  %s next  ←→ tabs  %s %s %s", k(cmdNext), k(cmdFilter), k(cmdHelp), k(cmdQuit))
	qs, _, why := m.subject()
	switch {
	case m.mode == typing:
		return m.typedHint()
	case m.mode == helping && len(m.pane.lines) > m.paneHeight():
		return "↑↓ scroll  any other key goes back"
	case m.mode == helping:
		return "any key goes back"
	case m.mode == accepting && m.pend == nil && m.unread() > 0:
		return m.unreadHint()
	case m.mode == accepting && m.pend == nil:
		return m.setupHint()
	case len(m.rows) == 0 && m.filter == "":
		return fmt.Sprintf("%s start a member with a task  ←→ tabs  %s %s", k(cmdNew), k(cmdHelp), k(cmdQuit))
	case m.pend != nil:
		return "…"
	case why != "" && m.selected() != nil && m.selected().done != nil:
		return fmt.Sprintf("%s new", k(cmdNew)) + rest
	case m.inDiff() && m.changes():
		return fmt.Sprintf("↑↓ choose a line  %s comment  %s send %s  %s merge  %s back", k(cmdComment), k(cmdSend), page.Count(len(m.reviewed().comments), "comment"), k(cmdMerge), k(cmdBack))
	case why != "" && m.tab == TabDiff && m.changes():
		return fmt.Sprintf("%s comment on a line  %s send the comments  %s merge  %s message", k(cmdComment), k(cmdSend), k(cmdMerge), k(cmdMessage)) + rest
	case why != "":
		return m.memberHint() + rest
	case m.unread() > 0:
		return m.unreadHint() + rest
	case m.mode == batching && !m.batch.wide:
		return fmt.Sprintf("%s allow all  %s deny all  %s all calls below high risk  %s back", k(cmdAllow), k(cmdDeny), k(cmdBatch), k(cmdBack))
	case m.mode == batching:
		return fmt.Sprintf("%s allow all  %s deny all  %s back", k(cmdAllow), k(cmdDeny), k(cmdBack))
	case words(qs[0]):
		return fmt.Sprintf("%s answer in words  %s give none", k(cmdAllow), k(cmdDeny)) + rest
	}
	return m.answerHint(qs[0], rest)
}

// memberHint is what the keys do about the selected member, or where nothing is selected.
func (m *model) memberHint() string {
	k, r := m.keyOf, m.selected()
	if r == nil || r.member == nil || r.team() == decide.SessionTeam || r.gone != "" {
		return fmt.Sprintf("%s new  %s look into", k(cmdNew), k(cmdLook))
	}
	hint := fmt.Sprintf("%s message  %s new", k(cmdMessage), k(cmdNew))
	if m.open() != nil {
		hint = k(cmdBack) + " the request  " + hint
	}
	if r.member.Worktree != nil {
		hint += fmt.Sprintf("  %s diff  %s merge", k(cmdView), k(cmdMerge))
	}
	if r.member.Conversation != nil {
		hint += fmt.Sprintf("  %s take", k(cmdTake))
	}
	return hint + fmt.Sprintf("  %s look into", k(cmdLook))
}

// answerHint is what the keys do about one request: those that have an effect on it.
func (m *model) answerHint(q decide.Request, rest string) string {
	k, allow := m.keyOf, "allow once"
	switch {
	case q.Kind == decide.KindProposal:
		allow = "start it"
	case high(q):
		allow = "allow (type " + q.Handle + ")"
	case m.mode == ruling:
		allow = "allow and add the rule"
	case q.Plan != "":
		allow = fmt.Sprintf("allow revision %d", q.Revision)
	}
	hint := k(cmdAllow) + " " + allow
	switch m.mode {
	case changing:
		return fmt.Sprintf("%s  %s back", hint, k(cmdBack))
	case ruling:
		return fmt.Sprintf("%s  %s deny  %s back", hint, k(cmdDeny), k(cmdBack))
	}
	hint += fmt.Sprintf("  %s deny", k(cmdDeny))
	if ruled(q) {
		hint += fmt.Sprintf("  %s rule", k(cmdRule))
	}
	if q.Batched() {
		hint += fmt.Sprintf("  %s batch", k(cmdBatch))
	}
	if editable(q) && m.edit != nil {
		hint += fmt.Sprintf("  %s edit", k(cmdEdit))
	}
	return hint + fmt.Sprintf("  %s whole", k(cmdView)) + rest
}

func (m *model) unreadHint() string {
	return fmt.Sprintf("%s: %d more lines to read before you can answer", m.keyOf(cmdPage), m.unread())
}

// ruleText is the rules that would allow a request, as they are shown.
type ruleText []line

func (c *ruleChoice) text(q decide.Request) (t ruleText) {
	for i, r := range c.list {
		cursor, s := "  ", plain
		if i == c.at {
			cursor, s = "> ", strong
		}
		t = append(t, line{style: s, text: cursor + r})
	}
	if len(c.list) == 0 {
		return t
	}
	scope := "for " + q.Member
	if c.wide {
		scope = "for every member of " + q.Team
	}
	t = append(t, line{style: plain, text: scope + ", " + ruleEnds[c.end].says(c.wide)})
	sg, ok := c.of[c.list[c.at]]
	switch {
	case c.err != nil:
		t = append(t, line{style: bad, text: c.err.Error()})
	case !ok:
		t = append(t, line{style: faint, text: "…"})
	default:
		t = append(t, line{style: plain, text: fmt.Sprintf("it matches %d of the last %d calls", sg.Total, sg.Looked)})
		for _, one := range sg.Matched[:min(5, len(sg.Matched))] {
			asked := record.Ask{Tool: one.Tool, Input: string(one.Input)}
			t = append(t, line{style: faint, text: fmt.Sprintf("  %s: %s (%s)", one.Member, decide.Question(waggle.KindPermissionRequest, asked), cmp.Or(one.Decision, decide.StatusOpen))})
		}
	}
	return append(t, line{})
}

// lay wraps the rules to a width.
func (t ruleText) lay(w int) (lines []line) {
	for _, l := range t {
		lines = wrapped(lines, l.text, l.style, w)
	}
	return lines
}
