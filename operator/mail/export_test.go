package mail

import (
	"context"

	"waggle"
)

// Looker looks at a team's mail again and again.
type Looker struct {
	o Operator
	v *survey
}

// NewLooker looks for the first time.
func NewLooker(ctx context.Context, o Operator, name waggle.TeamName) (Looker, error) {
	v, err := o.survey(ctx, name)
	return Looker{o, v}, err
}

// Look looks again.
func (l Looker) Look(ctx context.Context) error { return l.v.look(ctx, l.o) }

// Reached fills in how far messages have come.
func (l Looker) Reached(sent []Sent, want Delivery) bool { return l.v.reached(sent, want) }
