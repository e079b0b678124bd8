package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/internal/face/view/policyview"
	"waggle/internal/face/view/sentence"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
)

// StatusDocument is the status of a team (commands §4).
type StatusDocument struct {
	Team   string         `json:"team"`
	Notice string         `json:"notice"` // the error of the team's directory or its journal; "" for none
	Broken bool           `json:"broken"` // the leader's journal is broken
	Full   bool           `json:"full"`   // STATE takes no record now
	Leader LeaderDocument `json:"leader"`
	*inspect.Status
	Today *record.Usage `json:"today,omitempty"` // of all teams of this machine; null: nothing was used
}

// LeaderDocument says whether a process leads the team.
type LeaderDocument struct {
	Led     bool   `json:"led"`
	By      string `json:"by"` // waggle, or another program
	Sandbox string `json:"sandbox"`
	inspect.LeaderStatus
	// SleptS is how many seconds the machine was suspended, until SleptUntil, within the last hour.
	SleptS     int64  `json:"slept_s,omitempty"`
	SleptUntil string `json:"slept_until,omitempty"`
}

// Status is the document of a team's status.
func Status(st *inspect.Status) StatusDocument {
	return StatusDocument{Team: st.Team, Notice: notice(st), Broken: st.Broken != nil, Full: st.Room != nil, Leader: leader(st.Leader), Status: st}
}

func leader(l inspect.LeaderStatus) LeaderDocument {
	d := LeaderDocument{Led: l.Led, By: "waggle", Sandbox: string(l.Sandbox), LeaderStatus: l}
	if l.Foreign {
		d.By, d.Sandbox = "another program", string(operator.HeldUnknown)
	}
	if l.Slept > 0 {
		d.SleptS, d.SleptUntil = int64(l.Slept.Seconds()), page.Stamp(l.SleptAt)
	}
	return d
}

// notice describes the error of a team's directory or its journal.
func notice(st *inspect.Status) string {
	s := gone(st.Gone)
	if st.Room != nil {
		s = fmt.Sprintf("nothing can be recorded, so nothing is decided until that is over: %v", st.Room)
	}
	if st.Broken != nil {
		s = st.Broken.Error()
	}
	for _, what := range st.Damage {
		s = strings.TrimPrefix(s+"; "+what, "; ")
	}
	return s
}

// gone describes the change of a team's directory.
func gone(n *record.Noticed) string {
	if n == nil {
		return ""
	}
	s := "its directory " + n.Path + " is gone: nothing can be sent or received"
	if n.Moved != "" {
		s += "; it was renamed to " + n.Moved
	}
	return s
}

// StatusPage is the status of teams for people, members in the order of an overview. Several teams have one table,
// whose rows name the team. whole adds processes, worktrees, and what each member has used.
func StatusPage(now time.Time, whole bool, sts ...*inspect.Status) (p page.Page) {
	if len(sts) == 1 {
		addTeamHead(&p, sts[0], now)
		addMembers(&p, sts, whole, now)
		addTeamFoot(&p, sts[0], false)
		return p
	}
	for _, st := range sts {
		addTeamHead(&p, st, now)
	}
	addMembers(&p, sts, whole, now)
	for _, st := range sts {
		addTeamFoot(&p, st, true)
	}
	return p
}

// teamHead says who leads a team, and what is wrong with it.
func addTeamHead(p *page.Page, st *inspect.Status, now time.Time) {
	name := protocol.TeamName(st.Team)
	leads := "nobody leads it: the next command that acts does what is due"
	l := leader(st.Leader)
	switch {
	case st.Leader.Foreign:
		leads = "led by " + l.By
	case l.Led:
		leads = "a process leads it"
	}
	if len(st.Members) > 0 {
		leads += ", sandbox " + l.Sandbox
	}
	p.Line(page.Strong(st.Team), page.Plain("  "+leads))
	switch text := notice(st); {
	case st.Broken != nil:
		p.Line(page.Warning(text), page.Plain("  "), page.WholeStep(operator.Next{Step: operator.NextAcknowledgeOrDown, Team: name}))
	case st.Room != nil:
		p.Line(page.Warning(text))
	case st.Gone != nil:
		p.Line(page.Warning(text), page.Plain("  "), page.Step(operator.NextInboxArchive.With()))
	case text != "":
		p.Line(page.Warning(text), page.Plain("  "), page.Step(operator.NextDoctor.With()))
	}
	if l := st.Leader; l.Stopped != "" {
		p.Line(page.Warning(l.Stopped))
		if len(l.Untaken) > 0 {
			p.Line(page.Plain("it has not taken in "+operator.Visible(strings.Join(l.Untaken, ", "))+"; an answer is recorded all the same  "), page.WholeStep(operator.Next{Step: operator.NextPendingList}))
		}
	}
	if l := st.Leader; l.Slept > 0 {
		p.Line(page.Faint(fmt.Sprintf("this machine was asleep for %s until %s, which counts for no deadline", l.Slept.Round(time.Second), page.Clock(l.SleptAt, now))))
	}
	if h := st.Halt; h != nil {
		p.Line(page.Warning(inspect.StoppedWhy+" "+page.Clock(h.At, now)+operator.Suffix(h.Reason)), page.Plain("  "), page.WholeStep(operator.Next{Step: operator.NextGoOn, Team: name}))
	}
	addInterrupted(p, st.Interrupted, name, now)
	*p = append(*p, policyview.CeilingPage(st.Ceiling)...)
}

