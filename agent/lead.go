package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Decider is an agent that can sit behind the lead: it answers what members ask,
// where the policy gives that to the lead (decide: leader, or as one of two).
type Decider interface {
	// Decide answers one question. An error, like an answer that the lead may not
	// make, passes the question on to the operator.
	Decide(ctx context.Context, q Question) (Decision, error)
}

// Question is a member's request as a lead agent gets it. Everything in it but ID, Digest, Kind,
// Member and Risk comes from the asker and proves nothing.
type Question struct {
	ID     string
	Digest string // the digest that an answer must name
	Kind   string // tool, plan or network
	Member string
	Tool   string
	Input  json.RawMessage
	Cwd    string
	Host   string // host or host:port
	Plan   string
	Reason string
	Risk   string // low, medium or high
}

// Decision is a lead agent's answer to a Question.
type Decision struct {
	Digest   string // of the question that it looked at
	Allow    bool
	Escalate bool // it will not say; Allow does not count then
	Reason   string
}

// DecideStep is how a script answers every question that its team gives to the
// lead.
type DecideStep struct {
	Answer string   `json:"answer"` // allow, deny or escalate
	Reason string   `json:"reason,omitempty"`
	After  Duration `json:"after,omitempty"` // it thinks for so long
}

func (s *DecideStep) check() error {
	switch s.Answer {
	case "allow", "deny", "escalate":
		return nil
	}
	return fmt.Errorf("decide: answer %q is not one of allow, deny, escalate", s.Answer)
}

var _ Decider = (*scriptAgent)(nil)

// Decide implements Decider. A script without decide passes everything on.
func (a *scriptAgent) Decide(ctx context.Context, q Question) (Decision, error) {
	d := a.spec.Decide
	if d == nil {
		return Decision{Digest: q.Digest, Escalate: true, Reason: "the script does not decide"}, nil
	}
	if err := sleep(ctx, time.Duration(d.After)); err != nil {
		return Decision{}, err
	}
	return Decision{Digest: q.Digest, Allow: d.Answer == "allow", Escalate: d.Answer == "escalate", Reason: d.Reason}, nil
}
