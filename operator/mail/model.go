package mail

import "waggle/team"

// NoModel is the model of a member that has none, or that chooses itself.
const NoModel = "none"

// Present returns a new entry of a registry that waggle keeps: isActive is true from join until the
// member has left, as in seed 002, and no turn changes it.
func Present(m team.Member) team.Member {
	m.IsActive, m.SpawnedAt = new(true), m.JoinedAt
	return m
}
