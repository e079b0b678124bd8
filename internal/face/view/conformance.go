package view

import (
	"cmp"
	"fmt"

	"waggle/agent"
	"waggle/internal/face/view/page"
	"waggle/operator/agentcheck"
)

// StandingPage has the four lines of it: version, login, gated, not gated.
func StandingPage(s *agentcheck.Standing) (p page.Page) {
	p.Line(page.Plain("agent "), page.Strong(s.Agent))
	line := func(head string, spans ...page.Span) {
		p.Line(append([]page.Span{page.Plain("  "), page.Strong(fmt.Sprintf("%-11s", head))}, spans...)...)
	}
	version := "of waggle"
	switch {
	case s.Program != "":
		version = s.Version + "  " + s.Program
	case s.Agent == "exec":
		version = "its command's"
	case s.Agent == agent.KindMCP:
		version = "its client's"
	}
	line("version", page.Plain(version))
	switch {
	case s.LoggedIn == nil:
		line("logged in", page.Plain("needs no account"))
	case s.Login == "":
		line("logged in", page.Bad("no"))
		p.Line(page.Plain("             start "), page.Strong(s.Program), page.Plain(" yourself and type /login, or set ANTHROPIC_API_KEY"))
	default:
		line("logged in", page.Good("yes"), page.Plain(": "+s.Login))
	}
	for _, part := range []struct {
		head  string
		words []string
	}{{"gated", s.Gated}, {"not gated", s.NotGated}} {
		if part.words == nil {
			part.words = []string{"nothing"}
		}
		for i, words := range part.words {
			if i > 0 {
				part.head = ""
			}
			line(part.head, page.Plain(words))
		}
	}
	return p
}

// AgentPage has a line for each of the table.
func AgentPage(t *agentcheck.Table) (p page.Page) {
	name := t.Agent
	if t.Version != "" {
		name += " (" + t.Version + ")"
	}
	p.Line(page.Plain("agent "), page.Strong(name))
	for _, r := range t.Rows {
		word := fmt.Sprintf("%-12s", r.Verdict)
		mark := map[agentcheck.Verdict]page.Span{agentcheck.Yes: page.Good(word), agentcheck.No: page.Bad(word), agentcheck.Unsupported: page.Warning(word)}[r.Verdict]
		p.Line(page.Plain("  "), mark, page.Strong(fmt.Sprintf("%-16s", r.Line)), page.Plain("  "+cmp.Or(r.Source, r.Detail)))
	}
	return p
}
