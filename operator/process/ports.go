package process

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"

	"waggle/control"
	"waggle/operator"
	"waggle/record"
)

// portVar is the variable with the first of the ports that a member's programs may listen at.
const portVar = "WAGGLE_PORT_BASE"

// Ports of members: portsEach for every member of a team, below those that systems give out.
const (
	portsFirst = 10_000
	portsEach  = 10
	portsOf    = 2_200 // members of a team that have different ones
)

// PortBase is the entry of a member's environment with its first port. Members of one team have
// different ports, and two teams most often have.
func PortBase(s *operator.State, i record.Instance) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(s.Dir.Path))) // never fails
	n := slices.IndexFunc(s.Lead.Members, func(m *control.Member) bool { return m.Instance == i })
	return fmt.Sprintf("%s=%d", portVar, portsFirst+portsEach*((int(h.Sum32()%portsOf)+n+1)%portsOf))
}
