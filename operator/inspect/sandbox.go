package inspect

import (
	"slices"

	"waggle/control"
	"waggle/operator"
	"waggle/record"
)

// Least is the level of a team: that of its least confined member, as far as it is known.
func Least(levels []record.HeldLevel) record.HeldLevel {
	known := slices.DeleteFunc(slices.Clone(levels), func(l record.HeldLevel) bool { return l == operator.HeldUnknown })
	if len(known) == 0 { // also of a team without members
		return operator.HeldUnknown
	}
	return record.Weakest(known...)
}

// sandbox says what confines a member's commands, and what that does not hold.
func (y *Why) sandbox(m *control.Member, w *control.Worker) {
	if w.Ready == nil || !m.Joined.Sandbox.Asked() || w.Ready.Sandbox == nil {
		return
	}
	h := *w.Ready.Sandbox
	text := string(h.Word())
	if h.Shell {
		text += ", and the agent's program runs outside because " + h.Outside
	}
	if h.Why != "" {
		text += ", not more because " + h.Why
	}
	if h.Fix != "" {
		text += "; to permit more: " + h.Fix
	}
	y.add(fromWorker, w.ReadyAt, "its sandbox is %s", text)
	for _, gap := range h.Gaps {
		y.add(fromWorker, w.ReadyAt, "its sandbox does not hold: %s", gap)
	}
}

// SandboxOf is what confines the commands of a team's members: the level of the least confined one
// that is ready.
func SandboxOf(s *operator.State) record.HeldLevel {
	var levels []record.HeldLevel
	for _, m := range s.Lead.Live() {
		held := operator.HeldOf(m, nil)
		if held == operator.HeldUnknown {
			if w, err := s.Worker(m.Instance); err == nil {
				held = operator.HeldOf(m, w.Ready)
			}
		}
		levels = append(levels, held)
	}
	return Least(levels)
}
