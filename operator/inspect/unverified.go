package inspect

import "waggle/operator"

// Unverified counts the messages that the team's journals have as unverified: the
// leader's, and those of its members with what was in their mailboxes. It is the number
// that status, doctor and log agree on. A member's journal that cannot be read is not
// counted; why NAME says so.
func Unverified(s *operator.State) int {
	n := len(s.Lead.Unverified)
	for _, m := range s.Lead.Members {
		if w, err := s.Worker(m.Instance); err == nil {
			n += w.Unverified
		}
	}
	return n
}
