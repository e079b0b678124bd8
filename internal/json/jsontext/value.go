package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
)

// Marshal is json.Marshal without HTML escapes: &, < and > are written as they
// are, also in what a MarshalJSON method or a json.RawMessage gives.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Value decodes one value without losing digits of numbers.
func Value(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err = dec.Decode(&v); err == nil && dec.More() {
		err = errors.New("something follows the value")
	}
	return v, err
}

// Same reports whether two texts are the same value.
func Same(a, b []byte) bool {
	x, errX := Value(a)
	y, errY := Value(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// TextAt is the string of a key of an object, by its exact name; "" when there is none.
func TextAt[T Text](object T, key string) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal([]byte(object), &fields) // no object has no field
	return TextOf(fields, key)
}

// TextOf is TextAt for an object that is read already.
func TextOf(fields map[string]json.RawMessage, key string) (s string) {
	_ = json.Unmarshal(fields[key], &s) // no string is none
	return s
}
