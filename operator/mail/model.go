package mail

import "waggle/team"

// NoModel is the model of a member that has none, or whose own choice it is.
const NoModel = "none"

// Present is a new entry of a registry that waggle keeps: isActive is true from join
// until the member has left, which is what seed 002 means by it, and no turn changes it.
func Present(m team.Member) team.Member {
	m.IsActive, m.SpawnedAt = new(true), m.JoinedAt
	return m
}
