package session

import (
	"bytes"
	"encoding/json"
	"errors"

	"waggle/internal/json/jsonobj"
	"waggle/record"
)

// withAnswers is the input with the answers in it, as the client wants it: an object
// from question to answer beside what was there. An input that has answers already is
// refused: which would count is not known.
func withAnswers(input json.RawMessage, answers []record.Reply) (json.RawMessage, error) {
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
	return o.Compact(), nil
}
