package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/results"
	"waggle/protocol"
	"waggle/record"
)

// Overview is what a person sees first: what waits for them, what failed, what runs, what is ready, what has
// ended lately, and what is kept.
type Overview struct {
	Waiting  []decide.Request // of the teams, and of sessions
	Teams    []*inspect.Status
	Sessions []decide.SessionRow
	// Changes are what idle members have changed in their worktrees.
	Changes map[MemberOf]*results.Diff
	Ended   []inspect.EndedTeam
	Kept    []process.Kept
	Today   record.Usage // of all teams of this machine
}

// MemberOf names a member of a team.
type MemberOf struct{ Team, Member string }

// part is a section of an overview.
type part struct {
	title string
	next  operator.Next
	rows  [][]string
	do    []operator.Next
}

func (s *part) add(do operator.Next, cells ...string) {
	s.rows, s.do = append(s.rows, cells), append(s.do, do)
}

// OverviewPage shows an overview in so many lines of a screen, 0 for any number: what is left out is counted. It is
// empty where there is nothing of it.
func OverviewPage(v Overview, now time.Time, height int) (p page.Page) {
	var foot page.Page
	for _, st := range v.Teams {
		if notice(st) != "" || st.Interrupted != nil || st.Leader.Foreign {
			addTeamHead(&p, st, now)
		}
		addCounts(&foot, st, len(v.Teams) > 1, 0)
	}
	parts := v.parts(now)
	shown, room := 0, height-1-len(p)-len(foot) // a prompt is below it
	for _, s := range parts {
		shown += 1 + len(s.rows)
	}
	gap := height == 0 || shown+len(parts)-1 <= room
	rows := shares(parts, room, height > 0 && shown > room)
	for i, s := range parts {
		if gap && len(p) > 0 {
			p.Line()
		}
		head := page.Line{page.Strong(fmt.Sprintf("%s (%d)", s.title, len(s.rows)))}
		if rows[i] < len(s.rows) {
			head = append(head, page.Plain(fmt.Sprintf(", %d more", len(s.rows)-rows[i])))
			if s.next.Step == "" {
				s.next = operator.NextStatusAll.With()
			}
		}
		if s.next.Step != "" {
			head = append(head, page.Plain("  "), page.Step(s.next))
		}
		if text := TodayText(v.Today); text != "" && i == 0 {
			head = append(head, page.Faint("  "+text))
		}
		p.Line(head...)
		if rows[i] > 0 {
			p.Table(page.Table{Rows: s.rows[:rows[i]], Do: s.do[:rows[i]], Bare: true})
		}
	}
	if gap && len(p) > 0 && len(foot) > 0 {
		p.Line()
	}
	return append(p, foot...)
}

// shares is how many rows of each section are shown. Where not all have room, each has two first, and then in their
// order.
func shares(parts []part, room int, short bool) []int {
	n := make([]int, len(parts))
	for i, s := range parts {
		n[i] = len(s.rows)
		if short {
			n[i] = min(n[i], 2)
		}
		room -= 1 + n[i]
	}
	for i, s := range parts {
		if more := min(len(s.rows)-n[i], max(0, room)); short {
			n[i], room = n[i]+more, room-more
		}
	}
	return n
}

