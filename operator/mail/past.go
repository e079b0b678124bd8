package mail

import (
	"context"
	"errors"

	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// surveyPast is a survey of another program's team that is gone.
func (o Operator) surveyPast(ctx context.Context, name protocol.TeamName, why error) (*survey, error) {
	var missing *team.NotFoundError
	if !errors.As(why, &missing) {
		return nil, why
	}
	s, err := o.Open(ctx, name, operator.Read)
	switch {
	case operator.KindOf(err) == operator.NotFound, err == nil && !s.Foreign:
		return nil, why
	case err != nil:
		return nil, errors.Join(why, err)
	case s.Damaged != nil:
		return nil, s.Damaged
	}
	v := &survey{s: s, cfg: &team.Config{Name: s.Team}, past: true}
	v.t = newTracer(v.s)
	v.now, v.there = o.Minter.Now(), map[*trail]bool{}
	return v, v.t.refresh(ctx)
}
