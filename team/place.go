package team

import (
	"context"

	"waggle/protocol"
)

// Move records where a member works: its directory, and the top level of its worktree,
// "" when it has none. It is a note for other programs, as in Place.
func (t *Team) Move(ctx context.Context, name protocol.MemberName, cwd, worktree string) error {
	return t.updateMember(ctx, "move", name, func(_ *Config, m *Member) error {
		m.Cwd, m.WorktreePath = cwd, worktree
		return nil
	})
}

// Place records where a member's process is shown: the name of its backend and, for a multiplexer,
// the id of its pane. It is for other programs (protocol §3); waggle itself never acts on it. An
// unknown member is a *NotFoundError.
func (t *Team) Place(ctx context.Context, name protocol.MemberName, backend, pane string) error {
	return t.updateMember(ctx, "place", name, func(_ *Config, m *Member) error {
		m.BackendType, m.TmuxPaneID = backend, pane
		return nil
	})
}

// SetActive records whether a turn of a member runs. It is a hint for other programs
// (protocol §3); waggle itself never acts on it. An unknown member, or one that has left, is
// a *NotFoundError.
func (t *Team) SetActive(ctx context.Context, name protocol.MemberName, active bool) error {
	return t.updateMember(ctx, "active", name, func(c *Config, m *Member) error {
		if m.Gone() {
			return c.noMember(name)
		}
		m.IsActive = &active
		return nil
	})
}

// updateMember is update for the entry of a member. An unknown one is a *NotFoundError.
func (t *Team) updateMember(ctx context.Context, op string, name protocol.MemberName, fn func(*Config, *Member) error) error {
	return t.update(ctx, op, func(c *Config) error {
		m, ok := c.Member(name)
		if !ok {
			return c.noMember(name)
		}
		return fn(c, m)
	})
}

func (c *Config) noMember(name protocol.MemberName) error {
	return &NotFoundError{What: "member", Name: string(name), Near: c.Near(string(name))}
}
