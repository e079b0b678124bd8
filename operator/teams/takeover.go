package teams

import (
	"context"
	"fmt"
	"strings"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// claims are what a process says of itself in its command line.
type claims struct{ agent, team, session string }

// claimsOf reads the command line of a process. Claude Code's members have --agent-name and
// --team-name there.
func claimsOf(argv []string) (c claims) {
	flags := map[string]*string{"--agent-name": &c.agent, "--team-name": &c.team, "--session-id": &c.session}
	for i, arg := range argv {
		name, value, has := strings.Cut(arg, "=")
		into := flags[name]
		switch {
		case into == nil:
		case has:
			*into = value
		case i+1 < len(argv):
			*into = argv[i+1]
		}
	}
	return c
}

// entryOf is the entry of a team's registry, or the member of its journal, that has a name and has
// not left; nil where the name is free.
func (o Operator) entryOf(ctx context.Context, s *operator.State, name protocol.MemberName) (*team.Member, *control.Member, error) {
	cfg, err := o.Registry(ctx, s.Team)
	if err != nil {
		return nil, nil, err
	}
	e, ok := cfg.Member(name)
	if !ok || e.Gone() {
		e = nil
	}
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil {
		m = nil
	}
	return e, m, nil
}

// fits refuses to adopt a process under a name that is not its own: another than it says of itself,
// or that of an entry that is not its.
func (o Operator) fits(s *operator.State, ao AdoptOptions, c claims, e *team.Member, m *control.Member) error {
	refuse := func(format string, args ...any) error {
		return &operator.Error{Kind: operator.Refused, Op: "adopt", Msg: fmt.Sprintf(format, args...)}
	}
	own := c.agent != "" && protocol.SameName(protocol.MemberName(c.agent), ao.As) && strings.EqualFold(c.team, string(s.Team))
	switch {
	case c.agent != "" && !protocol.SameName(protocol.MemberName(c.agent), ao.As):
		return refuse("process %d says that it is %.80q (--agent-name), not %s", ao.PID, c.agent, ao.As)
	case c.team != "" && !strings.EqualFold(c.team, string(s.Team)):
		return refuse("process %d says that it is of team %.80q (--team-name), not of %s", ao.PID, c.team, s.Team)
	case e == nil && m == nil:
		return nil
	case m != nil && m.Leads():
		return refuse("%s leads the team", ao.As)
	case m != nil && m.Trust != record.FileTrust:
		return refuse("%s is a member that waggle runs (%s): no other process becomes it", ao.As, m.Origin())
	case m != nil && m.Process != nil && !operator.Gone(m.Process.ID):
		return refuse("%s has a living owner: process %d", ao.As, m.Process.ID.PID)
	case own, e != nil && e.SessionID != "" && (strings.EqualFold(c.session, e.SessionID) || strings.EqualFold(ao.Session, e.SessionID)):
		return nil
	}
	return refuse("%s is an entry of the team already, and process %d does not say that it is its (--agent-name and --team-name, or the session id)", ao.As, ao.PID)
}

// takeOver drafts that the process takes the place of the member of an entry that has no living owner.
func (o Operator) takeOver(s *operator.State, name protocol.MemberName, ao AdoptOptions, e *team.Member, id spawn.Identity) ([]journal.Draft, error) {
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil {
		return nil, nil
	}
	return s.Lead.Let(m, record.LeftReplaced, fmt.Sprintf("process %d was adopted as it", id.PID)), o.fits(s, ao, claimsOf(spawn.Argv(ao.PID)), e, m)
}
