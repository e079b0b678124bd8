package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"waggle/internal/backoff"
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
	ID     string          `json:"id"`
	Digest string          `json:"digest" jsonschema:"answer_request repeats it"`
	Kind   string          `json:"kind" jsonschema:"tool, plan, network or question"`
	Member string          `json:"member"`
	Risk   string          `json:"risk" jsonschema:"low, medium or high; a lead allows nothing of high risk"`
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Cwd    string          `json:"cwd,omitempty"`
	Host   string          `json:"host,omitempty"` // host or host:port
	Plan   string          `json:"plan,omitempty"`
	Parts  []RequestPart   `json:"questions,omitempty"` // of a question: it takes Answers
	Reason string          `json:"reason,omitempty" jsonschema:"the member's own words"`
}

// RequestPart is a Part as the lead's agent gets it, and as a client of the Model Context Protocol
// asks it.
type RequestPart struct {
	Header   string   `json:"header,omitempty" jsonschema:"a word or two"`
	Text     string   `json:"question"`
	Options  []Option `json:"options,omitempty" jsonschema:"answers to choose from; none: the answer is words"`
	Multiple bool     `json:"multiple,omitempty" jsonschema:"several options may be chosen"`
	Closed   bool     `json:"-"`
}

// Answer is a lead agent's answer to a Request.
type Answer struct {
	Digest   string `json:"digest" jsonschema:"of the request as list_requests shows it"`
	Allow    bool   `json:"allow,omitempty" jsonschema:"false denies"`
	Escalate bool   `json:"escalate,omitempty" jsonschema:"leave it to the operator"` // Allow does not count then
	Reason   string `json:"reason,omitempty" jsonschema:"for the member"`
	// Answers are those to a question, with Allow, one for each part: a number from 1 chooses an
	// option, several with commas, and anything else is the answer's text.
	Answers []string `json:"answers,omitempty" jsonschema:"for a question, with allow: one for each of its parts, an option's number or words"`
}

// Answered is what became of a request that the lead's agent has answered.
type Answered struct {
	Decision string `json:"decision" jsonschema:"allow, approve, answer or deny; escalate: the operator decides it; vote: the operator has to allow it, too"`
	Reason   string `json:"reason,omitempty"`
}

// NewMember is a member that the lead's agent starts.
type NewMember struct {
	Name   string `json:"name"`
	Prompt string `json:"prompt"` // its first task
	Type   string `json:"type,omitempty" jsonschema:"an agent definition"`
}

// BoardTask is one task of the board, as the lead's agent and the clients of members get it.
type BoardTask struct {
	ID           string   `json:"id"`
	Subject      string   `json:"subject"`
	Instructions string   `json:"instructions,omitempty"`
	Owner        string   `json:"owner,omitempty"`
	Status       string   `json:"status"`
	BlockedBy    []string `json:"blocked_by,omitempty"`
	Cwd          string   `json:"cwd,omitempty"`
	Plan         bool     `json:"plan_required,omitempty" jsonschema:"submit_plan comes before any change"`
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
	if !backoff.Pause(ctx, time.Duration(d.After)) {
		return Answer{}, ctx.Err()
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
