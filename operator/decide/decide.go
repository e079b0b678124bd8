package decide

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/backoff"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Answer is the operator's answer to one request.
type Answer struct {
	ID     string // whole, or an unambiguous beginning of it
	Digest string // the digest that was shown: at least 16 digits; "" accepts the present one
	Allow  bool
	Reason string
	// UpdatedInput runs instead of what was asked; a JSON object.
	UpdatedInput string
	// Words are the answers to a question as they were typed, one for each of its questions: a
	// number chooses an option. With Allow.
	Words []string
	Via   string // the face: approve, deny, answer, prompt
	// Session is control.Answer.Session. Wildcard says that the operator has confirmed that an allow opens every
	// host below a name.
	Session, Wildcard bool
	// Lesson, with an allow of a tool call, is a rule to be learned from it: a
	// separate act, done after the decision.
	Lesson *Lesson
}

// Decided is the result of an Answer (commands §4).
type Decided struct {
	ID        string    `json:"id"`
	Handle    string    `json:"handle"`             // what people type for it
	Revision  int       `json:"revision,omitempty"` // of a plan; 0 for what is none
	Decision  string    `json:"decision"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	Changed   bool      `json:"changed"`
	Delivered bool      `json:"delivered"`
	Digest    string    `json:"updated_digest,omitempty"` // of the changed input that runs instead
	Voted     bool      `json:"voted,omitempty"`          // the allow is one of two that it takes
	Error     string    `json:"error,omitempty"`          // why it was refused
	// Asker says that the process that asked is dead: nobody has the answer yet; "" when it lives.
	Asker string `json:"-"`
	// Silent says why the process that leads does not deliver it now; "": nothing is known to keep it.
	Silent string `json:"-"`
	// taught: its rule was made with it (Learn).
	taught bool
	err    error
	key    record.Key
}

// Refused is the result of an answer that is refused before its request is found.
func Refused(id string, err error) Decided { return Decided{ID: id, Error: err.Error(), err: err} }

// Err returns the refusal, nil when there is none.
func (d Decided) Err() error { return d.err }

// Allows reports whether the request is allowed, now or before, so that it can make a rule.
func (d Decided) Allows() bool { return d.err == nil && d.Decision == record.DecisionAllow }

// Decide answers requests in the operator's name, each once, by compare-and-set on the leader's
// journal. The error concerns the whole call; the refusal of one answer is in its result. It takes
// a leader pass before and after when no process leads. With SessionTeam it answers requests of sessions and refuses
// proposals, on their own records; a Lesson teaches nothing there.
func (o Operator) Decide(ctx context.Context, name protocol.TeamName, answers []Answer) ([]Decided, error) {
	if name == SessionTeam {
		return o.decideSessions(ctx, answers)
	}
	s, err := o.Open(ctx, name, operator.Answer("a decision"))
	if err != nil {
		return nil, err
	}
	return o.decideAll(ctx, s, answers)
}

// decideAll answers and delivers. The caller has asked guard.
func (o Operator) decideAll(ctx context.Context, s *operator.State, answers []Answer) ([]Decided, error) {
	for _, a := range answers {
		if a.Lesson == nil {
			continue
		}
		if err := a.Lesson.fits(o, s.Lead, a); err != nil {
			return nil, err
		}
	}
	results := make([]Decided, len(answers))
	var first *record.Key
	for i, a := range answers {
		var err error
		if results[i], err = o.decide(ctx, s, a, first); err != nil {
			return results[:i], err
		}
		if first == nil && results[i].Changed {
			first = &results[i].key
		}
	}
	if err := o.deliver(ctx, s, results); err != nil {
		return results, err
	}
	return results, nil
}

// DecideOpen is Decide for one answer on a team that is open already, by the
// process that leads it: delivery is its next pass.
func (o Operator) DecideOpen(ctx context.Context, s *operator.State, a Answer) (Decided, error) {
	return o.decide(ctx, s, a, nil)
}

// decide answers one request. first is the request that the same command answered first; nil: none before this one.
func (o Operator) decide(ctx context.Context, s *operator.State, a Answer, first *record.Key) (Decided, error) {
	req, err := findRequest(s.Lead, a.ID, a.Digest)
	if err != nil {
		return Refused(a.ID, err), nil
	}
	if m, ok := s.Lead.ByInstance(req.Instance); ok && a.Allow && released(m) {
		return Refused(a.ID, &operator.Error{Kind: operator.Refused, Op: a.Via, Msg: req.Handle + ": " + asker(m)}), nil
	}
	if err := unconfirmed(req, a.Wildcard); a.Allow && err != nil {
		return Refused(a.ID, err), nil
	}
	v := a.to(req.Key, cmp.Or(record.Digest(a.Digest), req.Digest))
	v.First = first
	if v.Answers, err = answersTo(req.Kind == record.KindQuestion, req.Handle, req.Ask.Input, a); err != nil {
		return Refused(a.ID, err), nil
	}
	var with []func() ([]journal.Draft, error)
	taught := false
	if l := a.Lesson; l != nil && a.Allow {
		if !l.Task { // no message has a rule that ends with a task
			v.Rules = []policy.Rule{l.Rule}
		}
		mint, err := o.Minter.Mint()
		if err != nil {
			return Decided{}, err
		}
		with = append(with, func() ([]journal.Draft, error) {
			ds, err := o.policyDrafts(s, mint, func(_ *operator.State, p *record.PolicySet) error {
				addRule(p, l.of(req))
				return nil
			})
			taught = err == nil && len(ds) > 0
			return ds, err
		})
	}
	out, err := leader.Decide(ctx, s.Journal, s.Lead, o.Writer(), o.Minter, v, with...)
	if err != nil {
		return Decided{}, err
	}
	d := Decided{taught: taught, ID: string(req.ID), Handle: req.Handle, Changed: out.Changed, Voted: out.Voted, key: req.Key}
	if now, ok := s.Lead.Request(req.Key); ok && now.Decided != nil {
		d.Decision, d.By, d.At, d.Digest = now.Decided.Decision, string(now.Decided.By), now.At, string(now.Decided.UpdatedDigest)
	}
	if req.Gate() == policy.GatePlan {
		d.Revision = revision(s.Lead, req)
	}
	if out.Refusal != nil {
		d.err, d.Error = out.Refusal, out.Refusal.Error()
	}
	return d, nil
}

// to is the answer to a request, of which this was shown.
func (a Answer) to(k record.Key, shown record.Digest) control.Answer {
	return control.Answer{Key: k, Digest: shown, Allow: a.Allow, By: policy.RoleOperator, Channel: policy.ChannelOperator, Via: a.Via, Reason: a.Reason,
		UpdatedInput: a.UpdatedInput, Session: a.Session}
}

// answersTo reads the words of an answer to the request of a handle. A question takes words, and nothing else does.
func answersTo(question bool, name, input string, a Answer) ([]record.Reply, error) {
	switch {
	case !question && a.Words != nil:
		return nil, &operator.Error{Kind: operator.Usage, Op: a.Via, Msg: name + " asks for permission, not for words", Next: operator.Next{Step: operator.NextShowThenDecide, ID: name}}
	case question && a.Allow && a.Words == nil:
		return nil, &operator.Error{Kind: operator.Usage, Op: a.Via, Msg: name + " asks for words, not for permission", Next: operator.Next{Step: operator.NextShowOptions, ID: name}}
	case a.Words == nil:
		return nil, nil
	}
	replies, err := record.Replies(input, a.Words)
	if err != nil {
		return nil, &operator.Error{Kind: operator.Usage, Op: a.Via, Err: err, Next: operator.Next{Step: operator.NextShowOptions, ID: name}}
	}
	return replies, nil
}

// findRequest finds a request by its handle, its id, or, of an open one, an unambiguous beginning of
// either. Ids are
// unique within a member and a kind only: a digest, or its beginning, distinguishes two. Handles
// are compared first: the asker chooses the id, and could choose another request's handle.
func findRequest(l *control.Leader, id, digest string) (*control.Request, error) {
	if r, ok := l.ByHandle(id); ok {
		return r, nil
	}
	hits := slices.DeleteFunc(slices.Clone(l.Requests), func(r *control.Request) bool { return string(r.ID) != id })
	whole := len(hits) > 0
	if !whole {
		hits = slices.DeleteFunc(l.Pending(), func(r *control.Request) bool { return id == "" || !begins(r, id) })
	}
	if len(hits) > 1 && digest != "" {
		same := slices.DeleteFunc(slices.Clone(hits), func(r *control.Request) bool { return !strings.HasPrefix(string(r.Digest), digest) })
		if len(same) == 1 {
			hits = same
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1 && whole:
		return nil, &operator.Error{Kind: operator.Usage, Op: "find", Msg: "several members have a request " + id, Next: operator.NextSayDigest.With()}
	case len(hits) > 1:
		return nil, &operator.Error{Kind: operator.Usage, Op: "find", Msg: id + " begins several requests", Near: mapped(hits, handleOf)}
	}
	open := l.Pending()
	return nil, unknown(id, mapped(open[:min(len(open), 3)], handleOf)...)
}

// handleOf is what people type for a request.
func handleOf(r *control.Request) string { return r.Handle }

// unknown is the error that no request has a handle or an id, with those that a person may have meant.
func unknown(id string, near ...string) error {
	return &control.UnknownRequestError{ID: protocol.RequestID(id), Near: near}
}

// IsUnknown reports the error that no request has a handle or an id.
func IsUnknown(err error) bool {
	_, ok := errors.AsType[*control.UnknownRequestError](err)
	return ok
}

// begins reports whether word begins the handle or the id of a request.
func begins(r *control.Request, word string) bool {
	return strings.HasPrefix(r.Handle, record.CleanHandle(word)) || strings.HasPrefix(string(r.ID), word)
}

// deliver brings the decisions into their mailboxes: by a pass when no process leads, else by
// waiting for the leader.
func (o Operator) deliver(ctx context.Context, s *operator.State, results []Decided) error {
	err := o.settle(ctx, s, func() (bool, error) { return delivered(s.Lead, results), nil })
	silent := s.LeaderStopped()
	for i := range results {
		if r := &results[i]; !r.Delivered && r.Asker == "" {
			r.Silent = silent
		}
	}
	return err
}

// settle runs a pass when no process leads; else it waits until done returns true or
// Waits.Delivery is over.
func (o Operator) settle(ctx context.Context, s *operator.State, done func() (bool, error)) error {
	if _, err := o.Pass(ctx, s); err != nil {
		return err
	}
	return o.await(ctx, s.Journal.Refresh, done)
}

// await reads a journal again and again until done returns true or Waits.Delivery is over.
func (o Operator) await(ctx context.Context, refresh func(context.Context) error, done func() (bool, error)) error {
	until := o.Minter.Now().Add(o.Waits.Delivery())
	for {
		ok, err := done()
		if ok || err != nil || !o.Minter.Now().Before(until) {
			return err
		}
		if !backoff.Pause(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
		if err := refresh(ctx); err != nil {
			return err
		}
	}
}

// delivered marks the results that are in a mailbox and reports whether none is left.
func delivered(l *control.Leader, results []Decided) bool {
	all := true
	for i := range results {
		r, ok := l.Request(results[i].key)
		if !ok || r.Order == nil {
			continue
		}
		// The answer to a question has no message: its worker reads it where it is decided.
		sent := r.Order.Sent || r.Order.Closed || r.Order.Mail == nil
		if m, ok := l.ByInstance(r.Instance); ok && sent && !r.Order.Closed {
			results[i].Asker = asker(m)
		}
		results[i].Delivered = sent && results[i].Asker == ""
		all = all && sent
	}
	return all
}
