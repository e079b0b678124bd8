package inspect

import (
	"context"
	"maps"
	"slices"

	"waggle/control"
	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// TeamsWith returns the teams that have a member of this name: the teams of the wire tree in which
// it is present, else those that it has left, else the teams that have ended, by their id where a team of
// the name is up again. Every team has the lead. It records nothing. Without such a team the error has near names.
func (o Operator) TeamsWith(ctx context.Context, member string) ([]string, error) {
	names, err := o.Names()
	if err != nil {
		return nil, err
	}
	var here, left, ended, all []string
	for _, n := range names {
		ms, err := o.holds(ctx, n)
		if err != nil {
			continue // a team that cannot be read hides no member of another
		}
		for _, m := range ms {
			all = append(all, m.name)
			switch {
			case !m.called(member):
			case m.gone:
				left = append(left, string(n))
			default:
				here = append(here, string(n))
			}
		}
	}
	if len(here)+len(left) == 0 {
		var other []string
		if ended, other, err = o.endedWith(names, member); err != nil {
			return nil, err
		}
		all = append(all, other...)
	}
	for _, some := range [][]string{here, left, ended} {
		if len(some) > 0 {
			return slices.Compact(some), nil
		}
	}
	return nil, &team.NotFoundError{What: "member", Name: member, Near: team.Near(member, all)}
}

// PresentIn returns the teams of the wire tree in which a member of this name is present, for a command
// that looked for it in another one. A team that cannot be read is left out.
func (o Operator) PresentIn(ctx context.Context, member string) (in []string) {
	names, err := o.Names()
	if err != nil {
		return nil
	}
	for _, n := range names {
		ms, err := o.holds(ctx, n)
		if err == nil && slices.ContainsFunc(ms, func(h holder) bool { return !h.gone && h.called(member) }) {
			in = append(in, string(n))
		}
	}
	return in
}

// holder is a member of a team by the names that people call it.
type holder struct {
	name, lead string
	gone       bool
}

func (h holder) called(name string) bool {
	return protocol.SameName(protocol.MemberName(h.name), protocol.MemberName(name)) || h.lead != "" && h.lead == name
}

// holds lists the members of a team of the wire tree, whoever leads it, and its lead.
func (o Operator) holds(ctx context.Context, name protocol.TeamName) ([]holder, error) {
	hs := []holder{{name: string(protocol.Lead)}, {name: "lead"}}
	cfg, err := o.Registry(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, m := range cfg.Members {
		hs = append(hs, holder{name: string(m.Name), gone: m.Gone()})
	}
	s, err := o.readable(ctx, name)
	if s == nil || err != nil {
		return hs, nil
	}
	return append(hs, holders(s.Lead)...), nil
}

// holders are the members that a leader's journal has.
func holders(l *control.Leader) (hs []holder) {
	for _, m := range l.Members {
		hs = append(hs, holder{name: string(m.Name), lead: m.Joined.Lead, gone: m.Left != nil})
	}
	return hs
}

// endedWith returns the teams of this wire tree that have ended and had such a member, and the names
// of all their members. Of a name in present it is the id of the team, the newest one that had the member.
func (o Operator) endedWith(present []protocol.TeamName, member string) (teams, all []string, err error) {
	known, err := o.Home.List()
	if err != nil {
		return nil, nil, err
	}
	again := map[protocol.TeamName]string{}
	for _, k := range known {
		if k.Broken != nil || k.Root != o.RootURL {
			continue
		}
		for _, h := range holders(o.OpenKnown(k).Lead) {
			all = append(all, h.name)
			switch {
			case !h.called(member):
			case slices.Contains(present, k.Team):
				again[k.Team] = k.ID()
			case !slices.Contains(teams, string(k.Team)):
				teams = append(teams, string(k.Team))
			}
		}
	}
	return append(teams, slices.Sorted(maps.Values(again))...), all, nil
}

// TeamWith picks the team in which a command that reads looks for a member: of several teams with
// such a member the one of this directory, else the error has their names.
func (o Operator) TeamWith(ctx context.Context, member string) (string, error) {
	teams, err := o.TeamsWith(ctx, member)
	if err != nil {
		return "", err
	}
	if len(teams) == 1 {
		return teams[0], nil
	}
	if here, ok := o.Here(); ok && slices.Contains(teams, string(here)) {
		return string(here), nil
	}
	return "", &operator.Error{Kind: operator.Usage, Op: "find", Msg: "several teams have a member " + member + ": name one with --team", Near: teams}
}

// TeamTaken picks the team in which a command that changes something finds a member, present or not: the team
// that Pick chooses where it has or had the member, else that of TeamWith. "" stands for the only team.
func (o Operator) TeamTaken(ctx context.Context, member string) (string, error) {
	here, perr := o.Pick("")
	if perr == nil {
		if ms, err := o.holds(ctx, here); err == nil && slices.ContainsFunc(ms, func(h holder) bool { return h.called(member) }) {
			return string(here), nil
		}
	}
	of, err := o.TeamWith(ctx, member)
	if operator.KindOf(err) == operator.NotFound && operator.KindOf(perr) != operator.Usage {
		return "", nil // which says what is missing
	}
	return of, err
}
