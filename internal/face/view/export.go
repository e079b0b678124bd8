package view

import (
	"waggle/operator"
	"waggle/operator/teams"
	"waggle/protocol"
)

// ExportStateDocument are the members of a team, as a document of its own.
type ExportStateDocument struct {
	ActiveMembers operator.Nullable[protocol.MemberName] `json:"active_members"`
	Created       string                                 `json:"created"`
	Team          string                                 `json:"team"`
	TotalMembers  int                                    `json:"total_members"`
}

// ExportOf is the document of the members of a team.
func ExportOf(e *teams.TeamExport) ExportStateDocument {
	return ExportStateDocument{e.ActiveMembers, e.Created, e.Team, e.TotalMembers}
}
