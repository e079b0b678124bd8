package view

import (
	"cmp"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
)

// MemberEndPage says how a member ended.
func MemberEndPage(e process.MemberEnd) (p page.Page) {
	p.Line(page.Plain(e.Member + ": " + endText(e)))
	return p
}

// EndedPage says how a team ended, and which members did not end as they were asked.
func EndedPage(d *process.DownResult) (p page.Page) {
	for _, m := range d.Members {
		if m.Kind() != operator.None || m.How == record.LeftReleased || m.How == "listed" {
			p = append(p, MemberEndPage(m)...)
		}
	}
	if d.Archive == "" { // nothing can be recorded now; the text above says it
		p.Line(page.Plain("team " + d.Team + ": its processes have ended"))
	} else {
		p.Line(page.Plain("team " + d.Team + " has ended; its history is in " + d.Archive))
	}
	return p
}

// endText says how a member ended.
func endText(e process.MemberEnd) string {
	switch e.How {
	case record.LeftHandshake:
		return "ended by itself when it was asked"
	case record.LeftDied:
		return "was dead already"
	case record.LeftReleased:
		return released(e) + "it was let go: waggle does not run it"
	case "stays":
		return released(e) + "it is still a member: waggle does not run it"
	case "listed":
		return "is only in the registry: it was not asked"
	}
	s := map[string]string{"gone": "had ended", "stdin": "ended when its input was closed", "term": "ended by SIGTERM", "kill": "ended by SIGKILL"}[e.Step]
	if s == "" {
		s = "was ended: " + e.Step
	}
	switch {
	case e.Queued:
		return "it was in the queue, and had not started"
	case e.Forced:
		return s + "; it was not asked"
	case e.Rejected != "":
		return s + "; it had refused: " + e.Rejected
	}
	return s + "; it had not answered in time"
}

// released says what a member that waggle does not run answered.
func released(e process.MemberEnd) string {
	switch {
	case e.Forced:
		return ""
	case e.Rejected != "":
		return "refused to end: " + e.Rejected + "; "
	}
	return "was asked to end and did not answer; "
}

// EndedStatusPage shows when and how a team ended, what became of its members and tasks, and what is kept.
func EndedStatusPage(st *inspect.EndedStatus, now time.Time) (p page.Page) {
	p.Line(page.Strong(st.Team), page.Plain("  "+EndedWhen(st.At, st.How, now)+"; it began "+page.When(st.Opened, now)))
	members := page.Table{Head: []string{"MEMBER", "LEFT", "HOW"}, About: true}
	for _, m := range st.Members {
		members.Rows = append(members.Rows, []string{m.Name, page.When(m.At, now), LeftText(m)})
	}
	p.Rows(members)
	tasks := page.Table{Head: []string{"TASK", "STATE", "OWNER", "SUBJECT", "NOTE"}, About: true}
	for _, k := range st.Tasks {
		tasks.Rows = append(tasks.Rows, []string{k.ID, string(k.State), k.Owner, k.Subject, k.Note})
	}
	p.Rows(tasks)
	team := protocol.TeamName(st.Team)
	for _, k := range st.Kept {
		what, where := "worktree", k.Path+", branch "+k.Branch
		if k.Path == "" {
			what, where = "branch", k.Branch
		}
		p.Line(page.Warning("kept: "+what+" of "+k.Member), page.Plain("  "+where+" ("+k.Why+")"))
		p.Line(page.Plain("  "), page.WholeStep(operator.Next{Step: operator.NextMergeAgain, Team: team, Member: protocol.MemberName(k.Member)}))
	}
	if len(st.Kept) == 0 {
		p.Line(page.Plain("no worktree and no branch of it is left"))
	}
	p.Line(page.Faint("next: "), page.WholeStep(operator.Next{Step: operator.NextReadEnded, Team: team}))
	return p
}

// EndedWhen says when and how a team ended: "ended 2 min ago (taken down)".
func EndedWhen(at time.Time, how string, now time.Time) string {
	return "ended " + page.When(at, now) + " (" + endedHow(how) + ")"
}

// endedHow says what ended a team.
func endedHow(how string) string {
	return cmp.Or(map[string]string{"down": "taken down", "run": "its run was over", "deleted": "deleted", record.LeftReplaced: "another team took its name"}[how], how)
}

// LeftText says how a member left.
func LeftText(m inspect.EndedMember) string {
	text := map[string]string{record.LeftHandshake: "ended by itself when it was asked", record.LeftStopped: "was ended", record.LeftDied: "its process died",
		record.LeftReplaced: "another team took the name", record.LeftReleased: "was let go: waggle does not run it", "down": "was let go at the end", "": "no record says how"}[m.How]
	if text == "" {
		text = m.How
	}
	if step := map[string]string{"stdin": "closing its input", "term": "SIGTERM", "kill": "SIGKILL"}[m.Detail]; step != "" {
		return text + " by " + step
	}
	return text + operator.Suffix(m.Detail)
}
