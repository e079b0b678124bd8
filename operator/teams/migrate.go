package teams

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"waggle/leader"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/team"
)

// Migrated is the result of a change of layout.
type Migrated struct {
	Team    string                `json:"team"`
	Layout  string                `json:"layout"`  // the present layout
	Changed bool                  `json:"changed"` // mailboxes were moved or merged
	Members []protocol.MemberName `json:"members"` // the members that have a mailbox
	Notes   []string              `json:"notes"`   // problems found in the files
}

// Migrate moves a team's mailboxes to a layout, and merges the two mailboxes of a member that has both. A team of
// which a process runs is refused, and none is started meanwhile: Migrate holds the leader lease. The next call, or
// the next process that leads, completes an interrupted one. Claude Code knows arrays only, so only a team that
// waggle leads can be moved to lines.
func (o Operator) Migrate(ctx context.Context, name protocol.TeamName, to mailbox.Layout) (m *Migrated, err error) {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return nil, err
	}
	s, err := o.Open(ctx, name, operator.Command("team migrate"))
	if err != nil && !operator.Unled(err) {
		return nil, err
	}
	if to != mailbox.Array && s == nil {
		return nil, &operator.Error{Kind: operator.Refused, Op: "team migrate", Msg: fmt.Sprintf("team %s is not led by waggle, and whoever leads it could not read its mail any more", name),
			Advice: "Claude Code reads and writes the layout array only"}
	}
	free, err := o.holdDown(ctx, name, s, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, free()) }()
	release, err := reg.Hold(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	boxes := o.Boxes(name)
	m = &Migrated{Team: string(name), Layout: to.String()}
	m.Changed, err = boxes.Migrate(ctx, to, mailbox.Options{Report: func(r mailbox.Report) { m.Notes = append(m.Notes, r.What) }})
	if err != nil {
		return nil, &operator.Error{Kind: operator.KindOf(err), Op: "team migrate", Err: err, Advice: "nothing is lost; the same command goes on where this one stopped"}
	}
	names, err := boxes.Names()
	m.Members = append(m.Members, names...)
	return m, err
}

// holdDown keeps a team down until free is called, or returns which of its processes run.
func (o Operator) holdDown(ctx context.Context, name protocol.TeamName, s *operator.State, to mailbox.Layout) (free func() error, err error) {
	tv, err := inspect.Of(o.Operator).Team(ctx, name)
	if err != nil {
		return nil, err
	}
	free = func() error { return nil }
	if s != nil && !tv.Led && len(tv.Live) == 0 {
		free, err = process.Of(o.Operator).HoldLease(ctx, s)
		tv.Led = errors.Is(err, leader.ErrLeading)
	}
	if tv.Led || len(tv.Live) > 0 {
		return nil, runs(tv, to)
	}
	return free, err
}

// runs refuses what can be done only while no process of a team runs.
func runs(tv *inspect.TeamView, to mailbox.Layout) error {
	who := []string{}
	for _, r := range tv.Live {
		who = append(who, fmt.Sprintf("%s as process %d", r.Name, r.PID))
	}
	if len(who) == 0 {
		who = append(who, "a process leads it")
	}
	return &operator.Error{Kind: operator.Locked, Op: "team migrate", Msg: fmt.Sprintf("mailboxes change their layout only while their team is down, and team %s runs: %s", tv.Team, strings.Join(who, ", ")),
		Next: operator.Next{Step: operator.NextLayoutDown, Team: tv.Team, Text: to.String()}}
}

// MigratedSchema is the result of bringing a team's files to the newest version; with DryRun, of
// the plan for it.
type MigratedSchema struct {
	Team   string `json:"team"`
	DryRun bool   `json:"dry_run"`
	team.Migration
}

// MigrateSchema brings a team's files to the newest version, step by step (team.Migrate). Old mail
// in the team's directory is moved to the archive.
func (o Operator) MigrateSchema(ctx context.Context, name protocol.TeamName, dry bool) (*MigratedSchema, error) {
	reg, err := team.Open(o.Root, name, o.files())
	if err != nil {
		return nil, err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return nil, err
	}
	s, err := o.Open(ctx, name, operator.Command("team migrate"))
	if err != nil && !operator.Unled(err) {
		return nil, err
	}
	kept, err := mail.Of(o.Operator).ArchiveOf(s, cfg)
	if err != nil {
		return nil, err
	}
	m, err := reg.KeepIn(kept).Migrate(ctx, dry)
	var version *team.VersionError
	if errors.As(err, &version) {
		return nil, &operator.Error{Kind: operator.Refused, Op: "team migrate", Err: err}
	}
	if err != nil {
		return nil, err
	}
	return &MigratedSchema{Team: string(name), DryRun: dry, Migration: *m}, nil
}
