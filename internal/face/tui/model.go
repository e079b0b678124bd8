package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"waggle/internal/face/ask"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/inspect"
	"waggle/record"
)

// What the model is told.
type (
	// loaded is what a reader of the Source has got.
	loaded[T any] struct {
		got T
		err error
	}
	// about is what the Source says of something.
	about[K, T any] struct {
		of  K
		got T
		err error
	}
	requestsMsg = loaded[[]decide.Request]
	crewMsg     = loaded[Crew]
	seldomMsg   = loaded[Seldom]
	doneMsg     = loaded[[]Done]
	pageMsg     = about[Page, Paper]
	earlierMsg  = about[string, string]             // of the digest of a request: the difference
	fateMsg     = about[string, decide.Fate]        // of the key of a request
	matchesMsg  = about[string, decide.Suggestion]  // of a rule
	saidMsg     struct{ last map[MemberKey]string } // a member has written, or a record is new
	newsMsg     struct {
		of   decide.Request
		more int // that are gone, too
		fate decide.Fate
		err  error
	}
	didMsg struct {
		keys  []string
		act   Act
		lines []string
		err   error
	}
	beatMsg      struct{ turn int }
	paintedMsg   struct{ n int }     // the terminal has taken this frame
	continuedMsg struct{ err error } // the program was stopped, and goes on
)

// mode is what the keys are for.
type mode int

const (
	browsing mode = iota
	batching
	ruling
	changing
	accepting
	helping
	typing
)

// model is what is on the screen. Every change goes through Update, with the time of the clock that
// it was given.
type model struct {
	Options
	ctx context.Context

	w, h   int
	now    time.Time
	turn   int       // of the beat
	beatAt time.Time // when the beat comes; zero: none does

	asks    []decide.Request
	crew    Crew
	done    []Done
	loaded  bool   // the requests were read
	trouble string // why they were not

	rows   []row
	cursor int  // into rows
	chosen bool // the person has put it there
	top    int  // the first line of the list that is shown
	filter string
	listed string            // the filter of rows
	given  map[string]string // what was answered here and is still listed, by key

	tab     Tab
	zoom    bool
	mode    mode
	was     mode // before typing
	line    input
	batch   batch
	rules   ruleChoice
	change  change
	setups  []setup // that wait to be accepted, the first one to come first
	reviews map[MemberKey]*review
	diffed  map[MemberKey]Lines
	today   record.Usage      // of all teams of this machine
	reading map[string]bool   // what became of these requests, by key, is read now
	earlier map[string]string // what differs from the plan or the file before, by digest; there but empty: not read yet
	pane    pane
	page    pageMsg
	asked   time.Time // when a page was asked for or came last
	paged   bool      // a page is shown
	moved   bool      // what the page shows may have changed since it was asked for
	loading Page      // the page that is read now; its zero value: none
	stand   standing
	pend    *pending
	flash   string
	busy    int // acts that are carried out
	leaving bool

	frame string
	stale bool      // frame is not what would be shown now
	aged  time.Time // when an age in the frame is another one; zero: there is none
}

// pending is an answer whose key has to stay alone for a moment.
type pending struct {
	act   Act
	keys  []string
	until time.Time
}

// pane is the right side.
type pane struct {
	id     string // of the subject; another one begins at its first line
	what   string // of the subject and its text
	lines  []line
	scroll int
	seen   int // the lines before this one have stood on the screen for ask.Stand
}

