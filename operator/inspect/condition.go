package inspect

import "waggle/control"

// Condition is what a member's state means for whoever waits for the member: whether something is due, and whose it is.
// Scripts wait for it (`wait`) and follow it (`log --follow --json`).
type Condition string

// The conditions.
const (
	ConditionNeedsYou Condition = "needs-you" // a person has to answer it
	ConditionWorking  Condition = "working"   // it goes on by itself
	ConditionWaits    Condition = "waits"     // another member, or the lead's agent, has to do something first; or it is queued
	ConditionLimited  Condition = "limited"   // by a usage limit of its agent; it goes on by itself at the time that its reason names
	ConditionReady    Condition = "ready"     // it has done what it was given, and has no work
	ConditionFailed   Condition = "failed"    // it does not go on by itself
	ConditionBlocked  Condition = "blocked"   // by a task that failed, or by its setup
	ConditionAsleep   Condition = "asleep"    // it has had no work
	ConditionUnknown  Condition = "unknown"   // the evidence cannot be read, or there is none
	ConditionLeft     Condition = "left"      // it is no member any more
)

// conditions has the condition of every state. That of a dead and of an idle member depends on more (conditionOf).
var conditions = map[MemberState]Condition{
	StateStarting:   ConditionWorking,
	StateQueued:     ConditionWaits,
	StateBlocked:    ConditionBlocked,
	StateWorking:    ConditionWorking,
	StateHuman:      ConditionNeedsYou,
	StatePeer:       ConditionWaits,
	StateBackground: ConditionWorking,
	StateFailed:     ConditionFailed,
	StateHeldUp:     ConditionBlocked,
	StateIdle:       ConditionAsleep,
	StatePaused:     ConditionNeedsYou,
	StateLimited:    ConditionLimited,
	StateTaken:      ConditionWorking,
	StateStalled:    ConditionFailed,
	StateDead:       ConditionWorking,
	StateUnknown:    ConditionUnknown,
}

// conditionOf is the condition of a member with a state. A dead one that a process starts again, or whose end was
// expected, goes on by itself.
func (f MemberFacts) conditionOf(s MemberState) Condition {
	switch {
	case s == StateDead && (f.stays() || f.Files && f.Ending == ""):
		return ConditionFailed
	case s == StateIdle && f.Unowned:
		return ConditionWaits
	case s == StateIdle && f.Held != "":
		return ConditionWorking
	case s == StateIdle && f.Finished:
		return ConditionReady
	}
	if c, ok := conditions[s]; ok {
		return c
	}
	return ConditionUnknown
}

// finished reports a member that has completed a task.
func finished(m *control.Member) bool { return len(m.Done)+len(m.Claimed) > 0 }
