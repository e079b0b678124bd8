package page

import (
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/record"
)

// documents are what the JSON documents of every face have in common.
var documents = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsonv2.FormatNilSliceAsNull(false), jsonv2.FormatNilMapAsNull(false),
	jsonv2.WithMarshalers(facts))

var facts = jsonv2.JoinMarshalers(text(Stamp), jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, d time.Duration) error {
	return enc.WriteToken(jsontext.Int(d.Milliseconds()))
}), as(func(u record.Usage) usage {
	return usage{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostMicros, u.Turns, u.Source}
}), as(func(c record.Conversation) conversation { return conversation(c) }))

// A record of a journal leaves out what is empty; a document does not.
type (
	usage struct {
		Input      int64  `json:"input_tokens"`
		Output     int64  `json:"output_tokens"`
		CacheRead  int64  `json:"cache_read_tokens"`
		CacheWrite int64  `json:"cache_write_tokens"`
		CostMicros int64  `json:"cost_usd_micros"`
		Turns      int64  `json:"turns"`
		Source     string `json:"source"`
	}
	conversation struct {
		ID      string `json:"id"`
		Model   string `json:"model"`
		Resumed bool   `json:"resumed"`
		Dir     string `json:"dir,omitempty"`
	}
)

// as marshals a type as another one.
func as[T, U any](of func(T) U) *jsonv2.Marshalers {
	return jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, v T) error { return jsonv2.MarshalEncode(enc, of(v)) })
}

// text marshals a type as what of says of it.
func text[T any](of func(T) string) *jsonv2.Marshalers {
	return jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, v T) error { return enc.WriteToken(jsontext.String(of(v))) })
}

// Told is a document with steps (operator.Next, operator.Sentence), which are in a face's own commands, and with ages
// (operator.Past), which are in seconds at a time.
type Told struct {
	Doc   any
	Spell Spell
	Now   time.Time
}

// MarshalJSONTo implements json.MarshalerTo.
func (d Told) MarshalJSONTo(enc *jsontext.Encoder) error {
	age := jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, p operator.Past) error {
		return enc.WriteToken(jsontext.Int(AgeSeconds(p.Time, d.Now)))
	})
	return jsonv2.MarshalEncode(enc, d.Doc, jsonv2.WithMarshalers(jsonv2.JoinMarshalers(facts, age, text[operator.Next](d.Spell), text(d.Spell.Sentence))))
}

// Document is the JSON document of a fact: a time as Stamp has it, a duration in milliseconds, an empty list as [] and
// never null, no HTML escapes. It is indented.
func Document(v any) ([]byte, error) {
	b, err := DocumentLine(v)
	if err != nil {
		return nil, err
	}
	return jsonobj.AppendIndent(make([]byte, 0, 2*len(b)), b, 0), nil
}

// DocumentLine is Document on one line.
func DocumentLine(v any) ([]byte, error) { return jsonv2.Marshal(v, documents) }
