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
	var q agent.Question
	list, err := record.Questions(string(input))
	if err != nil {
		return q, err
	}
	for _, one := range list {
		p := agent.Part{Header: one.Header, Text: one.Text, Multiple: one.Multiple}
		for _, o := range one.Options {
			p.Options = append(p.Options, agent.Option(o))
		}
		q.Parts = append(q.Parts, p)
	}
	return q, nil
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
