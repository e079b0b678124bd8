package operator

import (
	"cmp"

	"waggle/protocol"
)

// Live returns the members of a team whose processes run, and whether a process leads the team. It
// takes no lease.
func (o Operator) Live(s *State) (members []protocol.MemberName, led bool, err error) {
	for _, m := range s.Lead.Live() {
		if m.Process != nil && m.Process.ID.Alive() {
			members = append(members, m.Name)
		}
	}
	led, err = s.Dir.Led()
	return members, led, err
}

// RunPath returns RUN, the directory of sockets.
func (o Operator) RunPath() string {
	return cmp.Or(o.RunDir, o.Home.Run())
}
