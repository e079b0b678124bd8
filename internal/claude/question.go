package claude

import (
	"encoding/json"
	"fmt"
	"strings"

	"waggle/agent"
	"waggle/internal/claude/elicitation"
	"waggle/record"
)

// questions reads the input of AskUserQuestion.
func questions(input json.RawMessage) (agent.Question, error) {
	parts, err := record.Questions(string(input))
	for i := range parts {
		parts[i].Closed = false // the tool has no such field
	}
	return agent.Question{Parts: parts}, err
}

// withAnswers returns the input with a person's answers. It requires an answer for every question, and no
// empty one, because the client makes up an answer for a missing one.
func withAnswers(input json.RawMessage, q agent.Question, replies []agent.Reply) ([]byte, error) {
	if len(replies) != len(q.Parts) {
		return nil, fmt.Errorf("%d questions were asked and %d answered", len(q.Parts), len(replies))
	}
	answers := make([]record.Reply, len(replies))
	for i, p := range q.Parts {
		answers[i] = record.Reply{Question: p.Text, Answer: replies[i].String()}
		if strings.TrimSpace(answers[i].Answer) == "" {
			return nil, fmt.Errorf("%q has no answer", clipped(p.Text))
		}
	}
	return elicitation.Answered(input, answers)
}
