package view

import (
	"fmt"
	"slices"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/fresh"
)

// FreshPage is what was started, and what a person does next.
func FreshPage(st *fresh.Started) (p page.Page) {
	if st.Opened {
		p.Line(page.Faint(fmt.Sprintf("team %s is open for %s", st.Team, st.Dir)))
	}
	var copied, setup []string
	width := freshWidths(st.Members)
	for _, m := range st.Members {
		addMember(&p, m, width)
		copied, setup = m.Copied, m.Setup
	}
	if len(copied) > 0 {
		p.Line(page.Faint("copied into each worktree: " + operator.Visible(strings.Join(copied, ", "))))
	}
	for _, text := range setup {
		p.Line(page.Faint("runs in each worktree first: " + operator.Visible(text)))
	}
	i := slices.IndexFunc(st.Members, func(m fresh.Member) bool { return m.State != fresh.StateFailed && m.State != fresh.StateBlocked })
	if i < 0 {
		return p
	}
	first := operator.Next{Member: st.Members[i].Name}
	switch m := st.Members[i]; {
	case m.Split:
		first.Step = operator.NextParts
	case m.Attempts > 1:
		first.Step = operator.NextCompare
	case m.Branch != "":
		first.Step = operator.NextFollow
	default:
		first.Step = operator.NextFollowHere
	}
	p.Line(page.Faint("next: "), page.Step(first))
	return p
}

// FreshPlanPage is what would be started.
func FreshPlanPage(st *fresh.Started) (p page.Page) {
	if st.Opened {
		p.Line(page.Plain(fmt.Sprintf("would open team %s for %s", st.Team, st.Dir)))
	} else {
		p.Line(page.Plain(fmt.Sprintf("team %s is up", st.Team)))
	}
	var copied, setup []string
	for _, m := range st.Members {
		what := m.Agent
		if m.Attempts > 1 {
			what += fmt.Sprintf(", attempt %d of %d", m.Attempt, m.Attempts)
		}
		where := "in " + st.Dir + " itself"
		if m.Branch != "" {
			where = "on a new branch " + m.Branch
		}
		would := "would start "
		if m.Queue > 0 {
			would = fmt.Sprintf("would queue, place %d: ", m.Queue)
		}
		p.Line(page.Plain(would), page.Strong(string(m.Name)), page.Plain("  "+what+" "+where+": "+m.Subject))
		if m.Worktree != "" {
			p.Line(page.Faint("  in the worktree " + m.Worktree))
		}
		copied, setup = m.Copied, m.Setup
	}
	if len(copied) > 0 {
		p.Line(page.Plain("would copy into each worktree: " + strings.Join(copied, ", ")))
	}
	for _, text := range setup {
		p.Line(page.Plain("would run in each worktree first: " + text))
	}
	p.Line(page.Faint("nothing was changed"))
	return p
}

// freshWidths are those of the columns name, state and agent.
func freshWidths(members []fresh.Member) (widths [3]int) {
	for _, m := range members {
		for i, cell := range []string{string(m.Name), freshState(m), freshAgent(m)} {
			widths[i] = max(widths[i], len(cell))
		}
	}
	return widths
}

func freshState(m fresh.Member) string {
	if m.State == fresh.StateQueued {
		return fmt.Sprintf("%s, place %d", m.State, m.Queue)
	}
	return m.State
}

func freshAgent(m fresh.Member) string {
	if m.Attempts > 1 {
		return fmt.Sprintf("%s, attempt %d of %d", m.Agent, m.Attempt, m.Attempts)
	}
	return m.Agent
}

// addMember adds the line of one member that was made.
func addMember(p *page.Page, m fresh.Member, width [3]int) {
	state := page.Good
	switch m.State {
	case fresh.StateQueued, fresh.StateStarting:
		state = page.Plain
	case fresh.StateBlocked, fresh.StateFailed:
		state = page.Bad
	}
	where := "in the directory itself"
	if m.Branch != "" {
		where = operator.Visible(m.Branch)
	}
	p.Line(page.Strong(fmt.Sprintf("%-*s", width[0], m.Name)), page.Plain("  "), state(fmt.Sprintf("%-*s", width[1], freshState(m))),
		page.Plain(fmt.Sprintf("  %-*s  %s", width[2], freshAgent(m), where)))
	if m.Why != "" {
		p.Line(page.Plain("  "), page.Bad(m.Why))
	}
}
