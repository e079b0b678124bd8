package schema

import (
	"bytes"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Render returns the files that belong in Files, by name.
func Render() (map[string][]byte, error) {
	all := []*jsonschema.Schema{Envelope()}
	for _, kind := range Kinds() {
		s, err := For(kind)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	files := make(map[string][]byte)
	for _, s := range all {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s); err != nil {
			return nil, err
		}
		files[s.Title+".schema.json"] = b.Bytes()
	}
	return files, nil
}
