package view

import (
	"cmp"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
)

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
