package inspect

import (
	"context"
	"slices"

	"waggle/protocol"
	"waggle/team"
)

// Listed returns the members that a team's registry has and that have not left, whoever leads it.
func (o Operator) Listed(ctx context.Context, name protocol.TeamName) ([]team.Member, error) {
	cfg, err := o.Listing(ctx, name)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(cfg.Members, team.Member.Gone), nil
}

// Named is a present or past team by its names.
type Named struct {
	ID     string // names this record only
	Name   string // the team's name, which means the newest team that has it; "" when another line has it already
	Opened string // when the team was made
}

// PastNames returns the names of all present and past teams whose records can be read.
func (o Operator) PastNames() ([]Named, error) {
	led, err := o.Home.List()
	if err != nil {
		return nil, err
	}
	foreign, err := o.Home.Foreign()
	if err != nil {
		return nil, err
	}
	var out []Named
	said := map[protocol.TeamName]bool{}
	for _, k := range slices.Concat(led, foreign) {
		if k.Broken != nil {
			continue
		}
		n := Named{ID: k.ID(), Opened: k.Opened}
		if k.Root == o.RootURL && !said[k.Team] {
			n.Name, said[k.Team] = string(k.Team), true
		}
		out = append(out, n)
	}
	return out, nil
}
