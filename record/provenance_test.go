package record_test

import (
	"testing"

	"waggle/record"
)

// TestOrigin: Origin derives the provenance of a member from the backend when an older record has
// no provenance.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		j    record.Joined
		want record.Provenance
	}{
		{record.Joined{Backend: "process", Trust: record.Cooperative}, record.Spawned},
		{record.Joined{Backend: "join", Channel: "token 0123", Trust: record.Cooperative}, record.ByToken},
		{record.Joined{Backend: "adopted", Trust: record.FileTrust}, record.Adopted},
		{record.Joined{Backend: "registered", Trust: record.FileTrust}, record.Registered},
		{record.Joined{Backend: "mcp", Trust: record.Cooperative}, record.ByMCP},
		{record.Joined{Backend: "process", Provenance: record.AsGuest}, record.AsGuest},
	} {
		if got := c.j.Origin(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.j, got, c.want)
		}
	}
}
