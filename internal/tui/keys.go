package tui

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"waggle/internal/ask"
	"waggle/internal/view/page"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// command is what a key means while nothing is typed.
type command string

const (
	cmdAllow   command = "allow"
	cmdDeny    command = "deny"
	cmdRule    command = "rule"
	cmdBatch   command = "batch"
	cmdView    command = "view"
	cmdMessage command = "message"
	cmdNew     command = "new"
	cmdLook    command = "look"
	cmdNext    command = "next"
	cmdTab     command = "tab"
	cmdTabBack command = "tab-back"
	cmdTake    command = "take"
	cmdWhy     command = "why"
	cmdFilter  command = "filter"
	cmdBack    command = "back"
	cmdQuit    command = "quit"
	cmdHelp    command = "help"
	cmdUp      command = "up"
	cmdDown    command = "down"
	cmdTop     command = "top"
	cmdBottom  command = "bottom"
	cmdPageUp  command = "page-up"
	cmdPage    command = "page-down"
	cmdScope   command = "scope"
	cmdUntil   command = "until"
	cmdEdit    command = "edit"
	cmdComment command = "comment"
	cmdSend    command = "send"
	cmdMerge   command = "merge"
)

// defaultKeys are the keys and their commands, those of a decision as in the prompts. The digits jump. No key
// is another one's with Shift, but for S, which sends, beside s.
var defaultKeys = map[string]command{
	"a": cmdAllow, "d": cmdDeny, "v": cmdView, "r": cmdRule, "b": cmdBatch, "e": cmdEdit, "c": cmdComment, "S": cmdSend,
	"n": cmdNew, "m": cmdMessage, "g": cmdMerge, "t": cmdTake, "w": cmdWhy, "tab": cmdNext, "right": cmdTab, "left": cmdTabBack,
	"/": cmdFilter, "enter": cmdLook, "esc": cmdBack, "q": cmdQuit, "ctrl+c": cmdQuit, "?": cmdHelp,
	"up": cmdUp, "k": cmdUp, "down": cmdDown, "j": cmdDown, "home": cmdTop, "end": cmdBottom,
	"pgup": cmdPageUp, "ctrl+b": cmdPageUp, "pgdown": cmdPage, "space": cmdPage, "ctrl+f": cmdPage, "s": cmdScope, "u": cmdUntil,
}

// KeyMap is the keys and their commands, with those of a person in place of the default ones: the
// keys of each command that settings name. A key means one thing, and the digits jump.
func KeyMap(settings map[string][]string) (map[string]command, error) {
	keys := maps.Clone(defaultKeys)
	known := slices.Sorted(maps.Values(defaultKeys))
	own := map[string]command{}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		c := command(name)
		if !slices.Contains(known, c) {
			return nil, fmt.Errorf("keys: there is no command %s: there are %s", name, joined(slices.Compact(known)))
		}
		maps.DeleteFunc(keys, func(_ string, other command) bool { return other == c })
		for _, k := range settings[name] {
			switch other, taken := own[k]; {
			case taken:
				return nil, fmt.Errorf("keys: %s is the key of %s and of %s", k, other, c)
			case k == "" || len(k) == 1 && k >= "0" && k <= "9":
				return nil, fmt.Errorf("keys: %s: %q cannot be chosen, digits jump to rows", name, k)
			case !keyName.MatchString(k):
				return nil, fmt.Errorf("keys: %s: there is no key %q: it is a character, or a name as enter, pgdown, f2, ctrl+n", name, k)
			}
			own[k] = c
		}
	}
	maps.Copy(keys, own)
	if err := shifted(keys); err != nil {
		return nil, err
	}
	for _, c := range []command{cmdQuit, cmdBack} {
		if !slices.Contains(slices.Collect(maps.Values(keys)), c) {
			return nil, fmt.Errorf("keys: no key is left for %s", c)
		}
	}
	return keys, nil
}

// keyName matches the names of keys. A letter with Shift is the other letter.
var keyName = regexp.MustCompile(`^(ctrl\+)?(alt\+)?([^\s\pC]|(shift\+)?(up|down|left|right|home|end|pgup|pgdown|enter|tab|space|esc|backspace|delete|insert|f[1-9][0-9]?))$`)

