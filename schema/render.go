package schema

import (
	"bytes"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Render returns the files that belong in Files, by name.
func Render() (map[string][]byte, error) {
	files := make(map[string][]byte)
	add := func(name string, s *jsonschema.Schema, err error) error {
		if err != nil {
			return err
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s); err != nil {
			return err
		}
		files[name+".schema.json"] = b.Bytes()
		return nil
	}
	for _, kind := range Kinds() {
		s, err := For(kind)
		if err := add(string(kind), s, err); err != nil {
			return nil, err
		}
	}
	s, err := Envelope()
	if err := add("envelope", s, err); err != nil {
		return nil, err
	}
	return files, nil
}
