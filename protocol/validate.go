package protocol

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// PayloadError says what is missing or malformed in a payload that is to be
// sent: one problem each, beginning with the wire name of the field.
type PayloadError struct {
	Kind     Kind
	Problems []string
}

func (e *PayloadError) Error() string {
	return string(e.Kind) + ": " + strings.Join(e.Problems, "; ")
}

// Validate reports what is missing or malformed in a payload that is to be sent,
// as a *PayloadError. It refuses what Encode could only write by leaving out
// something that matters: several hosts, a capability, a second arm of rules.
func Validate(p Payload) error { return validate(p, DialectWire) }

// validate is Validate for what is written in a dialect.
func validate(p Payload, d Dialect) error {
	p = value(p)
	if p == nil {
		return &PayloadError{Kind: KindInvalid, Problems: []string{"there is no payload"}}
	}
	var c checks
	switch p := p.(type) {
	case SystemInit:
		c.words(p.Text)
	case Text:
		c.words(p.Text)
	case Unknown:
		c.unknown(p)
	default:
		tables[p.Kind()].problems(&c, p, d)
	}
	if len(c) == 0 {
		return nil
	}
	return &PayloadError{Kind: p.Kind(), Problems: c}
}

// value returns the payload itself for a pointer to one, since a pointer has
// the methods of Payload too; nil for a nil pointer.
func value(p Payload) Payload {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer {
		return p
	}
	if v.IsNil() {
		return nil
	}
	return v.Elem().Interface().(Payload)
}

// checks collects problems.
type checks []string

func (c *checks) add(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

func (c *checks) need(field, v string) {
	if v == "" {
		c.add("%s is missing", field)
	}
}

// bare checks a member's name that must not have the team.
func (c *checks) bare(field, v string) {
	if strings.Contains(v, "@") {
		c.add("%s must be the bare member name", field)
	}
}

// id checks an id that is compared exactly, so it must survive being written.
func (c *checks) id(field, v string) {
	c.need(field, v)
	if !utf8.ValidString(v) {
		c.add("%s is not valid UTF-8", field)
	}
}

func (c *checks) oneOf(field, v string, choices ...string) {
	if !slices.Contains(choices, v) {
		c.add("%s is %s, not one of %s", field, show(v), strings.Join(choices, ", "))
	}
}

func (c *checks) time(field, v string) {
	if _, err := ParseTime(v); err != nil {
		c.add("%s is %s, not an ISO 8601 time", field, show(v))
	}
}

// value checks raw JSON: what it holds must be read by the receiver as we read
// it, so the faults that make a frame invalid are refused here.
func (c *checks) value(field string, raw json.RawMessage) bool {
	facts, ok := scan(string(raw))
	if !ok {
		c.add("%s is not valid JSON", field)
		return false
	}
	for _, fault := range facts.faults() {
		c.add("%s: %s", field, fault)
	}
	return true
}

func (c *checks) object(field string, raw json.RawMessage) {
	if c.value(field, raw) && raw[0] != '{' {
		c.add("%s is not a JSON object", field)
	}
}

func (c *checks) values(field string, list []json.RawMessage) {
	for i, raw := range list {
		c.value(fmt.Sprintf("%s[%d]", field, i), raw)
	}
}

// words checks plain text: it must not be taken for a frame that means
// something.
func (c *checks) words(text string) {
	switch d := DecodeText(text); d.Kind {
	case KindText, KindUnknown:
	case KindInvalid:
		c.add("text cannot be read: %s", strings.Join(d.Warnings, "; "))
	default:
		c.add("text would be read as a %s: send that kind instead", d.Kind)
	}
}

func (c *checks) unknown(p Unknown) {
	d := DecodeText(string(p.Raw))
	got, ok := d.Payload.(Unknown)
	if !ok || got.Type != p.Type || string(got.Raw) != string(p.Raw) {
		c.add("raw is not a frame of the unknown type %s", show(p.Type))
	}
}
