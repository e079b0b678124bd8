package process

import (
	"waggle/control"
	"waggle/operator"
	"waggle/record"
	"waggle/spawn"
)

// Unseen is a member of which a process has died since the machine was started. What that
// process's commands started, and what cleared its environment and left its process group,
// nothing tells from other processes any more where there was no control group for it: it
// was the child of the process that died.
type Unseen struct {
	Team   string
	Member string
}

// unseenOf finds the members of a team whose processes died. Deaths before the machine was
// started have left nothing.
func (c *collector) unseenOf(s *operator.State) {
	self, err := spawn.Identify(c.o.PID)
	for _, m := range s.Lead.Members {
		p := m.Process
		switch {
		case p == nil, p.ID.Inside, p.ID.Theirs, m.Channel != "", err == nil && p.ID.Boot != self.Boot:
			continue
		case !crashed(s, m):
			continue
		}
		if grouped(s, m, p.ID.Boot) {
			continue // all that it started was in there
		}
		u := Unseen{string(s.Team), string(m.Name)}
		if id := "unseen " + u.Member + "@" + u.Team; !c.seen[id] {
			c.seen[id] = true
			c.out.Unseen = append(c.out.Unseen, u)
		}
	}
}

// crashed reports a member that has lost a process without a handshake, also one that
// nobody has put on record yet.
func crashed(s *operator.State, m *control.Member) bool {
	switch {
	case len(m.Deaths) > 0, m.Left != nil && m.Left.How == record.LeftDied:
		return true
	case m.Left != nil, m.Approved, m.Stopping != nil, s.Lead.Ended != nil:
		return false
	}
	return operator.Gone(m.Process.ID)
}