// decisions are the commands of a decision: no key differs from one of theirs by Shift only.
var decisions = []command{cmdAllow, cmdDeny, cmdRule, cmdBatch, cmdEdit, cmdView}

// shifted refuses keys of which one is another one's with Shift, where either decides.
func shifted(keys map[string]command) error {
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		for _, other := range slices.Sorted(maps.Keys(keys)) {
			if keys[k] != keys[other] && strings.EqualFold(k, other) && slices.Contains(decisions, keys[k]) {
				return fmt.Errorf("keys: %s of %s and %s of %s differ by Shift only", k, keys[k], other, keys[other])
			}
		}
	}
	return nil
}

func joined(cs []command) string {
	var names []string
	for _, c := range cs {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// shownKeys are short names of keys.
var shownKeys = map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→", "pgdown": "pgdn"}

// keysOf are the keys of a command, the shortest first; of several, those that most keyboards have.
func (m *model) keysOf(c command) []string {
	var keys []string
	for k, other := range m.keys {
		if other == c {
			keys = append(keys, cmp.Or(shownKeys[k], k))
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(ansi.StringWidth(a), ansi.StringWidth(b)), -cmp.Compare(a, b))
	})
	if plain := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return strings.HasPrefix(k, "ctrl+") }); len(plain) > 0 {
		return plain
	}
	return keys
}

// keyOf is the first key of a command.
func (m *model) keyOf(c command) string {
	keys := m.keysOf(c)
	if len(keys) == 0 {
		return "(no key)"
	}
	return keys[0]
}

// help is what the keys do, in the order of their use.
var help = []struct {
	commands []command
	does     string
}{
	{[]command{cmdAllow}, "allow what is shown; high risk by its handle; answer in words"},
	{[]command{cmdDeny}, "deny it, with a reason"},
	{[]command{cmdView}, "the whole of a request; a member's Diff; and back"},
	{[]command{cmdRule}, "allow with a rule, narrowest first, tried on the last calls"},
	{[]command{cmdBatch}, "answer all alike at once; again: all calls below high risk"},
	{[]command{cmdEdit}, "edit the input; it is shown again before you can allow it"},
	{[]command{cmdNext}, "the next row that needs you"},
	{[]command{cmdUp, cmdDown}, "move in the list"},
	{[]command{cmdTop, cmdBottom}, "the first and the last row"},
	{nil, "jump to the row with this number"},
	{[]command{cmdTabBack, cmdTab}, "the tabs: Ask, Output, Diff, Log, Why, Tasks, Today"},
	{[]command{cmdWhy}, "why it is so: the evidence of its state, what the rules say"},
	{[]command{cmdPage, cmdPageUp}, "read on in what is shown, and back"},
	{[]command{cmdLook}, "look into: the right side on the whole screen"},
	{[]command{cmdComment, cmdSend}, "comment on a line of Diff; send all comments in one message"},
	{[]command{cmdMerge}, "merge its work: check, merge, remove its worktree"},
	{[]command{cmdTake}, "take a member's session over, in its own client, until that ends"},
	{[]command{cmdMessage}, "send the member a message, or a task"},
	{[]command{cmdNew}, "start a new member with a task"},
	{[]command{cmdFilter}, "show only rows with this text"},
	{[]command{cmdBack}, "back"},
	{[]command{cmdQuit}, "leave the screen; the team goes on"},
}

// key takes one key.
func (m *model) key(k tea.KeyPressMsg, now time.Time) tea.Cmd {
	since := m.stand.typed(now)
	m.flash = ""
	if m.pend != nil {
		m.pend, m.flash = nil, "not taken: one key at a time"
		return nil
	}
	if m.mode == typing {
		return m.typed(k, now, since)
	}
	name := k.String()
	if m.busy == 0 && m.keys[name] != cmdQuit {
		m.leaving = false
	}
	if m.mode == accepting {
		return m.setupKey(m.keys[name], now, since)
	}
	if len(name) == 1 && name >= "1" && name <= "9" && m.mode != ruling {
		m.jump(int(name[0] - '0'))
		return nil
	}
	switch c := m.keys[name]; {
	case m.mode == helping && c != cmdQuit:
		m.readHelp(c)
	case c == cmdAllow:
		m.allow(now, since)
	case c == cmdDeny:
		m.deny(now, since)
	default:
		return m.command(c, name)
	}
	return nil
}

