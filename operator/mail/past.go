package mail

import (
	"context"
	"errors"

	"waggle"
	"waggle/team"
)

// surveyPast is a survey of another program's team that is gone.
func (o Operator) surveyPast(ctx context.Context, name waggle.TeamName, why error) (*survey, error) {
	var missing *team.NotFoundError
	if !errors.As(why, &missing) {
		return nil, why
	}
	k, err := o.Abroad(string(name))
	if k == nil || err != nil {
		return nil, errors.Join(why, err)
	}
	r := o.OpenAbroad(*k)
	v := &survey{s: &r.State, cfg: &team.Config{Name: r.Team}, past: true}
	if r.Broken != nil {
		return nil, r.Broken
	}
	v.t = newTracer(v.s)
	v.now, v.there = o.Minter.Now(), map[*trail]bool{}
	return v, v.t.refresh(ctx)
}
