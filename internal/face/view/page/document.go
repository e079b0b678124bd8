package page

import (
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"waggle/internal/json/jsonobj"
)

// documents are what the JSON documents of every face have in common.
var documents = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsonv2.FormatNilSliceAsNull(false), jsonv2.FormatNilMapAsNull(false),
	jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
		jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error { return enc.WriteToken(jsontext.String(Stamp(t))) }),
		jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, d time.Duration) error {
			return enc.WriteToken(jsontext.Int(d.Milliseconds()))
		}),
	)))

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