func newModel(ctx context.Context, o Options) *model {
	return &model{Options: o, ctx: ctx, now: o.Now(), given: map[string]string{}, reviews: map[MemberKey]*review{}, earlier: map[string]string{}, reading: map[string]bool{}, stale: true}
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := m.Now()
	if late := m.stand.pass(now); late && m.pend != nil {
		m.pend.until = now.Add(ask.Repeat) // another key may wait
	}
	m.read(now)
	if !m.aged.IsZero() && !now.Before(m.aged) {
		m.stale = true
	}
	m.now = now
	switch msg.(type) {
	case beatMsg, paintedMsg:
	default:
		m.stale = true
	}
	var cmds []tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case requestsMsg:
		cmds = append(cmds, m.takeRequests(msg))
	case newsMsg:
		m.takeNews(msg)
	case crewMsg:
		m.takeCrew(msg)
	case saidMsg:
		m.takeSaid(msg)
	case pageMsg:
		m.takePage(msg)
	case matchesMsg:
		m.rules.take(msg)
	case editedMsg:
		cmds = append(cmds, m.edited(msg))
	case changedMsg:
		m.takeChanged(msg)
	case earlierMsg:
		m.takeEarlier(msg)
	case fateMsg:
		m.takeFate(msg)
	case doneMsg:
		if msg.err == nil {
			m.done = msg.got
			m.list()
		}
	case seldomMsg:
		if msg.err == nil {
			m.diffed, m.today = msg.got.Lines, msg.got.Today
			m.list()
		}
	case didMsg:
		cmds = append(cmds, m.did(msg))
	case tookMsg:
		m.took(msg)
	case beatMsg:
		if msg.turn == m.turn {
			m.beatAt = time.Time{}
		}
	case paintedMsg:
		m.stand.took(msg.n, now)
	case continuedMsg:
		m.continued(msg.err)
	case tea.KeyPressMsg:
		cmds = append(cmds, m.key(msg, now))
	case tea.PasteMsg:
		m.paste(msg.Content, now)
	case tea.MouseClickMsg:
		m.click(tea.Mouse(msg))
	case tea.MouseWheelMsg:
		m.wheel(tea.Mouse(msg))
	}
	cmds = append(cmds, m.due(now))
	m.endChoice()
	m.offerSetup()
	m.draw()
	return m, tea.Batch(append(cmds, m.nextBeat())...)
}

// continued is told that the program was stopped. What was typed meanwhile answers nothing.
func (m *model) continued(err error) {
	m.stand.anew(m.now)
	m.pend = nil
	if m.mode == typing && m.line.act.Requests != nil {
		m.mode, m.line = m.was, input{}
		m.flash = "nothing was decided: the program was stopped"
	}
	if err != nil {
		m.trouble = m.Explain(err)
	}
}

// draw draws what has changed.
func (m *model) draw() {
	if !m.stale {
		return
	}
	m.lay()
	m.aged = time.Time{}
	m.frame, m.stale = m.whole(), false
	m.stand.drawn(m.painter.Paint(m.frame, m.windowTitle(), m.w, m.h))
}

// due does what is due by the clock.
func (m *model) due(now time.Time) tea.Cmd {
	if p := m.pend; p != nil && !now.Before(p.until) {
		m.pend, m.stale = nil, true
		return m.act(p.act, p.keys)
	}
	return tea.Batch(m.load(now), m.loadEarlier(), m.loadFate())
}

// How often the model looks at the clock: while a question is new or an answer waits for other keys,
// while a question settles, and else. Each is less than the loop may be late then.
const (
	beat      = 100 * time.Millisecond
	armedBeat = 200 * time.Millisecond
	slowBeat  = time.Second
)

// nextBeat begins to wait for the next look at the clock, unless one comes soon enough.
func (m *model) nextBeat() tea.Cmd {
	every := slowBeat
	switch {
	case m.pend != nil:
		every = min(beat, max(m.pend.until.Sub(m.now), time.Millisecond))
	case m.stand.what == "" || m.stand.since.IsZero() || m.stand.settled(m.now):
	case m.stand.armed(m.now):
		every = armedBeat
	default:
		every = beat
	}
	at := m.now.Add(every)
	if !m.beatAt.IsZero() && !at.Before(m.beatAt) {
		return nil
	}
	m.turn++
	m.beatAt = at
	turn := m.turn
	return tea.Tick(every, func(time.Time) tea.Msg { return beatMsg{turn} })
}

// takeRequests takes the open requests. The cursor stays on what it was on.
func (m *model) takeRequests(msg requestsMsg) tea.Cmd {
	if m.trouble = ""; msg.err != nil {
		m.trouble = m.Explain(msg.err)
	}
	if msg.got == nil && msg.err != nil {
		return nil
	}
	first, before := !m.loaded && m.stand.key.IsZero(), m.asks
	m.asks, m.loaded = msg.got, true
	if m.list(); first {
		m.cursor = 0 // nobody has chosen a member yet
		m.tab = m.tabFor(m.tab)
	}
	open := map[string]bool{}
	for i := range m.asks {
		open[askKey(&m.asks[i])] = true
	}
	news := m.loadNews(slices.DeleteFunc(slices.Clone(before), func(q decide.Request) bool { return open[askKey(&q)] }))
	for k := range m.given {
		if !open[k] {
			delete(m.given, k)
		}
	}
	return news
}

// loadNews asks what became of the newest of these requests, which are gone: of one that was neither answered here nor is
// selected, whose row says it.
func (m *model) loadNews(gone []decide.Request) tea.Cmd {
	gone = slices.DeleteFunc(gone, func(q decide.Request) bool {
		r := m.selected()
		return m.given[askKey(&q)] != "" || r != nil && r.key == askKey(&q)
	})
	if len(gone) == 0 {
		return nil
	}
	of := slices.MaxFunc(gone, func(a, b decide.Request) int { return a.Asked.Compare(b.Asked.Time) })
	return func() tea.Msg {
		f, err := m.Source.Fate(m.ctx, of)
		return newsMsg{of, len(gone) - 1, f, err}
	}
}

