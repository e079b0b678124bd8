package policy

import (
	"bytes"
	"encoding/json"
)

// marshal is json.Marshal without HTML escapes: a rule such as Bash(a && b) is
// stored, hashed and shown as it is written.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
