package view

import (
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/task"
)

// ExportMarkdown is a whole team for people, as Markdown. Text from members is fenced or escaped,
// so that it has no markup.
func ExportMarkdown(e *teams.TeamExport) string {
	var w strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&w, format+"\n", args...) }
	p("# Team %s\n", inline(e.Team))
	if e.Description != "" {
		p("%s\n", inline(e.Description))
	}
	p("Created %s, %s dialect, %d of %d members present.\n", e.Created, e.Dialect, len(e.ActiveMembers), e.TotalMembers)
	p("## Members\n")
	p("| member | type | model | colour | backend | joined | left |\n|---|---|---|---|---|---|---|")
	for _, m := range e.Members {
		p("| %s | %s | %s | %s | %s | %s | %s |", inline(m.Name), inline(m.Type), inline(m.Model), inline(m.Color), inline(m.Backend), page.Stamp(m.Joined), page.Stamp(m.Left))
	}
	for _, m := range e.Members {
		if m.Prompt == "" && len(m.Files) == 0 {
			continue
		}
		p("\n### %s", inline(m.Name))
		if m.Prompt != "" {
			p("\nPrompt:\n\n%s", fenced(m.Prompt))
		}
		if len(m.Files) > 0 {
			p("\nFiles:\n")
		}
		for _, f := range m.Files {
			p("- %s", inline(f))
		}
	}
	p("\n## Tasks\n")
	if len(e.Tasks) == 0 {
		p("None.")
	}
	for _, t := range e.Tasks {
		done, owner, after := " ", "nobody", ""
		if t.Status == task.Completed {
			done = "x"
		}
		if t.Owner != "" {
			owner = inline(t.Owner)
		}
		if t.Blocked {
			after = ", blocked by " + texts(t.BlockedBy, ", ")
		}
		p("- [%s] %s %s (%s, %s%s)", done, t.ID, inline(t.Subject), owner, inline(string(t.Status)), after)
	}
	p("\n## Messages")
	for _, b := range e.Mailboxes {
		p("\n### To %s", inline(b.Member))
		if len(b.Entries) == 0 {
			p("\nNone.")
		}
		for _, m := range b.Entries {
			kind := ""
			if m.Kind != string(protocol.KindText) {
				kind = ", " + inline(m.Kind)
			}
			p("\n**%s**, %s%s:\n\n%s", inline(m.From), inline(m.Timestamp), kind, fenced(m.Text))
			for _, warning := range m.Warnings {
				p("\n> %s", inline(warning))
			}
		}
	}
	if len(e.Problems) > 0 {
		p("\n## What could not be read\n")
	}
	for _, s := range e.Problems {
		p("- %s", inline(s))
	}
	return w.String()
}

// inline is text on one line of Markdown, without any meaning.
func inline(s string) string {
	var b strings.Builder
	for _, r := range operator.Visible(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fenced is text of several lines in a fence that it cannot end.
func fenced(s string) string {
	s = operator.VisibleLines(s)
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

// ExportStateDocument are the members of a team, as a document of its own.
type ExportStateDocument struct {
	ActiveMembers operator.Nullable[protocol.MemberName] `json:"active_members"`
	Created       string                                 `json:"created"`
	Team          string                                 `json:"team"`
	TotalMembers  int                                    `json:"total_members"`
}
