package agent

import (
	"context"
	"fmt"
)

// AskStep asks a person in words, and writes the answers to the member's output.
type AskStep struct {
	Questions []AskedPart `json:"questions"`
	// Expect is "none" when the script continues without an answer; otherwise the task fails.
	Expect string `json:"expect,omitempty"`
}

// AskedPart is a Part in a script.
type AskedPart struct {
	Question string   `json:"question"`
	Header   string   `json:"header,omitempty"`
	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
	Closed   bool     `json:"closed,omitempty"`
}

func (s *AskStep) play(ctx context.Context, h Host) error {
	var q Question
	for _, p := range s.Questions {
		q.Parts = append(q.Parts, Part{Header: p.Header, Text: p.Question, Options: p.Options, Multiple: p.Multiple, Closed: p.Closed})
	}
	got, err := h.Question(ctx, q)
	switch {
	case err != nil:
		return err
	case !got.Given && s.Expect == "none":
		_, err = fmt.Fprintf(h.Output(), "no answer: %s\n", got.Reason)
		return err
	case !got.Given:
		return &errFailed{"the question has no answer: " + got.Reason, true}
	}
	for i, p := range q.Parts {
		if _, err := fmt.Fprintf(h.Output(), "question: %s\nanswer: %s\n", p.Text, got.Replies[i]); err != nil {
			return err
		}
	}
	return nil
}
