package view

import (
	"fmt"

	"waggle/internal/view/page"
	"waggle/operator/agentcheck"
)

// AgentDocument is the conformance table of an agent.
type AgentDocument struct {
	Agent   string              `json:"agent"`
	Version string              `json:"version"` // of the program behind it; "": none
	OK      bool                `json:"ok"`
	Lines   []AgentLineDocument `json:"lines"`
}

// AgentLineDocument is one line of it.
type AgentLineDocument struct {
	Line    string `json:"line"`
	Verdict string `json:"verdict"` // yes, no, unsupported
	Detail  string `json:"detail"`
	Source  string `json:"source"` // of unsupported: where it is written
}

// Agent is the document of a conformance table.
func Agent(t *agentcheck.Table) AgentDocument {
	d := AgentDocument{Agent: t.Agent, Version: t.Version, OK: t.OK(), Lines: make([]AgentLineDocument, 0, len(t.Rows))}
	for _, r := range t.Rows {
		d.Lines = append(d.Lines, AgentLineDocument{string(r.Line), string(r.Verdict), r.Detail, r.Source})
	}
	return d
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
		detail := r.Detail
		if r.Source != "" {
			detail = r.Source
		}
		p.Line(page.Plain("  "), mark, page.Strong(fmt.Sprintf("%-16s", r.Line)), page.Plain("  "+detail))
	}
	return p
}
