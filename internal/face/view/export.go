package view

import (
	"waggle/operator"
	"waggle/operator/teams"
	"waggle/protocol"
)

// ExportDocument is a team with its members, messages and tasks. The first four keys are those of
// seed 002's export.
type ExportDocument struct {
	ExportState
	Description   string              `json:"description"`
	Dialect       string              `json:"dialect"`
	Layout        string              `json:"layout"`
	SchemaVersion string              `json:"schema_version"`
	Members       []teams.TeamMember  `json:"members"`
	Mailboxes     []teams.TeamMailbox `json:"mailboxes"`
	Tasks         []teams.TeamTask    `json:"tasks"`
	Problems      []string            `json:"problems"` // what could not be read
}

// ExportState are the members of a team.
type ExportState struct {
	Team          string                                 `json:"team"`
	Created       string                                 `json:"created"`
	ActiveMembers operator.Nullable[protocol.MemberName] `json:"active_members"`
	TotalMembers  int                                    `json:"total_members"`
}

// ExportStateDocument are the members of a team, as a document of its own.
type ExportStateDocument struct {
	ActiveMembers operator.Nullable[protocol.MemberName] `json:"active_members"`
	Created       string                                 `json:"created"`
	Team          string                                 `json:"team"`
	TotalMembers  int                                    `json:"total_members"`
}

// ExportOf is the document of the members of a team.
func ExportOf(e *teams.TeamExport) ExportStateDocument {
	return ExportStateDocument{e.ActiveMembers, protocol.FormatTime(e.Created), e.Team, e.TotalMembers}
}

// Export is the document of a whole team.
func Export(e *teams.TeamExport) ExportDocument {
	return ExportDocument{ExportState{e.Team, protocol.FormatTime(e.Created), e.ActiveMembers, e.TotalMembers}, e.Description, e.Dialect, e.Layout, e.SchemaVersion,
		e.Members, e.Mailboxes, e.Tasks, e.Problems}
}
