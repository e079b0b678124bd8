package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"waggle/internal/face/ask"
	"waggle/operator"
	"waggle/operator/decide"
)

// purpose is what a typed line is for.
type purpose int

const (
	forNothing purpose = iota
	forReason          // of a denial
	forHandle          // of a request of high risk
	forWords           // the answer to an agent's question
	forFilter
	forMessage
	forTask
	forComment
	forMerge
)

// input is the line at the bottom while something is typed.
type input struct {
	purpose purpose
	label   string
	text    []rune
	stands  string // what stood on the screen when the line was begun
	act     Act    // what Enter does
	keys    []string
}

const maxInput = 4000 // characters

// insert adds what was typed or pasted. What cannot be seen becomes a space or is dropped.
func (in *input) insert(s string) {
	for _, r := range s {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if !operator.Hidden(r) && len(in.text) < maxInput {
			in.text = append(in.text, r)
		}
	}
}

// edit takes a key, and reports whether it changed the line.
func (in *input) edit(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "backspace":
		if n := len(in.text); n > 0 {
			in.text = in.text[:n-1]
		}
	case "ctrl+u":
		in.text = nil
	default:
		if k.Text == "" {
			return false
		}
		in.insert(k.Text)
	}
	return true
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
			return m.say("not taken: one key at a time")
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
			return m.say("it is empty: Esc leaves it")
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
		return m.say("nothing was decided: what is shown has changed, read it again")
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
		return m.say("an answer needs words: Esc leaves it, " + m.keyOf(cmdDeny) + " says that there is none")
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
		m.flash = "it is done; next: " + cmp.Or(m.Step(r.next()), "nothing")
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
