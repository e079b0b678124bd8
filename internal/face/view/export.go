package view

import (
	"waggle/operator"
	"waggle/protocol"
)

// ExportStateDocument are the members of a team, as a document of its own.
type ExportStateDocument struct {
	ActiveMembers operator.Nullable[protocol.MemberName] `json:"active_members"`
	Created       string                                 `json:"created"`
	Team          string                                 `json:"team"`
	TotalMembers  int                                    `json:"total_members"`
}