// parts are the sections that have rows, in their order.
func (v Overview) parts(now time.Time) []part {
	all := make([]part, inspect.Groups)
	for g := range inspect.Groups {
		all[g].title = g.String()
	}
	needs, ready := &all[inspect.GroupNeedsYou], &all[inspect.GroupReady]
	needs.next, all[inspect.GroupWorking].next = operator.NextPendingList.With(), operator.NextStatusAll.With()
	several := len(v.Teams) > 1
	whose := func(team, member string) []string {
		if several {
			return []string{team, member}
		}
		return []string{member}
	}
	row := func(id, team, member string, cells ...string) []string {
		return append(append([]string{id}, whose(team, member)...), cells...)
	}
	for _, q := range v.Waiting {
		needs.add(operator.Next{}, row(RequestID(q), q.Team, q.Member, q.Risk, page.Age(q.Asked.Time, now), mark(q)+asksShort(q))...)
	}
	for _, st := range v.Teams {
		of := func(m inspect.MemberStatus) []string { return whose(st.Team, m.Name) }
		for _, m := range st.Members {
			if !m.Listed(slices.ContainsFunc(v.Waiting, func(q decide.Request) bool { return q.Team == st.Team && q.Member == m.Name })) {
				continue
			}
			since := page.Since(m.Since, now)
			if m.Refused != nil {
				since = page.Age(m.Refused.At, now)
			}
			switch g := m.Group(); g {
			case inspect.GroupNeedsYou:
				needs.add(v.next(st, m), row("-", st.Team, m.Name, "", since, Says(m, now))...)
			case inspect.GroupReady:
				v.addReady(ready, st, m, of(m), now)
			default:
				all[g].add(v.next(st, m), append(of(m), page.Since(m.Since, now), Says(m, now))...)
			}
		}
		for _, m := range st.Merges {
			needs.add(mergeAgain(st.Team, leftMerge(m)), row("-", st.Team, m.Member, "", page.Age(m.At, now), "not merged: "+m.Why)...)
		}
		if len(st.Members) == 0 {
			ready.add(operator.Next{}, append(whose(st.Team, "no members"), "", "")...)
		}
	}
	for _, r := range v.Sessions {
		if g := inspect.SessionStand(r.State).Is.Group(); g != inspect.GroupNeedsYou { // its request has a row
			all[g].add(operator.Next{}, append(whose(r.Team, r.Name), page.Since(r.Since, now), sessionText(r))...)
		}
	}
	return slices.DeleteFunc(append(all, v.ended(now), v.kept()), func(s part) bool { return len(s.rows) == 0 })
}

// addReady adds a member without work: with what it has changed, where that is something.
func (v Overview) addReady(s *part, st *inspect.Status, m inspect.MemberStatus, of []string, now time.Time) {
	text, do := Says(m, now), operator.Next{}
	if d := v.Changes[MemberOf{st.Team, m.Name}]; d != nil && len(d.Files) > 0 {
		added, deleted := d.Lines()
		text, do = fmt.Sprintf("+%d -%d in %s", added, deleted, page.Count(len(d.Files), "file")), v.step(operator.NextDiff, st, m)
		if c := m.Checked; c != nil {
			text += map[bool]string{true: ", check passed", false: ", check failed"}[c.Passed]
		}
	}
	s.add(do, append(of, page.Since(m.Since, now), text)...)
}

// Words is the condition of a member or a session, as the one table of conditions has it.
func Words(s inspect.Stand, now time.Time) string {
	return s.Words(func(t time.Time) string { return page.Clock(t, now) })
}

// Says is what the row of a member says below the title of its group: what its work waits for a person with, else
// whom it waits for, and why it is so.
func Says(m inspect.MemberStatus, now time.Time) string {
	why := page.Local(m.Why, now)
	switch {
	case m.Group() == inspect.GroupNeedsYou && m.Free():
		return m.Due()
	case m.For != "" || m.Is == inspect.ConditionAsleep || m.Is == inspect.ConditionBlocked:
		return strings.TrimSuffix(Words(m.Stand, now)+": "+why, ": ")
	case m.Is == inspect.ConditionLimited:
		_, more, _ := strings.Cut(m.Why, ": ")
		return strings.TrimSuffix(Words(m.Stand, now)+": "+more, ": ")
	}
	return why
}

// next is what a person does about a member. The head of an interrupted team has the step that brings it back.
func (v Overview) next(st *inspect.Status, m inspect.MemberStatus) operator.Next {
	n := m.Next(st.Team)
	if n.Step == operator.NextResumeTeam && st.Interrupted != nil {
		n.Step = operator.NextWhy
	}
	if n.Step == operator.NextWhy {
		return v.step(n.Step, st, m)
	}
	return n
}

// step is a step about a member, which names the team where there are several.
func (v Overview) step(s operator.Step, st *inspect.Status, m inspect.MemberStatus) operator.Next {
	n := operator.Next{Step: s, Member: protocol.MemberName(m.Name)}
	if len(v.Teams) > 1 {
		n.Team = protocol.TeamName(st.Team)
	}
	return n
}

