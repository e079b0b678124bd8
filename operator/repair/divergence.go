package repair

import (
	"context"
	"fmt"
	"strconv"

	"waggle/journal"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// Divergence is a contradiction of the journals that stops every decision: a member took an answer
// or an order that the leader's journal does not have (trust §4).
type Divergence struct {
	Team   string `json:"team"`
	Seq    uint64 `json:"seq"` // of its record: what Repair names
	Member string `json:"member"`
	Leader uint64 `json:"leader_seq"` // the seq of the leader's journal that the member's journal names
	Why    string `json:"why"`
	Lifted bool   `json:"acknowledged"`
}

// divergenceOf returns the unacknowledged divergence of a team, nil when the journals agree.
func divergenceOf(s *operator.State) *Divergence {
	d := s.Lead.Divergence
	if d == nil {
		return nil
	}
	return &Divergence{Team: string(s.Team), Seq: uint64(d.Seq), Member: s.Owner(journal.Name(d.Instance)), Leader: d.Leader, Why: d.Why}
}

// lift records that the operator has seen the divergence with this seq. Deciding goes on;
// the journals' records stay.
func (o Operator) lift(ctx context.Context, name protocol.TeamName, seq uint64) (*Divergence, error) {
	s, err := o.Open(ctx, name, operator.Lead("an acknowledgement"))
	if err != nil {
		return nil, err
	}
	var d *Divergence
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		d = divergenceOf(s)
		switch {
		case d == nil:
			return nil, &operator.Error{Kind: operator.NotFound, Op: "repair", Msg: "the journals agree: there is nothing to acknowledge"}
		case d.Seq != seq:
			return nil, &operator.Error{Kind: operator.Refused, Op: "repair", Msg: fmt.Sprintf("the open divergence is seq %d, not %d: look at it", d.Seq, seq), Near: []string{strconv.FormatUint(d.Seq, 10)}}
		}
		return []journal.Draft{{Kind: record.KindAcknowledged, Must: true, Body: record.Acknowledged{Ref: seq}}}, nil
	})
	if err != nil {
		return nil, err
	}
	d.Lifted = s.Lead.Divergence == nil
	return d, nil
}
