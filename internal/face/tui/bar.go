package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

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
	if editable(q) {
		hint += fmt.Sprintf("  %s edit", k(cmdEdit))
	}
	return hint + fmt.Sprintf("  %s whole", k(cmdView)) + rest
}

func (m *model) unreadHint() string {
	return fmt.Sprintf("%s: %d more lines to read before you can answer", m.keyOf(cmdPage), m.unread())
}