// ended are the teams that have ended lately.
func (v Overview) ended(now time.Time) part {
	s := part{title: "Ended lately", next: operator.NextRecapOf.With()}
	for _, e := range v.Ended {
		s.add(operator.Next{}, e.Team, page.When(e.At, now), endedHow(e.How), leftWork(e, v.Kept))
	}
	return s
}

// leftWork says how much work a team that has ended has left, "" for none.
func leftWork(e inspect.EndedTeam, kept []process.Kept) string {
	left := 0
	for _, k := range kept {
		if k.ID != "" && k.ID == e.ID {
			left++
		}
	}
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("left %d with work", left)
}

// EndedText says how a team ended, and how much work it has left.
func EndedText(e inspect.EndedTeam, kept []process.Kept) string {
	return strings.TrimSuffix(endedHow(e.How)+", "+leftWork(e, kept), ", ")
}

// kept is what is left to clean up, and why it was kept.
func (v Overview) kept() part {
	s := part{title: "Kept", next: operator.NextListKept.With()}
	for _, k := range v.Kept {
		s.add(k.Why.Do, k.Kind, KeptOf(k), k.Why.Text)
	}
	return s
}

// KeptOf says whose something is that is kept.
func KeptOf(k process.Kept) string {
	if k.Member != "" {
		return k.Member + "@" + k.Team
	}
	return k.Team
}

// TodayText is what agents have used today, "" for nothing.
func TodayText(u record.Usage) string {
	switch {
	case Today(u) == nil:
		return ""
	case u.CostMicros == 0:
		return fmt.Sprintf("today %d tokens", u.Tokens())
	}
	text := fmt.Sprintf("today %d.%02d USD", u.CostMicros/1e6, u.CostMicros%1e6/1e4)
	if u.Source == record.UsageEstimated {
		text += ", estimated"
	}
	return text
}

// sessionText says whose a session is, and what it does, else where its terminal is.
func sessionText(r decide.SessionRow) string {
	text := "(your session)"
	if r.Under != "" {
		text = "(of your session " + r.Under + ")"
	}
	if r.Why != "" {
		text += " " + r.Why
	} else {
		text = strings.TrimSpace(text + " " + strings.Trim(r.Cwd+", "+r.Pane, ", "))
	}
	if !r.Hook && r.Under == "" {
		text += " (no hook: its questions are not seen)"
	}
	return text
}

// asksShort is what a request asks in one line, a question with the numbers of its options.
func asksShort(q decide.Request) string {
	text := decide.Gist(protocol.Kind(q.Kind), askOf(q))
	switch {
	case q.Kind == decide.KindDialog:
		return q.Reason
	case q.Kind == decide.KindProposal:
		return Asks(q)
	case len(q.Questions) > 1:
		text, _, _ = strings.Cut(Asks(q), "\n")
	case len(q.Questions) == 1:
		for i, o := range q.Questions[0].Options {
			text += fmt.Sprintf("  %d %s", i+1, o.Label)
		}
	}
	return text
}

func askOf(q decide.Request) record.Ask {
	return record.Ask{Tool: q.Tool, Input: string(q.Input), Cwd: q.Cwd, Bound: q.Bound, Host: q.Host, Port: q.Port, Plan: q.Plan, Revision: q.Revision}
}

// mark is the status of a request where it is not simply open, before the question: a long one is cut.
func mark(q decide.Request) string {
	if s := statusWord(q); s != decide.StatusOpen && q.Kind != decide.KindDialog {
		return "(" + s + ") "
	}
	return ""
}

// GlanceLine is the numbers that are not zero, "" when all are.
func GlanceLine(g inspect.Glance) string {
	var parts []string
	for _, n := range []struct {
		sign string
		n    int
	}{{"?", g.Waiting}, {">", g.Working}, {"x", g.Failed}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprint(n.sign, n.n))
		}
	}
	return strings.Join(parts, " ")
}
