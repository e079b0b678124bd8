package process

import (
	"slices"

	"waggle/control"
	"waggle/operator"
	"waggle/record"
	"waggle/spawn"
)

// Unseen is a member of which a process has died since the machine was started. Programs that its
// commands started and that cleared their environment and left their process group cannot be found
// any more: without a control group only their parent, the dead process, identified them.
type Unseen struct {
	Team   string `json:"team"`
	Member string `json:"member"`
}

// unseenOf finds the members of a team whose processes died. A death before the machine was started
// has left no process.
func (c *collector) unseenOf(s *operator.State) {
	self, err := spawn.Identify(c.o.PID)
	for _, m := range s.Lead.Members {
		p := m.Process
		switch {
		case p == nil, p.ID.Inside, p.ID.Theirs, m.Channel != "", err == nil && p.ID.Boot != self.Boot:
			continue
		case !crashed(s, m), grouped(s, m, p.ID.Boot): // its control group held every process that it started
			continue
		}
		if u := (Unseen{string(s.Team), string(m.Name)}); !slices.Contains(c.out.Unseen, u) {
			c.out.Unseen = append(c.out.Unseen, u)
		}
	}
}

// crashed reports a member that has lost a process without a handshake, recorded or not.
func crashed(s *operator.State, m *control.Member) bool {
	switch {
	case len(m.Deaths) > 0, m.Left != nil && m.Left.How == record.LeftDied:
		return true
	case m.Left != nil, m.Approved, m.Stopping != nil, s.Lead.Ended != nil:
		return false
	}
	return operator.Gone(m.Process.ID)
}
