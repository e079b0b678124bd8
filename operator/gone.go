package operator

import (
	"waggle/control"
	"waggle/record"
	"waggle/spawn"
)

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