// takeNews says what became of a request that was answered elsewhere, where nothing else is said.
func (m *model) takeNews(msg newsMsg) {
	if m.flash != "" || msg.err != nil || msg.fate.How == "" {
		return
	}
	m.flash = msg.of.Handle + " of " + msg.of.Member + ": " + FateText(msg.fate, m.now)
	if msg.more > 0 {
		m.flash = fmt.Sprintf("%s (and %d more elsewhere)", m.flash, msg.more)
	}
}

func (m *model) takeCrew(msg crewMsg) {
	if msg.err != nil {
		m.trouble = m.Explain(msg.err)
		return
	}
	m.crew, m.moved = msg.got, true
	m.list()
}

// takeSaid takes the last lines of the members that work.
func (m *model) takeSaid(msg saidMsg) {
	m.moved = true
	for i := range m.crew.Members {
		one := &m.crew.Members[i]
		if text, ok := msg.last[MemberKey{one.Team, one.Name}]; ok {
			one.Last = text
		}
	}
}

// list builds the rows anew. The selected row keeps its line of the screen where the list is long
// enough; a selected request that is gone stays until the cursor leaves it.
func (m *model) list() {
	was, y := m.selected(), m.lineOf(m.cursor)-m.top
	before := m.rows[:min(m.cursor, len(m.rows))]
	keep := ""
	if was != nil && m.filter == m.listed {
		keep = was.key // only the person's own filter takes a row from under the cursor
	}
	m.rows, m.listed = rowsOf(m.asks, m.crew, m.done, m.diffed, m.filter, keep), m.filter
	if was == nil || was.done != nil && !m.chosen && !m.zoom {
		m.cursor = 0
		m.tab = m.tabFor(m.tab)
		return
	}
	i := slices.IndexFunc(m.rows, func(r row) bool { return r.key == was.key })
	if i < 0 {
		i = m.goes(*was, m.place(before))
	}
	m.cursor = max(0, min(i, len(m.rows)-1))
	if r := m.selected(); r == nil || r.key != was.key {
		m.tab = m.tabFor(m.tab)
	}
	m.top = max(0, m.lineOf(m.cursor)-y)
}

// goes returns where the cursor is after its row has gone, which was at i. A request and a member that
// are gone stay in the list; the row of a member that asks now is its request. What the filter hides is
// not gone.
func (m *model) goes(was row, i int) int {
	same := func(r row) bool { return r.team() == was.team() && r.name() == was.name() }
	open := func(q decide.Request) bool { return askKey(&q) == was.key }
	switch {
	case was.ask != nil && m.filter != "" && slices.ContainsFunc(m.asks, open):
		return i
	case was.ask != nil:
		was.gone = cmp.Or(was.gone, m.given[was.key], elsewhere)
	case was.done != nil:
		was.gone = "it is not there any more"
	case slices.ContainsFunc(m.rows, same):
		return slices.IndexFunc(m.rows, same)
	case m.filter != "":
		return i
	default:
		was.gone = "it is not in the team any more"
	}
	i = max(m.first(was.group), min(i, m.first(was.group+1))) // in its group
	m.rows = slices.Insert(m.rows, i, was)
	return i
}

// elsewhere is what a request that is gone says until it is known what became of it.
const elsewhere = "answered elsewhere, or not asked any more"

// loadFate asks what became of the selected request, which was not answered here.
func (m *model) loadFate() tea.Cmd {
	r := m.selected()
	if r == nil || r.ask == nil || r.gone != elsewhere {
		return nil
	}
	if m.reading[r.key] {
		return nil
	}
	m.reading[r.key] = true
	of := *r.ask
	return func() tea.Msg {
		f, err := m.Source.Fate(m.ctx, of)
		return fateMsg{askKey(&of), f, err}
	}
}

// takeFate takes what became of a request that is gone.
func (m *model) takeFate(msg fateMsg) {
	delete(m.reading, msg.of) // it may be asked again
	r := m.selected()
	if r == nil || r.key != msg.of || r.gone != elsewhere {
		return
	}
	if r.fate, r.gone = &msg.got, "not asked any more"; msg.err != nil {
		r.fate = &decide.Fate{How: r.gone, Said: m.Explain(msg.err)}
	}
}

