package inspect

import "waggle/operator"

// Unverified counts the messages that the team's journals have as unverified: the leader's journal,
// and those of its members, which judge their own mailboxes. status, doctor and log show this
// number. It leaves out a member's journal that cannot be read; why NAME reports it.
func Unverified(s *operator.State) int {
	n := len(s.Lead.Unverified)
	for _, m := range s.Lead.Members {
		if w, err := s.Worker(m.Instance); err == nil {
			n += w.Unverified
		}
	}
	return n
}
