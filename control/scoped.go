package control

import (
	"time"

	"waggle/machine"
	"waggle/record"
)

// prune leaves out what has ended: rules and answers whose time is over, and
// those of members that have left.
func (l *Leader) prune(p record.PolicySet, now time.Time) record.PolicySet {
	return p.Pruned(func(i record.Instance) bool {
		m := l.byInst[i]
		return i != "" && (m == nil || m.State() == machine.Terminated)
	}, now)
}
