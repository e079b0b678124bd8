package operator

import (
	"waggle/control"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// Called reports whether a member has this name. The agent behind the lead also has the name that
// the team file gives it.
func Called(m *control.Member, name string) bool {
	return protocol.SameName(m.Name, protocol.MemberName(name)) || m.Leads() && protocol.SameName(protocol.MemberName(m.Joined.Lead), protocol.MemberName(name))
}

// Namesakes returns those of some members that have a name, in their order. Where there are none, the error is a
// *team.NotFoundError with the names that a person may have meant.
func Namesakes(ms []*control.Member, name string) (same []*control.Member, err error) {
	var names []string
	for _, m := range ms {
		if Called(m, name) {
			same = append(same, m)
		}
		names = append(names, string(m.Name))
	}
	if len(same) == 0 {
		return nil, &team.NotFoundError{What: "member", Name: name, Near: team.Near(name, names)}
	}
	return same, nil
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

// Departed returns the last member of a name that has left, when none of that name is there.
func Departed(s *State, name string) (left *control.Member, ok bool) {
	if s == nil {
		return nil, false
	}
	for _, m := range s.Lead.Members {
		if !Called(m, name) {
			continue
		}
		if m.Left == nil {
			return nil, false
		}
		left = m
	}
	return left, left != nil
}

// Unreturning is why a member that has left is not started again; "": it can be.
func Unreturning(m *control.Member) string {
	switch {
	case m.Trust == record.FileTrust:
		return "waggle did not run it"
	case m.Backend == BackendMCP, m.Channel != "":
		return "a client of its own joined as it"
	case m.Backend == BackendInProcess:
		return "it ran inside the process that led"
	case m.Leads():
		return "it led the team"
	}
	return ""
}

// Gone reports that the process certainly does not run.
func Gone(id spawn.Identity) bool {
	alive, err := id.Check()
	return !alive && err == nil
}

// HeldUnknown is the level of a member that is to be confined and has not found out yet how far it
// is: its commands do not run before.
const HeldUnknown record.HeldLevel = "unknown"

// HeldOf is what confines a member's commands; r is what its present start found, nil for nothing
// yet.
func HeldOf(m *control.Member, r *record.Ready) record.HeldLevel {
	switch {
	case m.Trust == record.FileTrust || !m.Joined.Sandbox.Asked():
		return record.HeldOff
	case r == nil:
		return HeldUnknown
	}
	return record.LevelOf(r)
}
