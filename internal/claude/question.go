package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
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

// withAnswers returns the input with a person's answers, as the client expects it: an object from
// question to answer. It requires an answer for every question, and no empty one, because the
// client makes up an answer for a missing one.
func withAnswers(input json.RawMessage, q agent.Question, replies []agent.Reply) ([]byte, error) {
	o, err := jsonobj.Parse(input)
	if err != nil {
		return nil, err
	}
	if _, has := o.Get("answers"); has {
		return nil, errors.New("the question has answers in it already")
	}
	if len(replies) != len(q.Parts) {
		return nil, fmt.Errorf("%d questions were asked and %d answered", len(q.Parts), len(replies))
	}
	answers := []byte{'{'}
	for i, p := range q.Parts {
		words := replies[i].String()
		if strings.TrimSpace(words) == "" {
			return nil, fmt.Errorf("%q has no answer", clipped(p.Text))
		}
		if i > 0 {
			answers = append(answers, ',')
		}
		answers = append(append(jsonobj.AppendString(answers, p.Text), ':'), jsonobj.AppendString(nil, words)...)
	}
	o.Set("answers", append(answers, '}'))
	return o.Compact(), nil
}
