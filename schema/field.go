package schema

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"waggle/protocol"
)

// typeKey is the key that names the kind.
const typeKey = "type"

// of is the schema of a payload with these fields.
func of(kind protocol.Kind, fields []protocol.Field) *jsonschema.Schema {
	s := object()
	put(s, typeKey, &jsonschema.Schema{Const: jsonschema.Ptr[any](string(kind))}, true)
	for _, f := range fields {
		if !f.ReadOnly {
			add(s, f)
		}
	}
	s.OneOf = arms(fields)
	return s
}

func object() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
}

// put adds a property behind the others.
func put(s *jsonschema.Schema, key string, property *jsonschema.Schema, required bool) {
	if s.Properties[key] == nil {
		s.PropertyOrder = append(s.PropertyOrder, key)
	}
	s.Properties[key] = property
	if required && !slices.Contains(s.Required, key) {
		s.Required = append(s.Required, key)
	}
}

// add adds a field, inside of the object that its name says.
func add(s *jsonschema.Schema, f protocol.Field) {
	in, key, nested := strings.Cut(f.Name, ".")
	if !nested {
		put(s, f.Name, property(f), f.Required)
		return
	}
	inner := s.Properties[in]
	if inner == nil {
		inner = object()
	}
	put(s, in, inner, f.Required)
	put(inner, key, property(f), f.Always)
}

// property is the schema of a field's value. Lists and objects are never null, because
// waggle never writes null for them.
func property(f protocol.Field) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	switch f.Type {
	case protocol.FieldText, protocol.FieldID:
		s.Type = "string"
	case protocol.FieldTime:
		s.Type, s.Pattern = "string", timePattern
	case protocol.FieldMillis:
		s.Type, s.Minimum = "integer", jsonschema.Ptr(0.0)
	case protocol.FieldVersion:
		s.Type, s.Minimum, s.Maximum = "integer", jsonschema.Ptr(1.0), jsonschema.Ptr(float64(protocol.MaxPolicyVersion))
	case protocol.FieldFlag:
		s.Type = "boolean"
	case protocol.FieldTexts:
		s.Type, s.Items = "array", &jsonschema.Schema{Type: "string"}
	case protocol.FieldObject:
		s.Type = "object"
	case protocol.FieldList:
		s.Type, s.Items = "array", element(f.Items)
	case protocol.FieldJSON: // anything
	}
	switch {
	case f.Bare:
		s.Pattern = "^[^@]+$"
	case f.NotEmpty:
		s.MinLength = jsonschema.Ptr(1)
	}
	for _, v := range f.Choices {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// element is the schema of a list's elements; without fields they may be anything.
func element(fields []protocol.Field) *jsonschema.Schema {
	if fields == nil {
		return &jsonschema.Schema{}
	}
	s := object()
	for _, f := range fields {
		add(s, f)
	}
	return s
}

// arms are the forms of an answer that has several: each has what is always written in it,
// and nothing of the others.
func arms(fields []protocol.Field) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, f := range fields {
		for _, arm := range f.Choices {
			if with, without := armKeys(fields, arm); f.Decides && len(with) > 0 {
				list = append(list, &jsonschema.Schema{
					Properties: map[string]*jsonschema.Schema{f.Name: {Const: jsonschema.Ptr[any](arm)}},
					Required:   with,
					Not:        &jsonschema.Schema{Required: without},
				})
			}
		}
	}
	return list
}

// armKeys returns the keys that an arm always has, and those that others always have.
func armKeys(fields []protocol.Field, arm string) (with, without []string) {
	for _, f := range fields {
		key, _, _ := strings.Cut(f.Name, ".")
		switch {
		case f.Arm == "" || !f.Always:
		case f.Arm == arm:
			with = append(with, key)
		default:
			without = append(without, key)
		}
	}
	return with, without
}
