package control

import (
	"slices"
	"time"

	"waggle/machine"
	"waggle/record"
)

// prune leaves out what has ended: rules and answers whose time is over, and
// those of members that have left.
func (l *Leader) prune(p record.PolicySet, now time.Time) record.PolicySet {
	gone := func(i record.Instance) bool {
		m := l.byInst[i]
		return i != "" && (m == nil || m.State() == machine.Terminated)
	}
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(s record.Scoped) bool { return record.Past(s.Until, now) || gone(s.Instance) })
	p.Hosts = slices.DeleteFunc(slices.Clone(p.Hosts), func(g record.HostGrant) bool { return record.Past(g.Until, now) || gone(g.Instance) })
	return p
}
