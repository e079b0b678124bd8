package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/operator/proposal"
	"waggle/policy"
	"waggle/record"
)

// KindProposal is how a proposal of a new member is listed: no message has it. It has no team.
const KindProposal = proposal.Kind

// LevelProposes is the trust level of proposals: nobody vouches for who wrote one.
const LevelProposes = "proposes, and is believed nothing"

// Proposals is the store of proposals.
func (o Operator) Proposals() proposal.Store { return proposal.At(o.Home.Path, o.Minter.Now) }

// proposals lists the proposals: open, or with past the others.
func (o Operator) proposals(past bool) (qs []Request, err error) {
	all, err := o.Proposals().List()
	for _, p := range all {
		if q := proposed(p, o.Minter.Now()); (q.Status == StatusOpen) != past {
			qs = append(qs, q)
		}
	}
	return qs, err
}

// proposed is a proposal as a request is shown.
func proposed(p proposal.Proposal, now time.Time) Request {
	input, err := jsonobj.Marshal(p.Asked)
	if err != nil { // structs of strings always marshal
		input = []byte("{}")
	}
	q := Request{PendingItem: PendingItem{Team: SessionTeam, ID: p.ID, Handle: p.Handle(), Kind: KindProposal, Member: cmp.Or(p.By, "unknown"), Instance: KindProposal, Tool: "new", Input: input,
		Cwd: p.Dir, Reason: "an agent proposes a member: its words are no order of yours until you start it", Digest: string(p.Digest()), Risk: string(policy.RiskMedium),
		Asked: operator.Past{Time: p.At}, Expires: new(p.Expires()), Status: StatusOpen},
		Pattern: KindProposal + " " + p.ID, Trust: LevelProposes, Suggest: []string{}}
	switch state := p.Now(now); state {
	case proposal.Expired:
		q.Status = StatusExpired
	case proposal.Starting:
		q.Asker = "a command of yours starts it, or was killed: approve it again to find out"
	case proposal.Started, proposal.Denied:
		q.Status = StatusDecided
		q.Answer = &AnswerNow{Decision: "allow", By: string(policy.RoleOperator), Via: "approve", Reason: p.Reason, At: p.Answered, State: string(state)}
		if state == proposal.Denied {
			q.Answer.Decision, q.Answer.Via = "deny", "deny"
		} else {
			q.Answer.Evidence = fmt.Sprintf("started %s in team %s", strings.Join(p.Members, ", "), p.Team)
		}
	}
	return q
}

// Proposal returns the proposal of a handle or an id as a request.
func (o Operator) Proposal(what string) (*Request, error) {
	all, err := o.Proposals().List()
	var found []Request
	for _, p := range all {
		if p.Handle() == record.CleanHandle(what) || p.ID == what {
			found = append(found, proposed(p, o.Minter.Now()))
		}
	}
	if len(found) > 1 && slices.ContainsFunc(found, func(q Request) bool { return q.Status == StatusOpen }) {
		found = slices.DeleteFunc(found, func(q Request) bool { return q.Status != StatusOpen })
	}
	switch len(found) {
	case 1:
		return &found[0], nil
	case 0:
		if proposal.IsID(what) && err != nil {
			return nil, err
		}
		return nil, unknown(what) // what cannot be read has no handle: the lists name it
	}
	return nil, &operator.Error{Kind: operator.Usage, Op: "find", Msg: what + " names several proposals", Near: mapped(found, func(q Request) string { return q.ID })}
}

// decideProposal refuses a proposal. To start it takes more than a yes: fresh.Start does it.
func (o Operator) decideProposal(ctx context.Context, a Answer) (*Decided, error) {
	q, err := o.Proposal(a.ID)
	if err != nil {
		return nil, err
	}
	if err := o.Guard(ctx, nil, a.Via); err != nil {
		return nil, err
	}
	switch {
	case a.Words != nil:
		return nil, &operator.Error{Kind: operator.Usage, Op: a.Via, Msg: q.Handle + " is a proposal, and asks for no words", Next: operator.Next{Step: operator.NextShowThenDecide, ID: q.Handle}}
	case a.Digest != "" && (len(a.Digest) < 16 || !strings.HasPrefix(q.Digest, a.Digest)):
		return nil, &operator.Error{Kind: operator.Refused, Op: a.Via, Msg: "the digest is not that of what " + q.Handle + " proposes", Next: operator.Next{Step: operator.NextShowAgain, ID: q.Handle}}
	case a.Allow:
		return nil, &operator.Error{Kind: operator.Refused, Op: a.Via, Msg: q.Handle + " is a proposal: the command approve starts it, and shows what that takes", Next: operator.Next{Step: operator.NextApproveOf, ID: q.Handle}}
	}
	d := &Decided{ID: q.Handle, Decision: "deny", By: string(policy.RoleOperator), Delivered: true}
	p, err := o.Proposals().Change(ctx, q.ID, func(p *proposal.Proposal) error {
		switch {
		case p.State == proposal.Denied:
			return errSame
		case p.State == proposal.Starting && !p.Starter.Ended():
			return fmt.Errorf("process %d starts it at this moment", p.Starter.PID)
		case p.State == proposal.Starting:
			return errors.New("a command that was killed may have started it, which approve finds out")
		case p.State == proposal.Started:
			return errors.New("it was started: " + strings.Join(p.Members, ", "))
		}
		p.State, p.Reason, p.Answered = proposal.Denied, a.Reason, o.Minter.Now().UTC()
		d.Changed = true
		return nil
	})
	if err != nil && !errors.Is(err, errSame) {
		d.err = &operator.Error{Kind: operator.Refused, Op: a.Via, Msg: q.Handle + ": " + err.Error(), Err: err}
	}
	d.At = p.Answered
	return d, nil
}

// errSame: it has the answer already.
var errSame = errors.New("it has that answer")
