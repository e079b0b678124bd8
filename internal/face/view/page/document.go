package page

import (
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"waggle/internal/json/jsonobj"
	"waggle/operator"
)

// documents are what the JSON documents of every face have in common.
var documents = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsonv2.FormatNilSliceAsNull(false), jsonv2.FormatNilMapAsNull(false),
	jsonv2.WithMarshalers(times))

var times = jsonv2.JoinMarshalers(text(Stamp), jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, d time.Duration) error {
	return enc.WriteToken(jsontext.Int(d.Milliseconds()))
}))

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
	return jsonv2.MarshalEncode(enc, d.Doc, jsonv2.WithMarshalers(jsonv2.JoinMarshalers(times, age, text[operator.Next](d.Spell), text(d.Spell.Sentence))))
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
