package view

import (
	"waggle"
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/teams"
	"waggle/task"
)

// ExportDocument is a team with its members, messages and tasks. The first four keys are those of
// seed 002's export.
type ExportDocument struct {
	ExportState
	Description   string          `json:"description"`
	Dialect       string          `json:"dialect"`
	Layout        string          `json:"layout"`
	SchemaVersion string          `json:"schema_version"`
	Members       []ExportMember  `json:"members"`
	Mailboxes     []ExportMailbox `json:"mailboxes"`
	Tasks         []ExportTask    `json:"tasks"`
	Problems      []string        `json:"problems"` // what could not be read
}

// ExportState are the members of a team.
type ExportState struct {
	Team          string                               `json:"team"`
	Created       string                               `json:"created"`
	ActiveMembers operator.Nullable[waggle.MemberName] `json:"active_members"`
	TotalMembers  int                                  `json:"total_members"`
}

// ExportStateDocument are the members of a team, as a document of its own.
type ExportStateDocument struct {
	ActiveMembers operator.Nullable[waggle.MemberName] `json:"active_members"`
	Created       string                               `json:"created"`
	Team          string                               `json:"team"`
	TotalMembers  int                                  `json:"total_members"`
}

// ExportMember is one member.
type ExportMember struct {
	Name    string   `json:"name"`
	AgentID string   `json:"agent_id"`
	Type    string   `json:"type"`
	Model   string   `json:"model"`
	Color   string   `json:"color"`
	Backend string   `json:"backend"`
	Cwd     string   `json:"cwd"`
	Prompt  string   `json:"prompt"`
	Joined  string   `json:"joined"`
	Left    string   `json:"left"`  // "" for a present one
	Files   []string `json:"files"` // what it made: paths below tasks/<team>/<name>
}

// ExportMailbox is one mailbox, of a present member or one that has left.
type ExportMailbox struct {
	Member  string          `json:"member"`
	Entries []EntryDocument `json:"entries"`
}

// ExportTask is one task.
type ExportTask struct {
	ID          task.ID     `json:"id"`
	Subject     string      `json:"subject"`
	Description string      `json:"description"`
	Owner       string      `json:"owner"`
	Status      task.Status `json:"status"`
	BlockedBy   []task.ID   `json:"blocked_by"`
	Blocked     bool        `json:"blocked"`
}

// ExportOf is the document of the members of a team.
func ExportOf(e *teams.TeamExport) ExportStateDocument {
	return ExportStateDocument{e.ActiveMembers, waggle.FormatTime(e.Created), e.Team, e.TotalMembers}
}

// Export is the document of a whole team.
func Export(e *teams.TeamExport) ExportDocument {
	d := ExportDocument{ExportState{e.Team, waggle.FormatTime(e.Created), e.ActiveMembers, e.TotalMembers}, e.Description, e.Dialect, e.Layout, e.SchemaVersion,
		make([]ExportMember, 0, len(e.Members)), make([]ExportMailbox, 0, len(e.Mailboxes)), make([]ExportTask, 0, len(e.Tasks)), list(e.Problems)}
	for _, m := range e.Members {
		d.Members = append(d.Members, ExportMember{m.Name, m.AgentID, m.Type, m.Model, m.Color, m.Backend, m.Cwd, m.Prompt, page.Stamp(m.Joined), page.Stamp(m.Left), list(m.Files)})
	}
	for _, b := range e.Mailboxes {
		d.Mailboxes = append(d.Mailboxes, ExportMailbox{b.Member, entries(b.Entries)})
	}
	for _, t := range e.Tasks {
		d.Tasks = append(d.Tasks, ExportTask{t.ID, t.Subject, t.Description, t.Owner, t.Status, list(t.BlockedBy), t.Blocked})
	}
	return d
}
