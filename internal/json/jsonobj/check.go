package jsonobj

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Fault is a place in a document where it is not as its schema has it.
type Fault struct {
	Pointer string // RFC 6901, of the value that is wrong or of where it is missing
	Message string
}

func (f Fault) String() string { return f.Pointer + ": " + f.Message }

// Checker collects the faults of one document in the order in which they were
// found. The zero value is ready.
type Checker struct{ Faults []Fault }

// Add adds a fault.
func (c *Checker) Add(pointer, format string, args ...any) {
	c.Faults = append(c.Faults, Fault{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// Pointer is the pointer of a key of the object at base.
func Pointer(base, key string) string {
	return base + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// Object reads the object that raw is to be; nil, and a fault, when it is none.
// Keys that occur twice are faults too.
func (c *Checker) Object(raw json.RawMessage, base string) *Object {
	if kind := TypeOf(raw); kind != "object" {
		c.Add(base, "is %s, want object", kind)
		return nil
	}
	o, err := Parse(raw)
	if err != nil {
		c.Add(base, "%v", err)
		return nil
	}
	c.Duplicates(o, base)
	return o
}

// Duplicates reports keys that occur twice.
func (c *Checker) Duplicates(o *Object, base string) {
	for _, key := range o.Duplicates() {
		c.Add(Pointer(base, key), "occurs more than once")
	}
}

// Value returns a key's value when it is of the wanted type ("time" is a number
// or a string that is a time, "ISO 8601" such a string) and reports it when it is
// not, or is missing but required.
func (c *Checker) Value(o *Object, base, key, want string, required bool) (json.RawMessage, bool) {
	raw, ok := o.Get(key)
	switch kind := TypeOf(raw); {
	case !ok:
		if required {
			c.Add(Pointer(base, key), "is missing")
		}
		return nil, false
	case want == "time":
		if _, err := ParseTime(raw); err != nil {
			c.Add(Pointer(base, key), "%v", err)
			return nil, false
		}
	case want == "ISO 8601":
		if _, err := ParseTime(raw); err != nil || kind != "string" {
			c.Add(Pointer(base, key), "is not an ISO 8601 time")
			return nil, false
		}
	case kind != want:
		c.Add(Pointer(base, key), "is %s, want %s", kind, want)
		return nil, false
	}
	return raw, true
}

// Text is Value for a string.
func (c *Checker) Text(o *Object, base, key string, required bool) (string, bool) {
	raw, ok := c.Value(o, base, key, "string", required)
	s, _ := String(raw)
	return s, ok
}

// Keys checks the types of optional keys.
func (c *Checker) Keys(o *Object, base, want string, keys ...string) {
	for _, key := range keys {
		c.Value(o, base, key, want, false)
	}
}
