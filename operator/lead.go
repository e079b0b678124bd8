package operator

import (
	"waggle/control"
	"waggle/protocol"
)

// Called reports whether a member has this name. The agent behind the lead also has the name that
// the team file gives it.
func Called(m *control.Member, name string) bool {
	return protocol.SameName(m.Name, protocol.MemberName(name)) || m.Leads() && protocol.SameName(protocol.MemberName(m.Joined.Lead), protocol.MemberName(name))
}

// AgentLeads reports whether an agent, and not a person, reads the lead's mailbox.
func AgentLeads(s *State) bool {
	if s == nil {
		return false
	}
	_, ok := s.Lead.LeadAgent()
	return ok
}

// LeadOf replaces the team file's name of the agent behind the lead with the lead's own name.
func LeadOf(s *State, a protocol.Address) protocol.Address {
	if s == nil || a.Scheme != protocol.SchemeMember {
		return a
	}
	if m, ok := s.Lead.LeadAgent(); ok && Called(m, string(a.Member)) {
		a.Member = m.Name
	}
	return a
}
