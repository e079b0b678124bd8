package inspect

import (
	"context"
	"time"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// WorkedIn reports a record of acts in another program's team that does not exist any more.
func (o Operator) WorkedIn(ctx context.Context, name protocol.TeamName) bool {
	s, err := o.Open(ctx, name, operator.Read)
	return err == nil && s.Foreign
}

// RecapSent are messages that were sent in another program's team.
type RecapSent struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
	To   string    `json:"to"`
	Text string    `json:"text"`
}

// recapForeign adds what the operator did in another program's team.
func (o Operator) recapForeign(ctx context.Context, r *operator.State, since time.Time) (*Recap, error) {
	if r.Damaged != nil {
		return nil, r.Damaged
	}
	recs, err := r.Records()
	if err != nil {
		return nil, err
	}
	d, err := recapOf(r, recs, since, (*recapper).takeForeign)
	if err != nil {
		return nil, err
	}
	d.State = "ended"
	if cfg, err := o.Listing(ctx, r.Team); err == nil && operator.UIDOf(cfg) == r.Dir.UID {
		d.State = "other"
	}
	return d, nil
}

func (g *recapper) takeForeign(r operator.LogRecord) error {
	at := r.Time
	if r.Journal != operator.OwnJournal {
		return g.guest(r, at)
	}
	switch r.Kind {
	case record.KindSaid:
		return read(r, func(b record.Words) {
			if env, err := b.Mail.Open(); err == nil {
				g.d.Sent = append(g.d.Sent, RecapSent{At: at, From: env.From, To: string(b.Mail.To), Text: env.Text})
			}
		})
	case record.KindJoined:
		return read(r, func(b record.Joined) { g.member(b.Instance, at, "joined", "registered here", operator.Next{}) })
	case record.KindProcess:
		return read(r, func(b record.Process) { g.member(b.Instance, at, "started", "as a guest", operator.Next{}) })
	case record.KindLeft:
		return read(r, func(b record.Left) {
			g.member(b.Instance, at, "left", b.How+operator.Suffix(b.Detail), operator.Next{})
		})
	}
	return nil
}

// guest adds the turns of a guest, and the decisions of its lead.
func (g *recapper) guest(r operator.LogRecord, at time.Time) error {
	switch r.Kind {
	case record.KindSaid:
		return read(r, func(b record.Said) {
			env, err := b.Mail.Open()
			switch {
			case err != nil:
			case b.Kind == protocol.KindText:
				g.d.Sent = append(g.d.Sent, RecapSent{At: at, From: env.From, To: string(b.Mail.To), Text: env.Text})
			case b.Kind == protocol.KindIdleNotification:
				res := RecapResult{At: at, Member: r.Name, Subject: "its lead's words", Outcome: "completed", Note: b.Note}
				if b.Failed {
					res.Outcome = "failed"
				}
				g.d.Results = append(g.d.Results, res)
			}
		})
	case record.KindAnswered:
		b, err := record.Body[record.Answered](r.Record)
		if err != nil || b.Channel != policy.ChannelFile {
			return g.call(r, at)
		}
		g.d.Decisions = append(g.d.Decisions, RecapDecision{At: at, ID: string(b.ID), Member: r.Name, Asks: decide.Brief(b.Kind, g.asks[b.Key]), Decision: b.Decision,
			By: string(b.By), Via: string(b.Channel), Reason: b.Reason})
	}
	return nil
}