// readHelp scrolls the help where it is longer than the screen; other keys leave it.
func (m *model) readHelp(c command) {
	page, longer := max(1, m.paneHeight()-1), len(m.pane.lines) > m.paneHeight()
	by := map[command]int{cmdUp: -1, cmdDown: 1, cmdPage: page, cmdPageUp: -page, cmdTop: -len(m.pane.lines), cmdBottom: len(m.pane.lines)}[c]
	if by == 0 || !longer {
		m.mode = browsing
		return
	}
	m.pane.scroll += by
}

// command does what neither allows nor denies.
func (m *model) command(c command, name string) tea.Cmd {
	switch c {
	case cmdQuit:
		return m.quit()
	case cmdHelp:
		m.mode = helping
	case cmdBack:
		m.back()
	case cmdUp, cmdDown, cmdTop, cmdBottom:
		m.moveBy(c)
	case cmdPage:
		m.readOn()
	case cmdPageUp:
		m.pane.scroll -= max(1, m.paneHeight()-1)
	case cmdNext:
		m.mode = browsing
		if !m.next(needs) {
			m.flash = "nothing else needs you"
		}
	case cmdTab:
		m.turnTab(1)
	case cmdTabBack:
		m.turnTab(-1)
	case cmdView:
		m.view()
	case cmdWhy:
		m.showTab(TabWhy)
	case cmdLook:
		m.zoom = !m.zoom
	case cmdBatch:
		m.startBatch()
	case cmdRule:
		return m.startRules()
	case cmdScope:
		m.rules.wide = m.mode == ruling && !m.rules.wide
	case cmdUntil:
		if m.mode == ruling {
			m.rules.end = (m.rules.end + 1) % len(ruleEnds)
			if q := m.open(); ruleEnds[m.rules.end].task && (m.rules.wide || q == nil || q.Task == "") {
				m.rules.end = (m.rules.end + 1) % len(ruleEnds)
			}
		}
	case cmdEdit:
		return m.startEdit()
	case cmdComment:
		m.comment()
	case cmdSend:
		return m.send()
	case cmdFilter:
		m.begin(input{purpose: forFilter, label: "show rows with: ", text: []rune(m.filter)})
	case cmdNew:
		m.newTask()
	case cmdMessage, cmdMerge:
		m.address(c)
	case cmdTake:
		return m.takeOver()
	default:
		if name != "" {
			m.flash = name + " has no meaning here: " + m.keyOf(cmdHelp) + " shows the keys"
		}
	}
	return nil
}

// quit leaves when every act has ended.
func (m *model) quit() tea.Cmd {
	if m.busy > 0 && !m.leaving {
		m.leaving, m.flash = true, "leaving when what you asked for is done; "+m.keyOf(cmdQuit)+" again leaves now"
		return nil
	}
	if n := m.unsent(); n > 0 && !m.leaving {
		m.leaving, m.flash = true, fmt.Sprintf("%s not sent: %s sends it, %s again leaves", page.Count(n, "comment"), m.keyOf(cmdSend), m.keyOf(cmdQuit))
		return nil
	}
	return tea.Quit
}

// turnTab shows the next tab that says something, or the one before.
func (m *model) turnTab(by Tab) {
	m.mode, m.chosen = browsing, true
	for m.tab = (m.tab + by + tabs) % tabs; !m.has(m.tab); m.tab = (m.tab + by + tabs) % tabs {
	}
}

// has reports whether a tab says something: a row without a request has no tab Ask. Where nothing is selected, TabAsk
// stands for what the right side says then, and is not marked.
func (m *model) has(t Tab) bool {
	r := m.selected()
	switch {
	case r == nil:
		return t == TabAsk || t >= TabTasks
	case t == TabAsk:
		return r.ask != nil
	}
	return true
}