// place is how many of these rows are still there.
func (m *model) place(before []row) (n int) {
	there := map[string]bool{}
	for _, r := range m.rows {
		there[r.key] = true
	}
	for _, r := range before {
		if there[r.key] {
			n++
		}
	}
	return n
}

// first is the index of the first row of a group or of a later one.
func (m *model) first(g inspect.Group) int {
	if i := slices.IndexFunc(m.rows, func(r row) bool { return r.group >= g }); i >= 0 {
		return i
	}
	return len(m.rows)
}

// selected is the row under the cursor, nil when there is none.
func (m *model) selected() *row {
	if m.cursor < 0 || m.cursor >= len(m.rows) {
		return nil
	}
	return &m.rows[m.cursor]
}

// open is the request under the cursor when it can be answered.
func (m *model) open() *decide.Request {
	r := m.selected()
	if r == nil || r.ask == nil || !m.waits(*r) {
		return nil
	}
	return r.ask
}

// move puts the cursor on a row. A request that is gone leaves the list with the cursor.
func (m *model) move(to int) {
	to = max(0, min(to, len(m.rows)-1))
	if r := m.selected(); r != nil && r.gone != "" && to != m.cursor {
		m.rows = slices.Delete(m.rows, m.cursor, m.cursor+1)
		if to > m.cursor {
			to--
		}
	}
	if to != m.cursor {
		m.zoom = false
	}
	m.cursor, m.pend, m.chosen = to, nil, true
	m.tab = m.tabFor(m.tab)
}

// tabFor is the tab that a row begins with: its request, or its output.
func (m *model) tabFor(now Tab) Tab {
	r := m.selected()
	switch {
	case r == nil && now >= TabTasks:
		return now
	case r == nil || r.ask != nil:
		return TabAsk
	case now == TabAsk:
		return TabOutput
	}
	return now
}

// waits reports whether a row counts in its section: an answered request does not.
func (m *model) waits(r row) bool { return r.gone == "" && m.given[r.key] == "" }

// needs reports whether a row is one that needs the person.
func needs(r row) bool { return r.group == inspect.GroupNeedsYou }

// asks reports whether a row is a request.
func asks(r row) bool { return r.ask != nil }

// next moves the cursor to the next row of a kind that waits, below or else above; false: there is none.
func (m *model) next(kind func(row) bool) bool {
	for d := 1; d < len(m.rows); d++ {
		i := (m.cursor + d) % len(m.rows)
		if r := m.rows[i]; kind(r) && m.waits(r) {
			m.move(i)
			return true
		}
	}
	m.tab = m.tabFor(m.tab)
	return false
}

// act carries out an act. What it answers stays in the list, not answerable, until it is gone.
func (m *model) act(a Act, keys []string) tea.Cmd {
	word := map[Verb]string{Allow: "allowing", Deny: "denying", Words: "answering"}[a.Verb]
	for _, k := range keys {
		m.given[k] = word
	}
	m.busy++
	m.mode, m.line, m.pend = browsing, input{}, nil
	if len(keys) > 0 {
		m.flash = word + " " + named(a.Requests)
		m.next(asks)
	}
	switch a.Verb {
	case Merge:
		m.flash = "merging " + a.Member + "…"
	case NewMember:
		m.flash = "starting a member…"
	}
	if a.Setup != nil || a.NoSetup {
		m.setups = m.setups[1:]
	}
	return func() tea.Msg {
		lines, err := m.Source.Do(m.ctx, a)
		return didMsg{keys, a, lines, err}
	}
}

// say tells the person something, and does nothing else.
func (m *model) say(text string) tea.Cmd {
	m.flash = text
	return nil
}

// took says that the client of a session has ended. What it wrote has been read.
func (m *model) took(msg tookMsg) {
	m.stand.anew(m.now)
	if m.flash = msg.member + " goes on by itself"; msg.err != nil {
		m.flash = msg.member + " was not taken, or its client failed: " + m.Explain(msg.err)
	}
}

// named lists the handles of requests.
func named(qs []decide.Request) string {
	if len(qs) > 3 {
		return fmt.Sprintf("%d requests", len(qs))
	}
	var names []string
	for _, q := range qs {
		names = append(names, q.Handle)
	}
	return strings.Join(names, ", ")
}

