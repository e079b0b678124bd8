package teamfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"waggle/internal/json/jsonobj"
	"waggle/protocol"
	"waggle/team"
)

// About is what the registry has about a team besides its name and members.
type About struct {
	Description string          // "": a description that names the team
	Metadata    json.RawMessage // an object of the operator's own; nil: none
}

// Describe returns the description, which a registry of waggle always has (seed 002).
func (a About) Describe(name protocol.TeamName) string {
	return cmp.Or(a.Description, team.DescriptionOf(name))
}

// ParseMetadata makes an object of KEY=VALUE pairs, in their order; nil of none. A
// VALUE that is a JSON number, true, false, null, array or object is that, and
// anything else is text.
func ParseMetadata(pairs []string) (json.RawMessage, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	o := &jsonobj.Object{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("metadata %q is not KEY=VALUE", pair)
		}
		if _, twice := o.Get(key); twice {
			return nil, fmt.Errorf("metadata %q is there twice", key)
		}
		o.Set(key, metadataValue(value))
	}
	raw := o.Raw()
	if len(raw) > maxMetadata {
		return nil, fmt.Errorf("metadata has %d bytes, at most %d are allowed", len(raw), maxMetadata)
	}
	return raw, nil
}

// maxMetadata is the size limit of metadata, which every reader of the registry reads.
const maxMetadata = 64 << 10

func metadataValue(text string) json.RawMessage {
	if raw := json.RawMessage(text); json.Valid(raw) && jsonobj.TypeOf(raw) != "string" {
		return raw
	}
	return jsonobj.AppendString(nil, strings.ToValidUTF8(text, "\uFFFD"))
}
