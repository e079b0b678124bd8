// Package repair has what the operator does about the journals of a team that cannot be read to their end, or that
// contradict each other: it shows the damage, and lets the team continue without what is lost. Where a journal is
// broken it works offline, on a team none of whose processes is left.
package repair

import (
	"context"
	"strconv"

	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/protocol"
)

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }

// Damage is what keeps a team from deciding: one of its fields is not nil.
type Damage struct {
	Broken     *Broken     // a journal that is broken
	Divergence *Divergence // journals that are whole and contradict each other
}

// Acknowledged reports that the operator has acknowledged the damage.
func (d *Damage) Acknowledged() bool {
	return d.Broken != nil && d.Broken.Acknowledged || d.Divergence != nil && d.Divergence.Lifted
}

// Look finds the damage of a team: the broken journal of the leader, else that of the first member that has one, else a
// divergence; with a member only the journal of that member is looked at. It changes nothing. Where nothing is damaged
// the error is a NotFound.
func (o Operator) Look(ctx context.Context, name protocol.TeamName, member string) (*Damage, error) {
	b, err := o.broken(ctx, name, member)
	switch {
	case err != nil:
		return nil, err
	case b != nil:
		return &Damage{Broken: b}, nil
	case member != "":
		return nil, &operator.Error{Kind: operator.NotFound, Op: "repair", Msg: "the journal of " + member + " is whole, or no present member has that name: there is nothing to acknowledge"}
	}
	s, err := o.Open(ctx, name, operator.Seen)
	if err != nil {
		return nil, err
	}
	d := divergenceOf(s)
	if d == nil {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "repair", Msg: "the journals are whole and agree: there is nothing to acknowledge"}
	}
	return &Damage{Divergence: d}, nil
}

// Repair acknowledges the damage that Look finds and whose record has this seq, so that the team continues. A broken
// journal of a member must be named by the member. The result is also returned with an error that came after the
// acknowledgement.
func (o Operator) Repair(ctx context.Context, name protocol.TeamName, member string, seq uint64, lo supervise.LeadOptions) (*Damage, error) {
	d, err := o.Look(ctx, name, member)
	if err != nil {
		return nil, err
	}
	switch b := d.Broken; {
	case b == nil:
		d.Divergence, err = o.lift(ctx, name, seq)
	case b.Member == "":
		d.Broken, err = o.leader(ctx, name, seq, lo.Note)
	case member == "":
		return nil, &operator.Error{Kind: operator.Usage, Op: "repair", Msg: "the broken journal is that of " + b.Member,
			Next: operator.Next{Step: operator.NextRepairMember, Team: name, Member: protocol.MemberName(b.Member), ID: strconv.FormatUint(b.Seq, 10)}}
	default:
		d.Broken, err = o.member(ctx, name, member, seq, lo)
	}
	if d.Broken == nil && d.Divergence == nil {
		d = nil
	}
	return d, err
}
