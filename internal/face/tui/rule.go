package tui

import (
	"cmp"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

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
		c.of[msg.of] = msg.got
	}
}

// ruled reports whether a rule can be made that allows a request.
func ruled(q decide.Request) bool { return len(q.Suggest) > 0 && q.Team != decide.SessionTeam }

// startRules shows the rules that would allow the selected request.
func (m *model) startRules() tea.Cmd {
	q := m.open()
	switch {
	case q == nil:
		return m.say("nothing to answer here")
	case q.Team == decide.SessionTeam:
		return m.say("a session is in no team: its rules are made on the command line")
	case !ruled(*q):
		return m.say("no rule should allow this one")
	}
	m.mode, m.rules = ruling, ruleChoice{asked: *q, list: q.Suggest, of: map[string]decide.Suggestion{}}
	asked := *q
	var cmds []tea.Cmd
	for _, r := range q.Suggest {
		cmds = append(cmds, func() tea.Msg {
			sg, err := m.Source.Matches(m.ctx, asked, r)
			return matchesMsg{r, sg, err}
		})
	}
	return tea.Batch(cmds...)
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
			t = append(t, line{style: faint, text: fmt.Sprintf("  %s: %s (%s)", one.Member, decide.Gist(protocol.KindPermissionRequest, asked), cmp.Or(one.Decision, decide.StatusOpen))})
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
