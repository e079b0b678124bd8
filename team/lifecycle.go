package team

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/layout"
	"waggle/protocol"
)

// Create makes the team's directories (0700), config.json (0600), the lead's entry and mailbox, and
// tasks/<team>/. The team appears whole or not at all. It fails with ErrExists when the directory,
// or one that differs only in case, exists.
//
// c needs a Name. Members may hold the lead's entry (its cwd, its model) and further members;
// Create fills in missing fields as Add does. A zero CreatedAt is now; an empty LeadSessionID is
// not written; a config that was parsed keeps its unknown keys and its members as they are.
// tasks/<team> may exist and is left as it is.
func Create(ctx context.Context, r Root, c Config, o Options) (*Team, error) {
	return CreateAs(ctx, r, c, layout.Array, o)
}

// CreateAs is Create with mailboxes of another layout than Claude Code's. Members
// that join later get the lead's.
func CreateAs(ctx context.Context, r Root, c Config, as layout.Layout, o Options) (*Team, error) {
	if _, err := protocol.ParseTeam(string(c.Name)); err != nil {
		return nil, fmt.Errorf("team: create: %w", err)
	}
	t := newTeam(r, c.Name, o)
	if err := t.create(ctx, &c, as); err != nil {
		return nil, fmt.Errorf("team: create %s: %w", c.Name, err)
	}
	return t, nil
}

func (t *Team) create(ctx context.Context, c *Config, as layout.Layout) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.complete(c); err != nil {
		return err
	}
	for _, dir := range []string{t.root.teams(), t.root.tasks()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := t.free(); err != nil {
		return err
	}
	for _, dir := range []string{t.root.teams(), t.root.tasks()} {
		sweep(dir, t.name, t.now())
	}
	stage, err := os.MkdirTemp(t.root.teams(), staging(t.name)+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if err := t.fill(stage, c, as); err != nil {
		return err
	}
	tasks := t.root.TasksDir(t.name)
	if err := os.Mkdir(tasks, 0o700); err != nil && !isDir(tasks) {
		return err
	}
	if err := os.Rename(stage, t.root.TeamDir(t.name)); err != nil {
		if _, there := os.Lstat(t.root.TeamDir(t.name)); there == nil {
			return ErrExists
		}
		return err
	}
	return nil
}

// free reports ErrExists when the name, in any case, is in use.
func (t *Team) free() error {
	entries, err := os.ReadDir(t.root.teams())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), string(t.name)) {
			return ErrExists
		}
	}
	return nil
}

// complete fills in what a new config needs.
func (t *Team) complete(c *Config) error {
	if c.CreatedAt.IsZero() {
		c.CreatedAt = t.now()
	}
	if c.LeadAgentID == "" {
		c.LeadAgentID = protocol.NewAgentID(protocol.Lead, t.name)
	}
	given := c.Members
	lead, ok := c.Member(protocol.Lead)
	if !ok {
		lead = &Member{Name: protocol.Lead}
	}
	c.Members = []Member{t.lead(*lead, c.CreatedAt)}
	for _, m := range given {
		switch {
		case m.IsLead():
		case m.kept != nil:
			c.Members = append(c.Members, m)
		default:
			if _, err := protocol.ParseNewMember(string(m.Name)); err != nil {
				return err
			}
			if _, err := c.add(t.name, m, false, t.now()); err != nil {
				return err
			}
		}
	}
	return nil
}

// lead fills in the lead's entry as Era B writes it.
func (t *Team) lead(m Member, created time.Time) Member {
	if m.kept != nil {
		return m
	}
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	m.Name, m.AgentID = protocol.Lead, protocol.NewAgentID(protocol.Lead, t.name)
	set(&m.AgentType, string(protocol.Lead))
	set(&m.TmuxPaneID, "leader")
	set(&m.BackendType, "in-process")
	if m.JoinedAt.IsZero() {
		m.JoinedAt = created
	}
	return m
}

// fill writes the content of a new team directory.
func (t *Team) fill(dir string, c *Config, as layout.Layout) error {
	home, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer home.Close()
	for _, name := range c.Present() {
		if err := createInbox(home, boxes[as], name); err != nil {
			return err
		}
	}
	return atomicfile.WriteFile(filepath.Join(dir, configName), c.AppendJSON(nil), t.o)
}
