package team

import (
	"context"
	"fmt"
	"slices"
	"time"

	"waggle/protocol"
)

// Add registers a member: a free name (see protocol.Unique when dedupe is set, else a taken one is
// ErrTaken), a colour from the palette when it has none, its agent id, the time it joined when that
// is zero, and an empty mailbox. It replaces an entry of that name whose member has left. The
// content of an old mailbox of that name, of either layout, is moved to the archive first (see
// KeepIn), and its new path is returned, also when registering fails after that: a new member never
// reads old mail. Order: mailbox, then entry, both under the config's lock.
func (t *Team) Add(ctx context.Context, m Member, dedupe bool) (added Member, archived string, err error) {
	if _, err := protocol.ParseNewMember(string(m.Name)); err != nil {
		return Member{}, "", fmt.Errorf("team: add: %w", err)
	}
	// The edit may be tried again; a mailbox that was made ready stays so, for
	// as long as the lock keeps others from taking the name.
	ready := map[protocol.MemberName]bool{}
	err = t.update(ctx, "add", func(c *Config) error {
		added, err = c.add(t.name, m, dedupe, t.now())
		if err != nil || ready[added.Name] {
			return err
		}
		archived, err = t.freshInbox(ctx, added.Name)
		ready[added.Name] = err == nil
		return err
	})
	if err != nil {
		return Member{}, archived, err
	}
	return added, archived, nil
}

// add appends a member to c and returns it as it is registered.
func (c *Config) add(team protocol.TeamName, m Member, dedupe bool, now time.Time) (Member, error) {
	present := c.Present()
	if dedupe {
		m.Name = protocol.Unique(m.Name, present)
	}
	if slices.ContainsFunc(present, func(n protocol.MemberName) bool { return protocol.SameName(n, m.Name) }) {
		return Member{}, fmt.Errorf("member %s: %w", show(string(m.Name)), ErrTaken)
	}
	if err := m.check(); err != nil {
		return Member{}, err
	}
	c.Members = slices.DeleteFunc(slices.Clone(c.Members), func(old Member) bool {
		return old.Gone() && protocol.SameName(old.Name, m.Name)
	})
	if len(c.Members) >= MaxMembers {
		return Member{}, &LimitError{fmt.Sprintf("member %s:", show(string(m.Name))), fmt.Sprintf("the registry has %d entries, and no more are allowed", len(c.Members))}
	}
	m.AgentID = protocol.NewAgentID(m.Name, team)
	if m.JoinedAt.IsZero() {
		m.JoinedAt = now
	}
	if m.AgentType == "" {
		m.AgentType = "general-purpose"
	}
	if m.Color == "" {
		m.Color = c.Color()
	}
	m.ShutdownAt = time.Time{}
	m.JoinedAt = m.JoinedAt.UTC().Truncate(time.Millisecond)
	c.Members = append(c.Members, m)
	return m, nil
}

// Remove removes a member's entry in a session team, and keeps it with shutdownAt and isActive
// false in a named one (protocol §9 row 23). A zero at means now. Removing a member that has left
// changes nothing; an unknown one is a *NotFoundError, the lead is ErrLead. The mailbox stays.
func (t *Team) Remove(ctx context.Context, name protocol.MemberName, at time.Time) error {
	if at.IsZero() {
		at = t.now()
	}
	return t.updateMember(ctx, "remove", name, func(c *Config, m *Member) error {
		switch {
		case m.IsLead():
			return ErrLead
		case c.Dialect() == DialectSession:
			c.Members = slices.DeleteFunc(c.Members, func(m Member) bool { return protocol.SameName(m.Name, name) })
		case !m.Gone():
			m.IsActive = new(false)
			m.ShutdownAt = at
		}
		return nil
	})
}

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
