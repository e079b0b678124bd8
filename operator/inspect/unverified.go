package inspect

import (
	"waggle/leader"
	"waggle/operator"
)

// Unverified counts the messages that the team's journals have as unverified: the leader's journal,
// and those of its members, which judge their own mailboxes. status and doctor show this
// number. An edit of the registry is no message: status shows it as one (damage). So are Unanswerable ones. It leaves out a member's journal that cannot be read; why NAME reports it.
func Unverified(s *operator.State) int {
	n := 0
	for _, u := range s.Lead.Unverified {
		if u.Box != leader.RegistryBox && !u.Told {
			n++
		}
	}
	for _, m := range s.Lead.Members {
		if w, err := s.Worker(m.Instance); err == nil {
			n += w.Unverified
		}
	}
	return n
}
