package waggle

// Routing is what seed 000 lets every payload say of its sender beside the envelope:
// for logs and remote sessions. It proves nothing, and is written in the catalog form
// only.
type Routing struct {
	TeamName  string `json:"teamName,omitempty"`
	AgentID   string `json:"agentId,omitempty"`
	AgentName string `json:"agentName,omitempty"`
}

func (r Routing) routing() Routing { return r }

// routing reads the routing keys. A value that is no string is left out and said.
func (f *frame) routing() Routing {
	var r Routing
	at := map[string]*string{"teamName": &r.TeamName, "agentId": &r.AgentID, "agentName": &r.AgentName}
	for _, fd := range f.fields {
		switch to := at[fd.path]; {
		case to == nil:
		case fd.raw[0] == '"':
			*to = str(fd.raw)
		default:
			f.warn("%s is %s, not a string: ignored", fd.path, aType(fd.raw))
		}
	}
	return r
}

// routed is p with the routing keys of its frame.
func routed(p Payload, r Routing) Payload {
	switch p := p.(type) {
	case TaskAssignment:
		p.Routing = r
		return p
	case TaskProgress:
		p.Routing = r
		return p
	case TaskCompleted:
		p.Routing = r
		return p
	case IdleNotification:
		p.Routing = r
		return p
	case PlanApprovalRequest:
		p.Routing = r
		return p
	case PlanApprovalResponse:
		p.Routing = r
		return p
	case PermissionRequest:
		p.Routing = r
		return p
	case PermissionResponse:
		p.Routing = r
		return p
	case SandboxPermissionRequest:
		p.Routing = r
		return p
	case SandboxPermissionResponse:
		p.Routing = r
		return p
	case ModeSetRequest:
		p.Routing = r
		return p
	case TeamPermissionUpdate:
		p.Routing = r
		return p
	case ShutdownRequest:
		p.Routing = r
		return p
	case ShutdownApproved:
		p.Routing = r
		return p
	case ShutdownRejected:
		p.Routing = r
		return p
	}
	return p
}

// routingOf returns the routing keys of a payload that has them.
func routingOf(p Payload) Routing {
	if r, ok := p.(interface{ routing() Routing }); ok {
		return r.routing()
	}
	return Routing{}
}
