package record

import "strings"

// Provenance is how a member came to be one.
type Provenance string

// The provenances.
const (
	Spawned    Provenance = "spawned"    // the operator made it, and waggle starts it
	ByToken    Provenance = "token"      // it joined with a token
	Adopted    Provenance = "adopted"    // a running process that waggle did not start
	Registered Provenance = "registered" // another program runs it, and the operator registered it
	ByMCP      Provenance = "mcp"        // its agent is a client that connects by itself
	AsGuest    Provenance = "guest"      // our member in a team that another program leads
)

// Origin is the provenance of a membership. Records of before say it by their channel and backend.
func (j Joined) Origin() Provenance {
	switch {
	case j.Provenance != "":
		return j.Provenance
	case strings.HasPrefix(j.Channel, "token "):
		return ByToken
	case j.Backend == string(Adopted):
		return Adopted
	case j.Backend == string(ByMCP):
		return ByMCP
	case j.Trust == FileTrust:
		return Registered
	}
	return Spawned
}

// Definition is the agent definition that a member's prompt, model and tools were taken from.
type Definition struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file
}
