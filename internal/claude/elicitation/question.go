package elicitation

import (
	"encoding/json"
	"errors"

	"waggle/internal/json/jsonobj"
	"waggle/record"
)

// Answered is the input of AskUserQuestion with the answers in it, as the client wants it: an object
// from question to answer beside what was there. An input that has answers already is
// refused: which would count is not known.
func Answered(input json.RawMessage, answers []record.Reply) (json.RawMessage, error) {
	o, err := jsonobj.Parse(input)
	if err != nil {
		return nil, err
	}
	if _, has := o.Get("answers"); has {
		return nil, errors.New("the question has answers in it already")
	}
	var list jsonobj.Object
	for _, a := range answers {
		list.Set(a.Question, jsonobj.AppendString(nil, a.Answer))
	}
	o.Set("answers", list.Compact())
	return o.Compact(), nil
}
