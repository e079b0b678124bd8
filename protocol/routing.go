package protocol

import "waggle/internal/json/jsontext"

// Routing is what seed 000 lets every payload say of its sender beside the envelope:
// for logs and remote sessions. It proves nothing, and is written in the catalog form
// only.
type Routing struct {
	TeamName  string `json:"teamName,omitempty"`
	AgentID   string `json:"agentId,omitempty"`
	AgentName string `json:"agentName,omitempty"`
}

// routed is a payload with the keys of routing.
type routed interface{ routingKeys() *Routing }

func (r *Routing) routingKeys() *Routing { return r }

// routing reads the routing keys. A value that is no string is left out and said.
func (f *frame) routing() Routing {
	var r Routing
	at := map[string]*string{keyTeamName: &r.TeamName, keyAgentID: &r.AgentID, keyAgentName: &r.AgentName}
	for _, fd := range f.fields {
		switch to := at[fd.path]; {
		case to == nil:
		case fd.raw[0] == '"':
			*to = str(fd.raw)
		default:
			f.warn("%s is %s, not a string: ignored", fd.path, jsontext.WithArticle(fd.raw))
		}
	}
	return r
}
