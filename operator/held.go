package operator

import (
	"waggle/control"
	"waggle/record"
)

// HeldUnknown is the level of a member that is to be confined and has not found out yet how far it
// is: its commands do not run before.
const HeldUnknown record.HeldLevel = "unknown"

// HeldOf is what confines a member's commands; r is what its present start found, nil for nothing
// yet.
func HeldOf(m *control.Member, r *record.Ready) record.HeldLevel {
	switch {
	case m.Trust == record.FileTrust || !m.Joined.Sandbox.Asked():
		return record.HeldOff
	case r == nil:
		return HeldUnknown
	}
	return record.LevelOf(r)
}
