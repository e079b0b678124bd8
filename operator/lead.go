package operator

import (
	"waggle"
	"waggle/control"
)

// Called reports a member by its name, or the agent behind the lead by what the team
// file calls it.
func Called(m *control.Member, name string) bool {
	return waggle.SameName(m.Name, waggle.MemberName(name)) || m.Leads() && waggle.SameName(waggle.MemberName(m.Joined.Lead), waggle.MemberName(name))
}

// AgentLeads reports that an agent reads the lead's mailbox, and no person has to.
func AgentLeads(s *State) bool {
	if s == nil {
		return false
	}
	_, ok := s.Lead.LeadAgent()
	return ok
}

// LeadOf is an address with the lead's own name where it names the agent behind the lead
// as the team file does.
func LeadOf(s *State, a waggle.Address) waggle.Address {
	if s == nil || a.Scheme != waggle.SchemeMember {
		return a
	}
	if m, ok := s.Lead.LeadAgent(); ok && Called(m, string(a.Member)) {
		a.Member = m.Name
	}
	return a
}