// view shows the whole: of a request on the whole screen, of a member what it has changed; and goes back.
func (m *model) view() {
	r := m.selected()
	switch {
	case r != nil && r.ask != nil && (m.tab == TabAsk || m.mode != browsing):
		m.zoom = !m.zoom
	case m.tab == TabDiff:
		m.mode, m.zoom = browsing, false
		if m.tab = m.tabFor(TabAsk); m.tab == TabDiff {
			m.tab = TabOutput
		}
	default:
		m.showTab(TabDiff)
	}
}

// showTab shows a tab of the selected row.
func (m *model) showTab(t Tab) {
	if !m.has(t) {
		m.flash = "nothing is selected"
		return
	}
	m.mode, m.tab, m.chosen = browsing, t, true
}

// back undoes the innermost thing that is open.
func (m *model) back() {
	switch {
	case m.mode != browsing:
		m.mode = browsing
	case m.zoom:
		m.zoom = false
	case m.tab != m.tabFor(TabAsk):
		m.tab = m.tabFor(TabAsk)
	case m.filter != "":
		m.filter = ""
		m.list()
	}
}

func (m *model) moveBy(c command) {
	switch {
	case m.inDiff():
		m.chooseBy(c)
		return
	case m.mode == ruling && c == cmdUp:
		m.rules.at = max(0, m.rules.at-1)
		return
	case m.mode == ruling && c == cmdDown:
		m.rules.at = min(len(m.rules.list)-1, m.rules.at+1)
		return
	}
	m.mode = browsing
	switch c {
	case cmdUp:
		m.move(m.cursor - 1)
	case cmdDown:
		m.move(m.cursor + 1)
	case cmdTop:
		m.move(0)
	case cmdBottom:
		m.move(len(m.rows) - 1)
	}
}

// chooseBy moves in the diff.
func (m *model) chooseBy(c command) {
	v := m.reviewed()
	switch c {
	case cmdUp:
		m.choose(v.at - 1)
	case cmdDown:
		m.choose(v.at + 1)
	case cmdTop:
		m.choose(0)
	case cmdBottom:
		m.choose(len(v.paper.Lines) - 1)
	}
}

// jump moves the cursor to the row that has a number on the screen.
func (m *model) jump(n int) {
	if rows := m.numbered(); n <= len(rows) {
		m.mode = browsing
		m.move(rows[n-1])
	}
}

// shownMode is the mode of the right side, also while something is typed.
func (m *model) shownMode() mode {
	if m.mode == typing {
		return m.was
	}
	return m.mode
}

// subject is what an answer is about now; ok is false, with the reason, when nothing can be
// answered.
func (m *model) subject() (qs []decide.Request, keys []string, why string) {
	mode := m.shownMode()
	switch mode {
	case batching:
		return m.batch.requests, keysOf(m.batch.requests), ""
	case changing:
		q := m.changed()
		if q == nil {
			return nil, nil, "this one was answered or has changed"
		}
		return []decide.Request{*q}, keysOf([]decide.Request{m.change.of}), ""
	}
	q := m.open()
	switch {
	case m.selected() == nil || m.selected().ask == nil:
		return nil, nil, "nothing to answer here"
	case q == nil:
		return nil, nil, "this one was answered"
	case mode == browsing && m.tab != TabAsk:
		return nil, nil, "the request is on the tab Ask: " + m.keyOf(cmdBack) + " shows it"
	}
	return []decide.Request{*q}, keysOf([]decide.Request{*q}), ""
}

func keysOf(qs []decide.Request) (keys []string) {
	for i := range qs {
		keys = append(keys, askKey(&qs[i]))
	}
	return keys
}

// ready is subject for a key that answers: what it is about must have stood on the screen.
func (m *model) ready(now time.Time) (qs []decide.Request, keys []string, ok bool) {
	qs, keys, why := m.subject()
	if why == "" {
		why = m.unstood(now)
	}
	if why != "" {
		m.flash = why
		return nil, nil, false
	}
	return qs, keys, true
}

