package protocol

import "waggle/internal/json/jsontext"

// MarshalJSON returns what "waggle protocol decode" prints: an object with kind,
// dialect, type, payload and warnings. The payload has docs/protocol.md's canonical field
// names, without its type; it is the whole object for an unknown kind and null
// for an invalid one. The warnings are never null.
func (d Decoded) MarshalJSON() ([]byte, error) {
	payload := value(d.Payload)
	var out any = payload
	if u, ok := payload.(Unknown); ok {
		out = u.Raw
	}
	warnings := d.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	return jsontext.Marshal(struct {
		Kind     Kind     `json:"kind"`
		Dialect  Dialect  `json:"dialect"`
		Type     string   `json:"type"`
		Payload  any      `json:"payload"`
		Warnings []string `json:"warnings"`
	}{d.Kind, d.Dialect, d.Type, out, warnings})
}
