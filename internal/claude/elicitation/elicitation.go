// Package elicitation reads the form with which a server of the Model Context Protocol asks a person, as
// a question to the person, and writes the person's answer as the server wants it; Answered writes the answers to what
// the model itself asks.
//
//	f, err := elicitation.Read(server, message, mode, schema)
//	answers, err := h.Question(ctx, f.Question())
//	content, err := f.Content(answers.Replies)
package elicitation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/internal/json/jsonobj"
)

// Form is what a tool server asks for.
type Form struct{ fields []field }

// field is one value of a form.
type field struct {
	name, kind string // kind: string, number, integer, boolean, array
	required   bool
	confirms   bool // the form has no value: it is accepted or not
	part       agent.Part
	values     []string // of the options, in their order
}

// leftOut is the answer that leaves out a value that is not required.
const leftOut = "-"

// Read reads the request of a server. A form with a part that it does not know is an error, and is not asked.
func Read(server, message, mode string, schema *jsonobj.Object) (Form, error) {
	var f Form
	if mode != "" && mode != "form" {
		return f, fmt.Errorf("%s wants %q, which needs the client's own screen", clipped(server), clipped(mode))
	}
	head := fmt.Sprintf("The tool server %s asks: %s", server, message)
	props := schema.Object("properties")
	required := texts(schema, "required")
	if twice := props.Duplicates(); len(twice) > 0 {
		return f, fmt.Errorf("%s: %q occurs twice in the form", clipped(server), clipped(twice[0]))
	}
	for _, name := range props.Keys() {
		p, err := fieldOf(name, props.Object(name), slices.Contains(required, name))
		if err != nil {
			return f, fmt.Errorf("%s: %w", clipped(server), err)
		}
		f.fields = append(f.fields, p)
	}
	if len(f.fields) == 0 {
		f.fields = []field{{confirms: true, part: agent.Part{Closed: true, Options: []agent.Option{{Label: "yes"}, {Label: "no"}}}}}
	}
	first := &f.fields[0].part
	first.Text = strings.TrimSpace(head + "\n" + first.Text)
	return f, nil
}

func fieldOf(name string, s *jsonobj.Object, required bool) (field, error) {
	f := field{name: name, kind: s.Text("type"), required: required}
	label := name
	if title := s.Text("title"); title != "" && title != name {
		label += " (" + title + ")"
	}
	if about := s.Text("description"); about != "" {
		label += ": " + about
	}
	if !required {
		label += " [" + leftOut + " leaves it out]"
	}
	f.part.Text = label
	var labels []string
	switch f.kind {
	case "string":
		f.values, labels = choices(s)
	case "array":
		f.part.Multiple = true
		if f.values, labels = choices(s.Object("items")); len(f.values) == 0 {
			return f, fmt.Errorf("%s is a list without a choice", clipped(name))
		}
	case "boolean":
		f.values, labels = []string{"true", "false"}, []string{"yes", "no"}
	case "number", "integer":
	default:
		return f, fmt.Errorf("%s is of the type %q", clipped(name), clipped(f.kind))
	}
	for i := range f.values {
		f.part.Options = append(f.part.Options, agent.Option{Label: labels[i]})
	}
	f.part.Closed = len(f.values) > 0 && required
	return f, nil
}

// choices are the values that a schema permits, with what a person is shown; none: any.
func choices(s *jsonobj.Object) (values, labels []string) {
	if values = texts(s, "enum"); len(values) > 0 {
		return values, namesOf(values, texts(s, "enumNames"))
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for _, o := range s.Objects(key) {
			if o.Text("const") != "" {
				values, labels = append(values, o.Text("const")), append(labels, cmp.Or(o.Text("title"), o.Text("const")))
			}
		}
	}
	return values, namesOf(values, labels)
}

// namesOf are the names that a person is shown for values: the values, unless each has a name of its own.
func namesOf(values, names []string) []string {
	if len(names) != len(values) {
		return values
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return values
		}
	}
	return names
}

// Question is the form as a question to a person, with a part for each value.
func (f Form) Question() (q agent.Question) {
	for _, one := range f.fields {
		q.Parts = append(q.Parts, one.part)
	}
	return q
}

// Content is the answer as the server wants it. It requires an answer to every part.
func (f Form) Content(replies []agent.Reply) ([]byte, error) {
	if len(replies) != len(f.fields) {
		return nil, fmt.Errorf("%d parts were asked and %d answered", len(f.fields), len(replies))
	}
	var out jsonobj.Object
	for i, one := range f.fields {
		if one.confirms {
			if replies[i].String() != "yes" {
				return nil, errors.New("the answer is no")
			}
			continue
		}
		v, err := one.value(replies[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clipped(one.name), err)
		}
		if v != nil {
			out.Set(one.name, v)
		}
	}
	return out.Compact(), nil
}

// value is one answer as JSON; nil: it is left out.
func (f field) value(r agent.Reply) ([]byte, error) {
	words := strings.TrimSpace(r.Text)
	if len(r.Labels) == 0 && words == leftOut && !f.required {
		return nil, nil
	}
	var chosen []string
	for _, l := range r.Labels {
		i := slices.IndexFunc(f.part.Options, func(o agent.Option) bool { return o.Label == l })
		if i < 0 {
			return nil, fmt.Errorf("there is no option %q", clipped(l))
		}
		chosen = append(chosen, f.values[i])
	}
	if len(f.values) > 0 && len(chosen) == 0 {
		return nil, errors.New("it is answered by its options")
	}
	switch f.kind {
	case "boolean":
		return []byte(chosen[0]), nil
	case "array":
		return jsonobj.Marshal(chosen)
	case "integer":
		n, err := strconv.ParseInt(words, 10, 64)
		return strconv.AppendInt(nil, n, 10), err
	case "number":
		n, err := strconv.ParseFloat(words, 64)
		if err != nil {
			return nil, err
		}
		return jsonobj.Marshal(n)
	}
	if len(chosen) > 0 {
		return jsonobj.AppendString(nil, chosen[0]), nil
	}
	if words == "" {
		return nil, errors.New("it has no answer")
	}
	return jsonobj.AppendString(nil, r.Text), nil
}

// texts are the strings of an array.
func texts(o *jsonobj.Object, key string) (list []string) {
	raw, _ := o.Get(key)
	elements, _ := jsonobj.Elements(raw)
	for _, e := range elements {
		if s, ok := jsonobj.String(e); ok {
			list = append(list, s)
		}
	}
	return list
}

// clipped shortens what a server has written for an error.
func clipped(s string) string { return cut.Valid(s, 100) }