// unstood is why a key does not answer what is shown yet; "": it does.
func (m *model) unstood(now time.Time) string {
	switch {
	case m.unread() > 0:
		return fmt.Sprintf("not taken: %d more lines to read, %s shows them", m.unread(), m.keyOf(cmdPage))
	case m.stand.what == "":
		return "not taken: there is no room to show it whole, Enter gives it the whole screen"
	case !m.stand.armed(now) || m.pane.seen < len(m.pane.lines):
		return "not taken: typed before it stood long enough to be read"
	}
	return ""
}

func high(q decide.Request) bool { return policy.Risk(q.Risk) == policy.RiskHigh }

func words(q decide.Request) bool { return q.Kind == string(record.KindQuestion) }

// allow takes the key that allows.
func (m *model) allow(now time.Time, since time.Duration) {
	qs, keys, ok := m.ready(now)
	if !ok {
		return
	}
	a := Act{Verb: Allow, Requests: qs}
	if m.mode == ruling {
		end := ruleEnds[m.rules.end]
		a.Rule, a.Wide, a.Task = m.rules.list[m.rules.at], m.rules.wide, end.task && !m.rules.wide
		if end.after > 0 {
			a.End = now.Add(end.after)
		}
	}
	q := qs[0]
	if m.mode == changing {
		a.Requests, a.Input = []decide.Request{m.change.of}, m.change.input
	}
	switch {
	case m.mode == batching:
		m.answer(a, keys, now, since)
	case words(q):
		a.Verb = Words
		m.begin(input{purpose: forWords, label: wordsLabel(q, 0), act: a, keys: keys})
	case high(q):
		m.begin(input{purpose: forHandle, label: fmt.Sprintf("high risk: type %s and Enter to allow it once: ", q.Handle), act: a, keys: keys})
	default:
		m.answer(a, keys, now, since)
	}
}

func wordsLabel(q decide.Request, n int) string {
	if len(q.Questions) > 1 {
		return fmt.Sprintf("answer to question %d of %d (a number or text): ", n+1, len(q.Questions))
	}
	return "your answer (a number or text): "
}

// deny takes the key that denies, and asks for the reason.
func (m *model) deny(now time.Time, since time.Duration) {
	qs, keys, ok := m.ready(now)
	switch {
	case !ok:
	case m.mode == changing:
		m.flash = m.keyOf(cmdBack) + " goes back to what was asked: " + m.keyOf(cmdDeny) + " denies that"
	case since < ask.Settle:
		m.flash = "not taken: one key at a time"
	default:
		m.begin(input{purpose: forReason, label: fmt.Sprintf("deny %s, because (Enter sends it, also empty): ", named(qs)), act: Act{Verb: Deny, Requests: qs}, keys: keys})
	}
}

// begin starts a line. What stands on the screen stays there meanwhile.
func (m *model) begin(in input) {
	in.stands = m.stand.what
	m.was, m.mode, m.line = m.mode, typing, in
}

// typed takes a key of a line.
func (m *model) typed(k tea.KeyPressMsg, now time.Time, since time.Duration) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		if m.line.purpose == forFilter {
			m.filter = ""
			m.list()
		}
		m.mode, m.line = m.was, input{}
		return nil
	case "tab":
		m.otherwise()
		return nil
	case "enter":
		if since < ask.Settle {
			m.flash = "not taken: one key at a time"
			return nil
		}
		return m.enter(now)
	}
	if m.line.edit(k) && m.line.purpose == forFilter {
		m.filter = string(m.line.text)
		m.list()
	}
	return nil
}

// paste puts pasted text into the line that is typed. Nowhere else does it do anything, and a
// handle is typed.
func (m *model) paste(text string, now time.Time) {
	m.stand.typed(now)
	switch {
	case m.mode != typing || m.line.purpose == forHandle:
		m.pend, m.flash = nil, "nothing is taken of what was pasted"
	default:
		m.line.insert(text)
		if m.line.purpose == forFilter {
			m.filter = string(m.line.text)
			m.list()
		}
	}
}

