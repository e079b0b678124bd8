package decide

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// Fate is what became of a request.
type Fate struct {
	How  string    // "allowed by operator (approve)", "withdrawn by its asker"; "": it is still asked
	At   time.Time // zero: not known
	Said string    // the reason that was given; it may have any character
}

// Fate returns what became of a request that was open, of a team, a session or a proposal. It records nothing.
func (o Operator) Fate(ctx context.Context, q Request) (Fate, error) {
	var now *Request
	var err error
	switch {
	case q.Kind == KindProposal:
		now, err = o.Proposal(q.ID)
	case q.Team == SessionTeam:
		now, err = o.Show(ctx, SessionTeam, q.ID)
	default:
		return o.teamFate(ctx, q)
	}
	switch {
	case IsUnknown(err):
		return Fate{How: "not there any more"}, nil
	case err != nil:
		return Fate{}, err
	}
	return now.fate(""), nil
}

func (o Operator) teamFate(ctx context.Context, q Request) (Fate, error) {
	s, err := o.Open(ctx, protocol.TeamName(q.Team), operator.Seen)
	if err != nil {
		return Fate{}, err
	}
	for _, r := range s.Lead.Requests {
		if string(r.Instance) == q.Instance && string(r.ID) == q.ID && string(r.Kind) == q.Kind {
			now := o.request(s.Lead, r)
			return now.fate(r.Closed), nil
		}
	}
	return Fate{How: "not there any more"}, nil
}

// fate is what became of a request as it is now. closed is the evidence of one that was closed without an answer.
func (q Request) fate(closed string) Fate {
	a := q.Answer
	switch {
	case q.Status == StatusOpen, q.Status == StatusUnanswerable:
		return Fate{}
	case q.Status == StatusExpired && a == nil:
		return Fate{How: "timed out", At: *q.Expires}
	case q.Status == StatusExpired:
		return Fate{How: "timed out, so it is denied", At: a.At}
	case a == nil && closed == record.Withdrawn:
		return Fate{How: "withdrawn by its asker"}
	case a == nil:
		return Fate{How: "not asked any more", Said: closed}
	case a.Decision != record.DecisionAllow && a.Decision != record.DecisionDeny:
		return Fate{How: "not asked any more", At: a.At, Said: a.Evidence}
	}
	how := map[string]string{record.DecisionAllow: "allowed", record.DecisionDeny: "denied"}[a.Decision]
	if len(a.Answers) > 0 {
		how = "answered"
	}
	how += " by " + a.By
	if by := cmp.Or(a.Rule, a.Via); by != "" {
		how += fmt.Sprintf(" (%s)", by)
	}
	return Fate{How: how, At: a.At, Said: a.Reason}
}