// teamFoot is what a team's budgets, files and mail have for the operator.
func addTeamFoot(p *page.Page, st *inspect.Status, several bool) {
	of := ""
	if several {
		of = st.Team + ": "
	}
	for _, b := range st.Budgets {
		p.Line(page.Plain(of + budgetText(b)))
	}
	addOverlaps(p, st.Overlaps)
	addUnheard(p, st, of)
	addCounts(p, st, several, st.Pending)
}

// addUnheard names the members that wrote themselves into the registry of a team of waggle, with the command after
// which waggle reads what they say.
func addUnheard(p *page.Page, st *inspect.Status, of string) {
	for _, m := range st.Members {
		if m.Unheard {
			p.Line(page.Warning(of+m.Name+" "+inspect.UnheardText), page.Plain("  "),
				page.WholeStep(operator.Next{Step: operator.NextHear, Team: protocol.TeamName(st.Team), Member: protocol.MemberName(m.Name)}))
		}
	}
}

// DuePage is what of a team the person has to look at and no row of a list of requests, members and tasks shows.
func DuePage(st *inspect.Status) (p page.Page) {
	one := *st
	one.Failed, one.Blocked = 0, 0
	addCounts(&p, &one, true, 0)
	return p
}

// counts has a line for each thing of a team that the operator has to look at, with its number.
func addCounts(p *page.Page, st *inspect.Status, several bool, pending int) {
	of := ""
	if several {
		of = st.Team + ": "
	}
	for _, n := range []struct {
		n         int
		one, many string
		next      operator.Step
	}{
		{pending, "waits for your decision", "wait for your decision", operator.NextPendingList},
		{st.Failed, "task failed", "tasks failed", operator.NextListTasks},
		{st.Blocked, "task waits for one that failed", "tasks wait for one that failed", operator.NextListTasks},
		{st.Unread, "message for you", "messages for you", operator.NextInboxUnread},
		{st.Unanswerable, "request has no id of its own and cannot be answered: its sender was told", "requests have no id of their own and cannot be answered: their senders were told", operator.NextLogUnverified},
		{st.Alarms, "message claimed an authority that it does not have", "messages claimed an authority they do not have", operator.NextLogUnverified},
	} {
		if n.n > 0 {
			text := n.many
			if n.n == 1 {
				text = n.one
			}
			next := page.Step(n.next.With())
			if several {
				next = page.WholeStep(operator.Next{Step: n.next, Team: protocol.TeamName(st.Team)})
			}
			p.Line(page.Warning(fmt.Sprintf("%s%d %s", of, n.n, text)), page.Plain("  "), next)
		}
	}
}

// interrupted shows the number of dead members, and the command that restarts them.
func addInterrupted(p *page.Page, in *inspect.Interrupted, name protocol.TeamName, now time.Time) {
	if in == nil {
		return
	}
	p.Line(page.Warning(fmt.Sprintf("interrupted %s; %s can be brought back, %s pending", page.Clock(in.At, now), page.Count(in.Members, "member"), page.Count(in.Pending, "decision"))),
		page.Plain("  "), page.WholeStep(operator.Next{Step: operator.NextResumeTeam, Team: name}))
}

// listedMember is a member beside its team.
type listedMember struct {
	st *inspect.Status
	inspect.MemberStatus
}

// listed are the members of teams, by group.
func listed(sts []*inspect.Status) (all []listedMember) {
	for _, st := range sts {
		for _, m := range st.Members {
			all = append(all, listedMember{st, m})
		}
	}
	slices.SortStableFunc(all, func(a, b listedMember) int { return cmp.Compare(a.Group(), b.Group()) })
	return all
}

// withState is a condition with the machine's word for it, where that is another.
func withState(words, state string) string {
	if words == state {
		return words
	}
	return words + " (" + state + ")"
}

