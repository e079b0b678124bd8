package mail

import (
	"context"

	"waggle/protocol"
)

// Looker surveys a team's mail again and again.
type Looker struct {
	o Operator
	v *survey
}

// NewLooker makes the first survey.
func NewLooker(ctx context.Context, o Operator, name protocol.TeamName) (Looker, error) {
	v, err := o.survey(ctx, name)
	return Looker{o, v}, err
}

// Look makes the next survey.
func (l Looker) Look(ctx context.Context) error { return l.v.look(ctx, l.o) }

// Reached sets in each Sent how far its message has come.
func (l Looker) Reached(sent []Sent, want Delivery) bool { return l.v.reached(sent, want) }