// enter ends the line.
func (m *model) enter(now time.Time) tea.Cmd {
	in, text := m.line, strings.TrimSpace(string(m.line.text))
	switch in.purpose {
	case forReason, forHandle, forWords:
		return m.enterAnswer(in, text, now)
	case forComment:
		m.commented(text)
	case forMerge:
		in.act.Text = text
		return m.act(in.act, nil)
	case forMessage, forTask:
		if text == "" {
			m.flash = "it is empty: Esc leaves it"
			return nil
		}
		in.act.Text = text
		return m.act(in.act, nil)
	}
	m.mode, m.line = m.was, input{}
	return nil
}

// enterAnswer ends a line that answers: what stood when it was begun must stand still.
func (m *model) enterAnswer(in input, text string, now time.Time) tea.Cmd {
	if in.stands != m.stand.what || !m.stand.armed(now) {
		m.mode, m.line = m.was, input{}
		m.flash = "nothing was decided: what is shown has changed, read it again"
		return nil
	}
	q := in.act.Requests[0]
	switch {
	case in.purpose == forReason:
		in.act.Reason = text
	case in.purpose == forHandle && !strings.EqualFold(text, q.Handle):
		m.flash = fmt.Sprintf("%s is not %s", text, q.Handle)
		m.line.text = nil
		return nil
	case in.purpose == forWords && text == "":
		m.flash = "an answer needs words: Esc leaves it, " + m.keyOf(cmdDeny) + " says that there is none"
		return nil
	case in.purpose == forWords:
		in.act.Words = append(in.act.Words, text)
		if n := len(in.act.Words); n < len(q.Questions) {
			m.line.act, m.line.text, m.line.label = in.act, nil, wordsLabel(q, n)
			return nil
		}
	}
	return m.act(in.act, in.keys)
}

// newTask begins the line that starts a member with a task.
func (m *model) newTask() {
	m.begin(input{purpose: forTask, label: "new task, of a new member: ", act: Act{Verb: NewMember}})
}

// addressee is the selected member of a team for a command; where there is none ok is false, and the person is told.
func (m *model) addressee(c command) (a Act, ok bool) {
	r := m.selected()
	switch {
	case r != nil && r.done != nil:
		m.flash = "it is done; next: " + cmp.Or(m.step(r.next()), "nothing")
		return a, false
	case r == nil || r.team() == decide.SessionTeam:
		m.flash = "choose a member of a team first"
		return a, false
	case c == cmdMerge && r.member != nil && r.member.Worktree == nil:
		m.flash = r.name() + " works in no worktree of its own: there is nothing to merge"
		return a, false
	}
	return Act{Team: r.team(), Member: r.name()}, true
}

// address begins a message for the member under the cursor, or a merge of its work.
func (m *model) address(c command) {
	a, ok := m.addressee(c)
	if !ok {
		return
	}
	if c == cmdMerge {
		a.Verb = Merge
		m.begin(input{purpose: forMerge, label: "merge " + a.Member + "'s work, message (empty: its task), Enter merges: ", act: a})
		return
	}
	a.Verb = Message
	m.begin(input{purpose: forMessage, label: "message to " + a.Member + ": ", act: a})
}

// otherwise makes the message that is typed a task for its member, and the other way round.
func (m *model) otherwise() {
	switch l := &m.line; l.act.Verb {
	case Message:
		l.purpose, l.act.Verb, l.label = forTask, NewTask, "new task for "+l.act.Member+": "
	case NewTask:
		l.purpose, l.act.Verb, l.label = forMessage, Message, "message to "+l.act.Member+": "
	}
}

// takeOver gives the terminal to the client of the selected member's session, until that ends.
func (m *model) takeOver() tea.Cmd {
	a, ok := m.addressee(cmdTake)
	switch {
	case !ok:
		return nil
	case m.take == nil, m.selected().member != nil && m.selected().member.Conversation == nil: // not read yet: take says it
		m.flash = a.Member + " has no session that a client of your own could go on with"
		return nil
	}
	return m.take(a.Team, a.Member, func(err error) tea.Msg { return tookMsg{a.Member, err} })
}

// batch is requests that are answered at once, each exactly as it is shown.
type batch struct {
	id       string
	text     []string // all that it covers; the heads of its groups begin in the first column
	requests []decide.Request
	wide     bool // more than those that are alike
}