// addMembers adds the table of the members of all teams, and remarks on members.
func addMembers(p *page.Page, sts []*inspect.Status, whole bool, now time.Time) {
	t := page.Table{Head: []string{"TEAM", "MEMBER", "STATE", "SINCE", "TRUST", "PID", "TASK", "WHY"}, Spare: []string{"PID"}, Once: []string{"TRUST"}}
	all := listed(sts)
	for _, m := range all {
		name, pid := m.Name, ""
		if m.Lead != "" { // what the team file calls the agent behind the lead
			name += " (" + m.Lead + ")"
		}
		if m.PID > 0 {
			pid = strconv.Itoa(m.PID)
		}
		is := Words(m.Stand, now)
		if whole {
			is = withState(is, string(m.State))
		}
		t.Names = append(t.Names, m.Name)
		t.Rows = append(t.Rows, []string{m.st.Team, name, is, page.Since(m.Since, now), m.Trust.Words(), pid, m.Task, page.Local(m.Why, now)})
	}
	if len(t.Rows) == 0 {
		p.Line(page.Plain("no members"))
		addMerges(p, sts, now)
		return
	}
	if len(sts) > 1 {
		t.Names = nil // a name has another colour in another team
	}
	if t = t.WithTeam(len(sts) > 1); !whole {
		t, _, _ = t.Without("PID")
	}
	p.Table(t)
	for _, m := range all {
		addRemarks(p, m.MemberStatus, whole)
		addRefused(p, m.st.Team, m.MemberStatus, now)
		addResolved(p, m.st.Team, m.MemberStatus)
		addDead(p, m.st, m.MemberStatus)
	}
	addMerges(p, sts, now)
	for _, m := range all {
		addUnheld(p, m.MemberStatus)
	}
}

// addDead names a dead member that asks, and one that only a resume starts again: the reason in the table may be
// cut.
func addDead(p *page.Page, st *inspect.Status, m inspect.MemberStatus) {
	text := m.Name + " is dead, and nobody starts it again"
	if m.Asks != "" {
		text = m.Name + " is dead and " + m.Asks
	} else if !m.Stays || st.Interrupted != nil { // the head of the team has the step
		return
	}
	line := page.Line{page.Warning(text)}
	if m.Stays {
		line = append(line, page.Plain("  "), page.WholeStep(operator.Next{Step: operator.NextResumeTeam, Team: protocol.TeamName(st.Team)}))
	}
	p.Line(line...)
}

// addRemarks adds the budget of a member; whole: its worktree and its usage too.
func addRemarks(p *page.Page, m inspect.MemberStatus, whole bool) {
	if whole && m.Worktree != nil {
		p.Line(page.Plain(m.Name + " works on branch " + m.Worktree.Branch + " in " + m.Worktree.Path))
	}
	if whole && m.Spent != nil {
		p.Line(page.Plain(m.Name + " has used " + sentence.Spent(*m.Spent)))
	}
	if m.Budget != nil {
		p.Line(page.Plain(m.Name + ": " + budgetText(*m.Budget)))
	}
}

// refused says why the last merge of a member's work changed nothing, and what to do next.
func addRefused(p *page.Page, team string, m inspect.MemberStatus, now time.Time) {
	if r := m.Refused; r != nil {
		p.Line(page.Warning(fmt.Sprintf("%s not merged %s:", m.Name, page.When(r.At, now))), page.Plain(" "+operator.Visible(r.Why)+"  "), page.WholeStep(mergeAgain(team, m)))
	}
}

// addMerges names the interrupted merges of members that have left.
func addMerges(p *page.Page, sts []*inspect.Status, now time.Time) {
	for _, st := range sts {
		for _, m := range st.Merges {
			addRefused(p, st.Team, leftMerge(m), now)
		}
	}
}

// leftMerge is an interrupted merge as one of a member that is listed.
func leftMerge(m inspect.OpenMerge) inspect.MemberStatus {
	return inspect.MemberStatus{Name: m.Member, Refused: &m.RefusedMerge}
}

// addResolved says that a member's work can be merged again.
func addResolved(p *page.Page, team string, m inspect.MemberStatus) {
	if m.Resolved {
		m.Refused = nil
		p.Line(page.Warning(m.Name+": "+m.Due()), page.Plain("  "), page.WholeStep(mergeAgain(team, m)))
	}
}

func mergeAgain(team string, m inspect.MemberStatus) operator.Next {
	return operator.Next{Step: m.Refused.Step(), Team: protocol.TeamName(team), Member: protocol.MemberName(m.Name)}
}

// unheld says what a sandbox that was asked for does not hold, and what would permit more.
func addUnheld(p *page.Page, m inspect.MemberStatus) {
	if m.Ready == nil || m.Ready.Sandbox == nil {
		return
	}
	h := m.Ready.Sandbox
	var parts []string
	if h.Shell {
		parts = append(parts, "the agent's program runs outside: "+h.Outside)
	}
	for _, s := range []string{h.Why, strings.Join(h.Gaps, "; ")} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if h.Fix != "" {
		parts = append(parts, "to permit more: "+h.Fix)
	}
	if len(parts) > 0 {
		p.Line(page.Warning(m.Name+": sandbox "+string(h.Word())+":"), page.Plain(" "+strings.Join(parts, "; ")))
	}
}

// overlapsShown is how many overlaps a page names.
const overlapsShown = 10

// Overlaps warns of files that more than one member edited.
func addOverlaps(p *page.Page, vs []inspect.Overlap) {
	for _, v := range vs[:min(len(vs), overlapsShown)] {
		p.Line(page.Warning(strings.Join(v.Members, ", ")+" edit the same file:"), page.Plain(" "+v.File))
	}
	if n := len(vs) - overlapsShown; n > 0 {
		p.Line(page.Warning(fmt.Sprintf("and %d more files", n)))
	}
}
