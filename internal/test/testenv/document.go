package testenv

import (
	"time"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Decode reads a JSON document into the fact that it shows: a time that is "" is zero, a duration is in milliseconds.
func Decode(doc []byte, fact any) error {
	return json.Unmarshal(doc, fact, jsonv1.DefaultOptionsV1(), json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFunc(func(b []byte, t *time.Time) error {
			if string(b) == `""` {
				return nil
			}
			return t.UnmarshalJSON(b)
		}),
		json.UnmarshalFunc(func(b []byte, d *time.Duration) error {
			err := json.Unmarshal(b, (*int64)(d))
			*d *= time.Millisecond
			return err
		}),
	)))
}