// startBatch shows all requests that are like the selected one, or, from there and where no request is
// selected, all that may be answered at once. The batch does not change while it is shown.
func (m *model) startBatch() {
	q := m.open()
	wide := m.mode == batching || q == nil
	var open []decide.Request
	for i := range m.asks {
		if m.given[askKey(&m.asks[i])] == "" {
			open = append(open, m.asks[i])
		}
	}
	b := batch{wide: wide}
	for _, g := range decide.Groups(open) {
		if !g.Batch || !wide && !slices.ContainsFunc(g.Requests, func(r decide.Request) bool { return askKey(&r) == askKey(q) }) {
			continue
		}
		b.id += g.ID
		if m.several() {
			b.text = append(b.text, "team "+g.Team+":")
		}
		b.text, b.requests = append(b.text, g.Text...), append(b.requests, g.Requests...)
	}
	switch {
	case len(b.requests) == 0 && q == nil:
		m.flash = "nothing can be answered in a batch"
		return
	case len(b.requests) == 0:
		m.flash = "high risk, plans, hosts and questions are answered one by one"
		return
	}
	m.mode, m.batch = batching, b
}

// ruleChoice are the rules that would allow a request, and what the chosen one would have matched.
type ruleChoice struct {
	asked decide.Request // what they would allow
	list  []string
	at    int
	wide  bool
	end   int // into ruleEnds
	of    map[string]decide.Suggestion
	err   error
}

// ruleEnd says how long a rule holds.
type ruleEnd struct {
	after time.Duration // 0: until it is taken back
	task  bool          // with the task of the request at the latest
}

// ruleEnds are the ends that a rule which is made here may have, the usual one first.
var ruleEnds = []ruleEnd{{after: decide.LessonTime}, {after: 7 * 24 * time.Hour}, {after: 14 * 24 * time.Hour}, {after: time.Hour},
	{after: decide.LessonTime, task: true}, {}}

// says is such an end in words.
func (e ruleEnd) says(wide bool) string {
	days := int(e.after / (24 * time.Hour))
	switch {
	case e.task && !wide:
		return "for this task"
	case e.after == 0:
		return "always"
	case days > 1:
		return "for " + page.Count(days, "day")
	}
	return "for " + page.Count(int(e.after.Hours()), "hour")
}

func (c *ruleChoice) take(msg matchesMsg) {
	if msg.err != nil {
		c.err = msg.err
		return
	}
	if c.of != nil {
		c.of[msg.rule] = msg.sg
	}
}

// ruled reports whether a rule can be made that allows a request.
func ruled(q decide.Request) bool { return len(q.Suggest) > 0 && q.Team != decide.SessionTeam }

// endChoice ends the choice of a rule and the change of an input when the selected request is not what they are about: it
// was answered or has changed, or the filter hides it.
func (m *model) endChoice() {
	q := m.open()
	of := map[mode]decide.Request{ruling: m.rules.asked, changing: m.change.of}
	about, ok := of[m.shownMode()]
	if !ok || q != nil && askKey(q) == askKey(&about) && q.Digest == about.Digest {
		return
	}
	m.stale, m.pend = true, nil
	if m.flash = cmp.Or(m.flash, "nothing was decided: what is shown has changed, read it again"); m.mode == typing {
		m.was = browsing
		return
	}
	m.mode = browsing
}

// startRules shows the rules that would allow the selected request.
func (m *model) startRules() tea.Cmd {
	q := m.open()
	switch {
	case q == nil:
		m.flash = "nothing to answer here"
		return nil
	case q.Team == decide.SessionTeam:
		m.flash = "a session is in no team: its rules are made on the command line"
		return nil
	case !ruled(*q):
		m.flash = "no rule should allow this one"
		return nil
	}
	m.mode, m.rules = ruling, ruleChoice{asked: *q, list: q.Suggest, of: map[string]decide.Suggestion{}}
	ctx, src, asked := m.ctx, m.src, *q
	var cmds []tea.Cmd
	for _, r := range q.Suggest {
		cmds = append(cmds, func() tea.Msg {
			sg, err := src.Matches(ctx, asked, r)
			return matchesMsg{r, sg, err}
		})
	}
	return tea.Batch(cmds...)
}
