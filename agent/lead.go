package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Decider is an agent that can sit behind the lead: it answers what members ask,
// where the policy gives that to the lead (decide: leader, or as one of two).
type Decider interface {
	// Decide answers one request. An error, like an answer that the lead may not
	// make, passes the request on to the operator.
	Decide(ctx context.Context, r Request) (Answer, error)
}

// Request is a member's request as a lead agent gets it. Everything in it but ID, Digest, Kind,
// Member and Risk comes from the asker and proves nothing.
type Request struct {
	ID     string
	Digest string // the digest that an answer must name
	Kind   string // tool, plan, network or question
	Member string
	Tool   string
	Input  json.RawMessage
	Cwd    string
	Host   string // host or host:port
	Plan   string
	Parts  []Part // of a question: it takes Answers
	Reason string
	Risk   string // low, medium or high
}

// Answer is a lead agent's answer to a Request.
type Answer struct {
	Digest   string // of the request that it looked at
	Allow    bool
	Escalate bool // it will not say; Allow does not count then
	Reason   string
	// Answers are those to a question, with Allow, one for each part: a number from 1 chooses an
	// option, several with commas, and anything else is the answer's text.
	Answers []string
}

// DecideStep is how a script answers every question that its team gives to the
// lead.
type DecideStep struct {
	Answer string   `json:"answer"` // allow, deny or escalate
	Reason string   `json:"reason,omitempty"`
	After  Duration `json:"after,omitempty"` // it thinks for so long
	// Words answer every part of a question; "" leaves questions to the operator.
	Words string `json:"words,omitempty"`
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
func (a *scriptAgent) Decide(ctx context.Context, r Request) (Answer, error) {
	d := a.spec.Decide
	if d == nil {
		return Answer{Digest: r.Digest, Escalate: true, Reason: "the script does not decide"}, nil
	}
	if err := sleep(ctx, time.Duration(d.After)); err != nil {
		return Answer{}, err
	}
	if r.Parts != nil && d.Answer == "allow" {
		return d.answer(r), nil
	}
	return Answer{Digest: r.Digest, Allow: d.Answer == "allow", Escalate: d.Answer == "escalate", Reason: d.Reason}, nil
}

// answer is the decision on a question.
func (s *DecideStep) answer(r Request) Answer {
	if s.Words == "" {
		return Answer{Digest: r.Digest, Escalate: true, Reason: "the script has no words for questions"}
	}
	return Answer{Digest: r.Digest, Allow: true, Reason: s.Reason, Answers: slices.Repeat([]string{s.Words}, len(r.Parts))}
}
