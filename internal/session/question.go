package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"waggle/internal/jsonobj"
)

// Question is one of the questions that an agent asks at once.
type Question struct {
	Text     string   `json:"question"`
	Header   string   `json:"header,omitempty"`
	Options  []Option `json:"options"`
	Multiple bool     `json:"multiple,omitempty"`
}

// Option is an answer that the agent offers.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Questions reads the input of AskUserQuestion by exact field name.
func Questions(input json.RawMessage) ([]Question, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(input, &m); err != nil {
		return nil, fmt.Errorf("questions: %w", err)
	}
	raws, ok := jsonobj.Elements(m["questions"])
	if !ok || len(raws) == 0 {
		return nil, errors.New(`questions: the input has no "questions"`)
	}
	var qs []Question
	seen := map[string]bool{}
	for _, raw := range raws {
		var f map[string]json.RawMessage
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("questions: %w", err)
		}
		q := Question{Text: text(f, "question"), Header: text(f, "header"), Multiple: string(f["multiSelect"]) == "true", Options: []Option{}}
		if q.Text == "" || seen[q.Text] {
			return nil, errors.New("questions: one has no text, or the text of another: their answers could not be distinguished")
		}
		seen[q.Text] = true
		options, _ := jsonobj.Elements(f["options"])
		for _, o := range options {
			var of map[string]json.RawMessage
			if err := json.Unmarshal(o, &of); err != nil {
				return nil, fmt.Errorf("questions: %w", err)
			}
			q.Options = append(q.Options, Option{Label: text(of, "label"), Description: text(of, "description")})
		}
		qs = append(qs, q)
	}
	return qs, nil
}

// Reply parses the typed answer to a question: a number chooses an option, several separated by
// commas choose several where the question takes them, anything else is the answer's text. An empty
// text is no answer.
func (q Question) Reply(typed string) (Reply, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return Reply{}, fmt.Errorf("%q has no answer; an empty one is never given", oneLine(q.Text))
	}
	var labels []string
	parts := strings.Split(typed, ",")
	for _, p := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil {
			return Reply{q.Text, typed}, nil
		}
		if n < 1 || n > len(q.Options) {
			return Reply{}, fmt.Errorf("%q has %d options, no number %d", oneLine(q.Text), len(q.Options), n)
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	if len(labels) > 1 && !q.Multiple {
		return Reply{}, fmt.Errorf("%q takes one answer", oneLine(q.Text))
	}
	return Reply{q.Text, strings.Join(labels, ", ")}, nil
}

// Replies reads what was typed, one text for each question of a request.
func Replies(input json.RawMessage, typed []string) ([]Reply, error) {
	qs, err := Questions(input)
	if err != nil {
		return nil, err
	}
	if len(typed) != len(qs) {
		return nil, fmt.Errorf("%d questions were asked and %d answers given: one argument for each", len(qs), len(typed))
	}
	var out []Reply
	for i, q := range qs {
		r, err := q.Reply(typed[i])
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// withAnswers is the input with the answers in it, as the client wants it: an object
// from question to answer beside what was there. An input that has answers already is
// refused: which would count is not known.
func withAnswers(input json.RawMessage, answers []Reply) (json.RawMessage, error) {
	o, err := jsonobj.Parse(input)
	if err != nil {
		return nil, err
	}
	if _, has := o.Get("answers"); has {
		return nil, errors.New("the question has answers in it already")
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, a := range answers {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonobj.AppendString(nil, a.Question))
		b.WriteByte(':')
		b.Write(jsonobj.AppendString(nil, a.Answer))
	}
	b.WriteByte('}')
	o.Set("answers", b.Bytes())
	var out bytes.Buffer
	if err := json.Compact(&out, o.Append(nil, 0)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
