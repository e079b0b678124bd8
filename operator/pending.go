package operator

import (
	"context"
	"encoding/json"
	"sort"
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/policy"
)

// Question is a request as a person is shown it (DESIGN, `pending`).
type Question struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	Member    string          `json:"member"`
	Instance  string          `json:"instance"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Host      string          `json:"host,omitempty"`
	Plan      string          `json:"plan,omitempty"`
	Cwd       string          `json:"cwd"`
	Reason    string          `json:"reason"`
	Digest    string          `json:"digest"`
	Risk      string          `json:"risk"`
	AgeS      int64           `json:"age_s"`
	ExpiresAt *string         `json:"expires_at"`
	Status    string          `json:"status"` // open, expired, unanswerable; with all: decided, closed
	Trust     string          `json:"trust"`
	Decision  string          `json:"decision,omitempty"`
	By        string          `json:"by,omitempty"`
	Rule      string          `json:"rule,omitempty"`
	At        string          `json:"at,omitempty"`
}

// Pending lists the open questions of a team, riskiest first, then oldest. all
// adds those that were answered. When nobody leads it first runs one leader
// pass, so that questions which arrived meanwhile are there.
func (o Operator) Pending(ctx context.Context, name waggle.TeamName, all bool) ([]Question, error) {
	s, err := o.led(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := o.pass(ctx, s); err != nil {
		return nil, err
	}
	now := o.Minter.Now()
	qs := []Question{}
	for _, r := range s.Lead.Requests {
		if all || r.State == control.RequestPending {
			qs = append(qs, o.question(s.Lead, r, now))
		}
	}
	sort.SliceStable(qs, func(i, j int) bool {
		if a, b := riskOrder(qs[i].Risk), riskOrder(qs[j].Risk); a != b {
			return a > b
		}
		return qs[i].AgeS > qs[j].AgeS
	})
	return qs, nil
}

func riskOrder(r string) int {
	switch policy.Risk(r) {
	case policy.RiskHigh:
		return 2
	case policy.RiskMedium:
		return 1
	}
	return 0
}

// Question is one request of an open team as a person is shown it.
func (o Operator) Question(s *State, r *control.Request) Question {
	return o.question(s.Lead, r, o.Minter.Now())
}

func (o Operator) question(l *control.Leader, r *control.Request, now time.Time) Question {
	m, _ := l.ByInstance(r.Instance)
	q := Question{ID: string(r.ID), Kind: string(r.Kind), Member: string(m.Name), Instance: string(r.Instance), Tool: r.Ask.Tool,
		Host: r.Ask.Host, Plan: r.Ask.Plan, Cwd: r.Ask.Cwd, Reason: r.Ask.Reason, Digest: string(r.Digest), Trust: string(m.Trust),
		AgeS: int64(now.Sub(r.Seen) / time.Second), Status: "open", Risk: string(riskOf(r))}
	if r.Ask.Port != "" {
		q.Host += ":" + r.Ask.Port
	}
	if r.Ask.Input != "" {
		q.Input = json.RawMessage(r.Ask.Input)
	}
	if r.Expires != nil {
		t := waggle.FormatTime(*r.Expires)
		q.ExpiresAt = &t
		if !now.Before(*r.Expires) {
			q.Status = "expired"
		}
	}
	switch {
	case r.State != control.RequestPending:
		q.Status = string(r.State)
		if d := r.Decided; d != nil {
			q.Decision, q.By, q.Rule, q.At = d.Decision, string(d.By), d.Rule, waggle.FormatTime(r.At)
		}
	case m.State() == control.Terminated:
		q.Status = "unanswerable"
	}
	return q
}

func riskOf(r *control.Request) policy.Risk {
	switch r.Gate() {
	case policy.GatePlan:
		return policy.RiskMedium
	case policy.GateNetwork:
		return policy.RiskHigh
	}
	return policy.RiskOf(policy.Call{Tool: r.Ask.Tool, Input: []byte(r.Ask.Input), Cwd: r.Ask.Cwd})
}

// Answer is the operator's verdict on one request.
type Answer struct {
	ID     string // whole, or an unambiguous beginning of it
	Digest string // of what was shown: at least 16 digits; "" trusts the digest on record now
	Allow  bool
	Reason string
	// UpdatedInput runs instead of what was asked; a JSON object.
	UpdatedInput string
	Via          string // the face: approve, deny, prompt
}

// Decided is what became of an Answer (DESIGN, `approve`, `deny`).
type Decided struct {
	ID        string `json:"id"`
	Decision  string `json:"decision"`
	By        string `json:"by"`
	At        string `json:"at"`
	Changed   bool   `json:"changed"`
	Delivered bool   `json:"delivered"`
	Error     string `json:"error,omitempty"`
	err       error
}

// Err is the refusal behind Error.
func (d Decided) Err() error { return d.err }

// deliverWait is how long Decide waits for a running leader to deliver.
const deliverWait = 2 * time.Second

// Decide answers requests in the operator's name: each once, by compare-and-set
// on the leader's journal, whoever leads. The error is about the whole call; a
// refusal of one answer is in its result.
func (o Operator) Decide(ctx context.Context, name waggle.TeamName, answers []Answer) ([]Decided, error) {
	s, err := o.led(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := o.guard(ctx, s, "a decision"); err != nil {
		return nil, err
	}
	if _, err := o.pass(ctx, s); err != nil {
		return nil, err
	}
	results := make([]Decided, len(answers))
	for i, a := range answers {
		if results[i], err = o.decide(ctx, s, a); err != nil {
			return results[:i], err
		}
	}
	if err := o.deliver(ctx, s, results); err != nil {
		return results, err
	}
	return results, nil
}

// DecideOpen is Decide for one answer on a team that is open already, by the
// process that leads it: delivery is its next pass.
func (o Operator) DecideOpen(ctx context.Context, s *State, a Answer) (Decided, error) {
	return o.decide(ctx, s, a)
}

func (o Operator) decide(ctx context.Context, s *State, a Answer) (Decided, error) {
	req, err := findRequest(s.Lead, a.ID)
	if err != nil {
		return Decided{ID: a.ID, Error: err.Error(), err: err}, nil
	}
	v := control.Verdict{Key: req.Key, Digest: control.Digest(a.Digest), Allow: a.Allow, By: policy.RoleOperator,
		Channel: policy.ChannelOperator, Via: a.Via, Reason: a.Reason, UpdatedInput: a.UpdatedInput}
	if v.Digest == "" {
		v.Digest = req.Digest
	}
	out, err := leader.Decide(ctx, s.Journal, s.Lead, o.writer(), o.Minter, v)
	if err != nil {
		return Decided{}, err
	}
	d := Decided{ID: string(req.ID), Changed: out.Changed}
	if now, ok := s.Lead.Request(req.Key); ok && now.Decided != nil {
		d.Decision, d.By, d.At = now.Decided.Decision, string(now.Decided.By), waggle.FormatTime(now.At)
	}
	if out.Refusal != nil {
		d.Error, d.err = out.Refusal.Error(), out.Refusal
	}
	return d, nil
}

// findRequest finds a request by its id or an unambiguous beginning of it.
func findRequest(l *control.Leader, id string) (*control.Request, error) {
	var hits []*control.Request
	var near []string
	for _, r := range l.Requests {
		switch {
		case string(r.ID) == id:
			if n := len(l.RequestsByID(r.ID)); n > 1 {
				return nil, &Error{Code: CodeUsage, Op: "find", Msg: "several members have a request " + id, Hint: "answer it with waggle pending --json and its digest"}
			}
			return r, nil
		case id != "" && strings.HasPrefix(string(r.ID), id):
			hits = append(hits, r)
		}
		if r.State == control.RequestPending && len(near) < 3 {
			near = append(near, string(r.ID))
		}
	}
	if len(hits) == 1 {
		return hits[0], nil
	}
	if len(hits) > 1 {
		near = near[:0]
		for _, r := range hits {
			near = append(near, string(r.ID))
		}
		return nil, &Error{Code: CodeUsage, Op: "find", Msg: id + " begins several requests", Near: near}
	}
	return nil, &control.UnknownRequestError{ID: waggle.RequestID(id), Near: near}
}

// deliver sees to it that what was decided reaches its mailbox: by a pass when
// nobody leads, else by giving the leader a moment.
func (o Operator) deliver(ctx context.Context, s *State, results []Decided) error {
	led, err := o.pass(ctx, s)
	if err != nil {
		return err
	}
	until := o.Minter.Now().Add(deliverWait)
	for led && !delivered(s.Lead, results) && o.Minter.Now().Before(until) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if err := s.Journal.Refresh(ctx); err != nil {
			return err
		}
	}
	delivered(s.Lead, results)
	return nil
}

// delivered fills in which results are in a mailbox and reports whether all are.
func delivered(l *control.Leader, results []Decided) bool {
	all := true
	for i := range results {
		rs := l.RequestsByID(waggle.RequestID(results[i].ID))
		if len(rs) == 0 || rs[0].Order == nil {
			continue
		}
		results[i].Delivered = rs[0].Order.Sent || rs[0].Order.Closed
		all = all && results[i].Delivered
	}
	return all
}

var _ journal.Fold = (*control.Leader)(nil)
