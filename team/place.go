package team

import (
	"context"

	"waggle/protocol"
)

// Move records where a member works: its directory, and the top level of its worktree,
// "" when it has none. It is a note for other programs, as in Place.
func (t *Team) Move(ctx context.Context, name protocol.MemberName, cwd, worktree string) error {
	return t.update(ctx, "move", func(c *Config) error {
		m, ok := c.Member(name)
		if !ok {
			return &NotFoundError{What: "member", Name: string(name), Near: c.Near(string(name))}
		}
		m.Cwd, m.WorktreePath = cwd, worktree
		return nil
	})
}

// Place records where a member's process is shown: the name of its backend and, for a multiplexer,
// the id of its pane. It is for other programs (protocol §3); waggle itself never acts on it. An
// unknown member is a *NotFoundError.
func (t *Team) Place(ctx context.Context, name protocol.MemberName, backend, pane string) error {
	return t.update(ctx, "place", func(c *Config) error {
		m, ok := c.Member(name)
		if !ok {
			return &NotFoundError{What: "member", Name: string(name), Near: c.Near(string(name))}
		}
		m.BackendType, m.TmuxPaneID = backend, pane
		return nil
	})
}

// SetActive records whether a turn of a member runs. It is a hint for other programs
// (protocol §3); waggle itself never acts on it. An unknown member, or one that has left, is
// a *NotFoundError.
func (t *Team) SetActive(ctx context.Context, name protocol.MemberName, active bool) error {
	return t.update(ctx, "active", func(c *Config) error {
		m, ok := c.Member(name)
		if !ok || m.Gone() {
			return &NotFoundError{What: "member", Name: string(name), Near: c.Near(string(name))}
		}
		m.IsActive = &active
		return nil
	})
}
