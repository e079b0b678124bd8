package operator

import (
	"fmt"
	"strings"

	"waggle/control"
)

// Callers returns the members whose process is the nearest ancestor of this process: none, one, or,
// when a leader's process runs several members, all of them (trust §8). A client that a person has opened
// with a member's conversation counts as the member: the same model calls from there.
func (o Operator) Callers(s *State) ([]*control.Member, error) { return o.MembersAbove(s, o.PID) }

// MembersAbove is Callers for any process.
func (o Operator) MembersAbove(s *State, pid int) ([]*control.Member, error) {
	if o.Ancestors == nil {
		return nil, nil
	}
	ids, err := o.Ancestors(pid)
	if err != nil {
		return nil, fmt.Errorf("cannot identify the calling process: %w", err)
	}
	for _, id := range ids {
		var here, live []*control.Member
		for _, m := range s.Lead.Members {
			if (m.Process == nil || !id.Is(m.Process.ID)) && (m.Borrowed == nil || !id.Is(m.Borrowed.By)) {
				continue
			}
			if here = append(here, m); m.Left == nil {
				live = append(live, m)
			}
		}
		switch {
		case len(live) > 0:
			return live, nil
		case len(here) > 0:
			return here, nil
		}
	}
	return nil, nil
}

// Names joins the names of members for people.
func Names(ms []*control.Member) string {
	var s []string
	for _, m := range ms {
		s = append(s, string(m.Name))
	}
	if len(s) > 1 {
		return "of members " + strings.Join(s, ", ") + ", who share a process"
	}
	return "member " + s[0]
}
