package operator

import (
	"waggle"
	"waggle/control"
)

// Called reports whether a member has this name. The agent behind the lead also has the name that
// the team file gives it.
func Called(m *control.Member, name string) bool {
	return waggle.SameName(m.Name, waggle.MemberName(name)) || m.Leads() && waggle.SameName(waggle.MemberName(m.Joined.Lead), waggle.MemberName(name))
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
func LeadOf(s *State, a waggle.Address) waggle.Address {
	if s == nil || a.Scheme != waggle.SchemeMember {
		return a
	}
	if m, ok := s.Lead.LeadAgent(); ok && Called(m, string(a.Member)) {
		a.Member = m.Name
	}
	return a
}
