package view

import (
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/protocol"
)

// HaltsDocument is what became of all work when it was stopped.
type HaltsDocument struct {
	Teams    []HaltedDocument     `json:"teams"`
	Sessions []decide.SessionHalt `json:"sessions"` // of the user's own sessions
}

// HaltedSessionsPage names the sessions that had work. Where they were not to be stopped, it names the way to.
func HaltedSessionsPage(hs []decide.SessionHalt, stopped bool) (p page.Page) {
	left := 0
	for _, h := range hs {
		name := page.Strong("@" + h.Name)
		switch {
		case h.How == decide.SessionStops:
			text := " stops at its next call"
			if len(h.Asked) > 0 {
				text = " was denied " + strings.Join(h.Asked, ", ") + ", and stops at its next call"
			}
			p.Line(name, page.Plain(text+"; it goes on when you type there"))
		case h.How == decide.SessionRuns && stopped:
			p.Line(name, page.Warning(" goes on: "+h.Why+"; Esc in its own terminal stops it"))
		case h.How == decide.SessionRuns:
			left++
		}
	}
	if left > 0 {
		p.Line(page.Warning(fmt.Sprintf("%s of yours goes on", page.Count(left, "session"))), page.Plain("  "), page.WholeStep(operator.NextStopSessions.With()))
	}
	return p
}

// HaltedDocument is what became of a team's work when it was stopped.
type HaltedDocument struct {
	*process.Halted
	Error string `json:"error,omitempty"` // the team is not stopped
}

// HaltedPage says what became of a team's work, and how it goes on.
func HaltedPage(h *process.Halted) (p page.Page) {
	if h.Theirs {
		p.Line(page.Strong(h.Team), page.Warning(fmt.Sprintf("  is not stopped: another program leads it, with %s", page.Count(len(h.Members), "member"))))
		return p
	}
	text := "all work is stopped"
	if h.Again {
		text = "all work was stopped before" + operator.Suffix(h.Reason)
	}
	p.Line(page.Strong(h.Team), page.Plain("  "+text+"  "), page.WholeStep(operator.Next{Step: operator.NextGoOn, Team: protocol.TeamName(h.Team)}))
	if h.Unsaid {
		p.Line(page.Warning("the reason of this stop is not on record: one reason is, that of the first"))
	}
	t := page.Table{Head: []string{"MEMBER", "NOW", "TASK", "WHAT WAS CUT"}}
	for _, m := range h.Members {
		t.Names = append(t.Names, m.Member)
		t.Rows = append(t.Rows, []string{m.Member, haltText[m.How], m.Task, cutText(m)})
	}
	p.Rows(t)
	for _, m := range h.Members {
		switch m.How {
		case process.HaltRuns:
			p.Line(page.Warning(m.Member+" goes on: "+m.Why), page.Plain("  "), page.WholeStep(operator.Next{Step: operator.NextStopMember, Team: protocol.TeamName(h.Team), Member: protocol.MemberName(m.Member)}))
		case process.HaltEnded:
			p.Line(page.Warning(m.Member+" did not stop in time, and was ended"), page.Plain("  "), page.WholeStep(operator.Next{Step: operator.NextBringBack, Team: protocol.TeamName(h.Team), Member: protocol.MemberName(m.Member)}))
		}
	}
	return p
}

// haltText says how a member is after it was stopped.
var haltText = map[string]string{process.HaltCut: "cut", process.HaltIdle: "idle", process.HaltEnded: "ended", process.HaltDown: "not running", process.HaltRuns: "goes on"}

// cutText names what a member did when it was stopped.
func cutText(m process.MemberHalt) string {
	parts := append([]string{}, m.Calls...)
	if len(m.Asked) > 0 {
		parts = append(parts, "asked "+strings.Join(m.Asked, ", "))
	}
	return strings.Join(parts, "; ")
}