func (m *model) did(msg didMsg) tea.Cmd {
	m.busy--
	var setup *fresh.UnacceptedError
	if errors.As(msg.err, &setup) {
		m.askSetup(msg, setup.Found)
		return nil
	}
	text := ""
	if len(msg.lines) > 0 {
		text = msg.lines[0]
	}
	m.settle(msg)
	if msg.act.Verb == NewMember && msg.err == nil {
		m.chosen = false // a member is of more use to the person than what has ended
	}
	if m.flash = text; msg.err != nil {
		m.flash = m.Explain(msg.err)
		for _, k := range msg.keys {
			delete(m.given, k)
		}
	}
	for _, k := range msg.keys {
		if m.given[k] != "" {
			m.given[k] = cmp.Or(text, "answered")
		}
	}
	if r := m.selected(); r != nil && r.gone != "" && slices.Contains(msg.keys, r.key) && msg.err == nil {
		r.gone = cmp.Or(text, "answered")
	}
	if m.leaving && m.busy == 0 {
		return tea.Quit
	}
	return nil
}

// answer answers what stands, after a moment in which no other key comes; since is how long there
// was none before this one.
func (m *model) answer(a Act, keys []string, now time.Time, since time.Duration) {
	if since < ask.Repeat {
		m.flash = "not taken: one key at a time"
		return
	}
	m.pend = &pending{a, keys, now.Add(ask.Repeat)}
}

// diffEvery is how often a tab is read again that no file tells about: a diff costs runs of git, and today looks at every
// process. The others are read when something was written.
const diffEvery = 10 * time.Second

// load asks for the page that is shown: once when it is another one, and then again when it may have changed.
func (m *model) load(now time.Time) tea.Cmd {
	p, ok := m.shownPage()
	if !ok && m.paged {
		m.paged = false
		return func() tea.Msg {
			m.Source.Leave()
			return nil
		}
	}
	if !ok || p.Same(m.loading) || p.Tab == TabDiff && m.held() {
		return nil
	}
	if !m.paged { // it may have changed while it was not shown
		m.paged, m.moved = true, true
	}
	due := m.moved
	if p.Tab == TabDiff || p.Tab == TabToday {
		due = now.Sub(m.asked) >= diffEvery
	}
	if p.Same(m.page.of) && !due {
		return nil
	}
	if !p.Same(m.page.of) {
		m.page, m.stale = pageMsg{of: p}, true
	}
	m.asked, m.loading, m.moved = now, p, false
	return func() tea.Msg {
		paper, err := m.Source.Page(m.ctx, p)
		return pageMsg{p, paper, err}
	}
}

// Same reports whether two pages are the same one, whatever they show now.
func (p Page) Same(q Page) bool {
	return p.Tab == q.Tab && p.Team == q.Team && p.Member == q.Member && p.Ask == q.Ask
}

// pageLimit is how many lines of a member's output the screen keeps.
const pageLimit = 1000

// shownPage is the page that the right side shows; ok is false when it shows none.
func (m *model) shownPage() (p Page, ok bool) {
	r := m.selected()
	switch {
	case m.mode == batching, m.mode == ruling, m.mode == changing, m.mode == accepting, m.tab == TabAsk, m.tab == TabTasks:
		return Page{}, false
	case m.tab == TabToday:
		return Page{Tab: TabToday, Lines: pageLimit}, true
	case r == nil, r.done != nil && !r.told(m.tab):
		return Page{}, false
	}
	p = Page{Tab: m.tab, Team: r.team(), Member: r.name(), Lines: pageLimit}
	if p.Tab == TabWhy && r.ask != nil {
		p.Ask = r.ask.ID
	}
	return p, true
}

// takePage takes a page, unless another one is shown by now.
func (m *model) takePage(msg pageMsg) {
	m.asked = m.now
	if m.loading.Same(msg.of) {
		m.loading = Page{}
	}
	if msg.of.Tab == TabDiff {
		m.takeDiff(msg)
	}
	if p, ok := m.shownPage(); ok && p.Same(msg.of) {
		m.page = msg
	}
}

// loadEarlier asks for what differs between the selected plan and the revision before it, or what a call
// changes in its file.
func (m *model) loadEarlier() tea.Cmd {
	q := m.open()
	if m.shownMode() == changing {
		q = m.changed()
	}
	if q == nil || q.Revision < 2 && q.EditedPath() == "" {
		return nil
	}
	if _, ok := m.earlier[q.Digest]; ok {
		return nil
	}
	m.earlier[q.Digest] = ""
	of := *q
	return func() tea.Msg {
		diff, err := m.Source.Earlier(m.ctx, of)
		return earlierMsg{of.Digest, diff, err}
	}
}

func (m *model) takeEarlier(msg earlierMsg) {
	if m.earlier[msg.of] = msg.got; msg.err != nil {
		m.earlier[msg.of] = "what was there before cannot be read: " + m.Explain(msg.err)
	}
}
