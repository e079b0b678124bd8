package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
)

// Plans lists the plans of a team, oldest first: every revision is a request of
// its own, with its text on record. all adds those that were answered or replaced. It
// records nothing.
func (o Operator) Plans(ctx context.Context, name protocol.TeamName, all bool) ([]Request, error) {
	s, err := o.Open(ctx, name, operator.Seen)
	if err != nil {
		return nil, err
	}
	qs := []Request{}
	for _, r := range s.Lead.Requests {
		if r.Gate() == policy.GatePlan && (all || r.State == machine.RequestPending) {
			qs = append(qs, o.request(s.Lead, r))
		}
	}
	return qs, nil
}

// Plan finds one revision: of a request's id, or of a member's newest work. rev 0
// is the newest; with an id it must be that id's. It records nothing.
func (o Operator) Plan(ctx context.Context, name protocol.TeamName, of string, rev int) (*Request, error) {
	s, err := o.Open(ctx, name, operator.Seen)
	if err != nil {
		return nil, err
	}
	r, err := findPlan(s.Lead, of, rev)
	if err != nil {
		return nil, err
	}
	q := o.request(s.Lead, r)
	return &q, nil
}

// Escalated is the result of EscalatePlan.
type Escalated struct {
	ID       string `json:"id"`
	Member   string `json:"member"`
	Revision int    `json:"revision"`
	Digest   string `json:"digest"`
	Changed  bool   `json:"changed"` // false: only the operator could answer it already
	Decider  string `json:"decider"` // who answers plans by the policy
}

// EscalatePlan makes the operator the only one to answer one revision of a plan: from then on
// neither the rules nor the lead agent decide it, whatever the policy says of plans. A plan that
// the operator decides already stays as it is. Errors: that of Plan; control.DecidedError when it
// was answered, control.RefusedError when it is closed or takes two votes. It takes a leader pass
// when no process leads and the plan is not in the journal yet.
func (o Operator) EscalatePlan(ctx context.Context, name protocol.TeamName, of string, rev int, reason string) (*Escalated, error) {
	s, err := o.Open(ctx, name, operator.Command("plan escalate"))
	if err != nil {
		return nil, err
	}
	r, err := findPlan(s.Lead, of, rev)
	if err != nil { // a pass records new requests; without it no answer is possible
		if perr := o.Hear(ctx, s); perr != nil {
			return nil, perr
		}
		if r, err = findPlan(s.Lead, of, rev); err != nil {
			return nil, err
		}
	}
	var out control.Outcome
	recs, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		out, err = s.Lead.Escalate(r.Key, r.Digest, policy.RoleOperator, reason, o.Writer())
		if s.Lead.Policy.DeciderOf(policy.GatePlan) == policy.DecideOperator {
			out.Drafts = nil
		}
		return out.Drafts, err
	})
	if err = errors.Join(err, out.Refusal); err != nil {
		return nil, err
	}
	m, _ := s.Lead.ByInstance(r.Instance)
	return &Escalated{ID: string(r.ID), Member: string(m.Name), Revision: revision(s.Lead, r), Digest: string(r.Digest), Changed: len(recs) > 0,
		Decider: string(s.Lead.Policy.DeciderOf(policy.GatePlan))}, nil
}

// DiffPlans compares two revisions as a unified diff.
func DiffPlans(a, b *Request) string {
	label := func(q *Request) string { return fmt.Sprintf("%s rev %d (%.12s)", q.Member, q.Revision, q.Hash) }
	end := func(s string) string { return strings.TrimSuffix(s, "\n") + "\n" }
	return udiff.Unified(label(a), label(b), end(a.Plan), end(b.Plan))
}

// findPlan finds a plan by id or member. Its text is that of the journal: a path that a peer names
// is never opened.
func findPlan(l *control.Leader, of string, rev int) (*control.Request, error) {
	var mine *control.Member
	for _, m := range l.Members {
		if protocol.SameName(m.Name, protocol.MemberName(of)) {
			mine = m // the newest of that name
		}
	}
	if mine == nil {
		r, err := findRequest(l, of, "")
		switch {
		case err != nil:
			return nil, err
		case r.Gate() != policy.GatePlan:
			return nil, &operator.Error{Kind: operator.Usage, Op: "plan", Msg: string(r.ID) + " is not a plan", Next: operator.Next{Step: operator.NextShow, ID: string(r.ID)}}
		case rev != 0 && revision(l, r) != rev:
			return nil, &operator.Error{Kind: operator.Refused, Op: "plan", Msg: fmt.Sprintf("%s is revision %d, not %d", r.ID, revision(l, r), rev),
				Next: operator.NextPlanRevisions.With()}
		}
		return r, nil
	}
	var newest *control.Request
	for _, r := range l.Requests {
		if r.Gate() == policy.GatePlan && r.Instance == mine.Instance {
			newest = r
		}
	}
	if newest == nil {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "plan", Msg: of + " has proposed no plan"}
	}
	if rev == 0 {
		return newest, nil
	}
	var near []string
	for _, r := range revisions(l, newest) {
		if revision(l, r) == rev {
			return r, nil
		}
		near = append(near, strconv.Itoa(revision(l, r)))
	}
	return nil, &operator.Error{Kind: operator.NotFound, Op: "plan", Msg: fmt.Sprintf("%s has no revision %d", of, rev), Near: near}
}

// revisions returns the plans of one member for one task, in order.
func revisions(l *control.Leader, of *control.Request) []*control.Request {
	return slices.DeleteFunc(slices.Clone(l.Requests), func(r *control.Request) bool {
		return r.Kind != of.Kind || r.Instance != of.Instance || r.Task != of.Task
	})
}

// revision is the number that the member gave its plan: it counts revisions that were withdrawn
// unseen. Older records have none and are counted here.
func revision(l *control.Leader, of *control.Request) int {
	if of.Ask.Revision > 0 {
		return of.Ask.Revision
	}
	return 1 + slices.IndexFunc(revisions(l, of), func(r *control.Request) bool { return r.ID == of.ID })
}
