package protocol

import "slices"

// FieldType is the type of a field's value.
type FieldType string

// The types of fields.
const (
	FieldText   FieldType = "text"
	FieldID     FieldType = "id"     // text that is compared exactly
	FieldTime   FieldType = "time"   // text: ISO 8601
	FieldMillis FieldType = "millis" // milliseconds since 1970
	FieldFlag   FieldType = "flag"   // true or false
	// FieldVersion is a positive integer, at most MaxPolicyVersion.
	FieldVersion FieldType = "version"
	FieldTexts   FieldType = "texts"  // a list of texts
	FieldObject  FieldType = "object" // an object that is kept as it stands
	FieldJSON    FieldType = "json"   // a value that is kept as it stands
	FieldList    FieldType = "list"   // a list of such values, or of objects with Items
)

// Field describes one field of a kind's payload: a row of the table that Decode, Encode
// and Validate work by.
type Field struct {
	Name string // on the wire; a.b is key b of the object a
	Type FieldType
	// Always reports that it is written in every payload, or, inside an object, in every
	// such object.
	Always   bool
	Required bool // every payload of the wire has it
	ReadOnly bool // read from foreign messages; no part of the schemas
	NotEmpty bool
	Bare     bool     // a member's name without its team
	Choices  []string // the values that may be written; nil: any
	Arm      string   // the subtype of the answer that it goes with
	Decides  bool     // part of what the lead or the operator decides on, or of the decision
	// Spellings are the paths of each dialect that has the field, Also the others that
	// are read. The other casing of each (plan_content, planContent) is read too.
	Spellings []Spelling
	Also      []string
	Doc       string  // one sentence
	Items     []Field // of a list's elements
}

// Spelling is the path of a field in a dialect.
type Spelling struct {
	Dialect Dialect
	Path    string
	Always  bool // every payload of the dialect has it
	Written bool // Encode writes it
}

// Fields returns the fields of a kind in the order of the wire; nil for a kind that has
// none, such as text.
func Fields(kind Kind) []Field {
	t, ok := tables[kind]
	if !ok {
		return nil
	}
	return t.view()
}

func (t *table[P]) view() []Field { return viewFields(t.rows) }

func viewFields[P any](rows []*fieldOf[P]) []Field {
	list := make([]Field, 0, len(rows))
	for _, r := range rows {
		v := Field{
			Name: r.name, Type: r.typ, ReadOnly: r.hidden, NotEmpty: r.need || r.typ == FieldID, Bare: r.bare,
			Choices: slices.Clone(r.choices), Arm: r.arm, Decides: r.decides, Also: slices.Clone(r.also),
			Doc: r.doc, Items: slices.Clone(r.items),
		}
		for _, s := range r.spelled {
			v.Spellings = append(v.Spellings, Spelling{s.dialect, s.path, s.has, !s.never && r.write != nil})
			v.Always = v.Always || !s.never && s.always && (s.dialect == DialectWire || s.dialect == DialectCatalog)
			v.Required = v.Required || s.dialect == DialectWire && s.has
		}
		list = append(list, v)
	}
	return list
}
