package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view/page"
	"waggle/internal/pattern"
	"waggle/protocol"
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
			return nil, fmt.Errorf("keys: there is no command %s: there are %s", name, strings.Join(protocol.Strings(slices.Compact(known)), ", "))
		}
		maps.DeleteFunc(keys, func(_ string, other command) bool { return other == c })
		for _, k := range settings[name] {
			switch other, taken := own[k]; {
			case taken:
				return nil, fmt.Errorf("keys: %s is the key of %s and of %s", k, other, c)
			case k == "" || len(k) == 1 && k >= "0" && k <= "9":
				return nil, fmt.Errorf("keys: %s: %q cannot be chosen, digits jump to rows", name, k)
			case !keyName().MatchString(k):
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
var keyName = pattern.New(`^(ctrl\+)?(alt\+)?([^\s\pC]|(shift\+)?(up|down|left|right|home|end|pgup|pgdown|enter|tab|space|esc|backspace|delete|insert|f[1-9][0-9]?))$`)

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

// shownKeys are short names of keys.
var shownKeys = map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→", "pgdown": "pgdn"}

// keysOf are the keys of a command, the shortest first; of several, those that most keyboards have.
func (m *model) keysOf(c command) []string {
	var keys []string
	for k, other := range m.Keys {
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
	if m.busy == 0 && m.Keys[name] != cmdQuit {
		m.leaving = false
	}
	if m.mode == accepting {
		return m.setupKey(m.Keys[name], now, since)
	}
	if len(name) == 1 && name >= "1" && name <= "9" && m.mode != ruling {
		m.jump(int(name[0] - '0'))
		return nil
	}
	switch c := m.Keys[name]; {
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
		m.mode, m.zoom, m.tab = browsing, false, m.tabFor(TabAsk)
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
		v := m.reviewed()
		m.choose(c.from(v.at, len(v.paper.Lines)))
		return
	case m.mode == ruling && c == cmdUp:
		m.rules.at = max(0, m.rules.at-1)
		return
	case m.mode == ruling && c == cmdDown:
		m.rules.at = min(len(m.rules.list)-1, m.rules.at+1)
		return
	}
	m.mode = browsing
	m.move(c.from(m.cursor, len(m.rows)))
}

// from is where a command of movement leads to in n lines, from one of them.
func (c command) from(at, n int) int {
	switch c {
	case cmdUp:
		return at - 1
	case cmdDown:
		return at + 1
	case cmdTop:
		return 0
	}
	return n - 1
}

// jump moves the cursor to the row that has a number on the screen.
func (m *model) jump(n int) {
	if rows := m.numbered(); n <= len(rows) {
		m.mode = browsing
		m.move(rows[n-1])
	}
}

// takeOver gives the terminal to the client of the selected member's session, until that ends.
func (m *model) takeOver() tea.Cmd {
	a, ok := m.addressee(cmdTake)
	switch {
	case !ok:
		return nil
	case m.selected().member != nil && m.selected().member.Conversation == nil: // not read yet: take says it
		return m.say(a.Member + " has no session that a client of your own could go on with")
	}
	return m.take(a.Team, a.Member, func(err error) tea.Msg { return tookMsg{a.Member, err} })
}
