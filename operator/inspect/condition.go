package inspect

import (
	"cmp"
	"time"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
)

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
	case s == StateIdle && f.Unowned != "":
		return ConditionWaits
	case s == StateIdle && f.Begins:
		return ConditionWorking
	case s == StateIdle && f.Finished:
		return ConditionReady
	}
	return cmp.Or(conditions[s], ConditionUnknown)
}

// Group is where a member is listed: the sections of every list of members have this order.
type Group int

// The groups.
const (
	GroupNeedsYou Group = iota
	GroupFailed         // it does not go on by itself
	GroupUnknown
	GroupWorking // it goes on by itself
	GroupQueued
	GroupReady // it has no work
	GroupDone  // it has ended or left, or is kept: no member is in it
	Groups
)

func (g Group) String() string {
	return [Groups]string{"Needs you", "Failed", "Unknown", "Working", "Queued", "Ready", "Done"}[g]
}

// groups has the group of every condition.
var groups = map[Condition]Group{
	ConditionNeedsYou: GroupNeedsYou,
	ConditionWorking:  GroupWorking,
	ConditionWaits:    GroupWorking,
	ConditionLimited:  GroupWorking,
	ConditionReady:    GroupReady,
	ConditionFailed:   GroupFailed,
	ConditionBlocked:  GroupFailed,
	ConditionAsleep:   GroupReady,
	ConditionUnknown:  GroupUnknown,
	ConditionLeft:     GroupReady,
}

// Group is the group of members with a condition.
func (c Condition) Group() Group {
	if g, ok := groups[c]; ok {
		return g
	}
	return GroupUnknown
}

// Group is where the member is listed. One without work whose work waits for a person needs that person.
func (m MemberStatus) Group() Group {
	switch {
	case m.Free() && m.Due() != "":
		return GroupNeedsYou
	case m.Is == ConditionWaits && m.For == "":
		return GroupQueued
	}
	return m.Is.Group()
}

// Listed reports that the member has a row of its own. That of one that asks is its request, unless it does not go on
// by itself, too.
func (m MemberStatus) Listed(asks bool) bool { return !asks || m.Group() == GroupFailed }

// Free reports a member without work.
func (m MemberStatus) Free() bool { return m.Is == ConditionReady || m.Is == ConditionAsleep }

// resolved is what a member has done that got a conflict of its merge back.
const resolved = "it has resolved its conflict: merge again"

// Due is what its work waits for a person with, "" for nothing.
func (m MemberStatus) Due() string {
	switch {
	case m.Refused != nil:
		return "not merged: " + m.Refused.Why
	case m.Resolved:
		return resolved
	}
	return m.Unsettled
}

// Stand is a condition with what people are told of it.
type Stand struct {
	Is    Condition `json:"condition"`
	For   string    `json:"-"` // whom or what it waits for (ann), or is blocked by (ann/3); "": nobody
	Until time.Time `json:"-"` // when its limit is over; zero: it has none
}

// Words is the condition as people are shown it; clock formats a time.
func (s Stand) Words(clock func(time.Time) string) string {
	switch {
	case s.Is == ConditionNeedsYou:
		return "needs you"
	case s.Is == ConditionWaits && s.For == "":
		return "queued"
	case s.Is == ConditionWaits:
		return "waits for " + s.For
	case s.Is == ConditionLimited:
		return "rate-limited until " + clock(s.Until)
	case s.Is == ConditionBlocked && s.For == "":
		return "blocked: setup"
	case s.Is == ConditionBlocked:
		return "blocked by " + s.For
	}
	return string(s.Is)
}

// Standing is a member, or a session, and how it is.
type Standing struct {
	Team  string `json:"team"`
	Name  string `json:"name"`
	State string `json:"state"` // that of status; left, when the member has left
	Stand
	Since time.Time `json:"since"` // zero: not known
	Why   string    `json:"why"`
}

// standing is how a member of a team is, also when it has left; m is nil for one that no journal has.
func (ms MemberStatus) standing(name protocol.TeamName, m *control.Member) Standing {
	if m != nil && m.Left != nil {
		return Standing{string(name), ms.Name, "left", Stand{Is: ConditionLeft}, m.LeftAt, leftWhy(m)}
	}
	return Standing{string(name), ms.Name, string(ms.State), ms.Stand, ms.Since, ms.Why}
}

// sessionStanding is how a session is.
func sessionStanding(r session.Row) Standing {
	return Standing{decide.SessionTeam, r.Name, r.State, SessionStand(r.State), r.Since, r.Why}
}

// SessionStand is how a session of a person's own is, by the state of its row.
func SessionStand(state string) Stand {
	switch state {
	case session.RowWaitingHuman:
		return Stand{Is: ConditionNeedsYou}
	case session.RowBusy:
		return Stand{Is: ConditionWorking}
	case session.RowIdle:
		return Stand{Is: ConditionAsleep}
	}
	return Stand{Is: ConditionUnknown}
}

// Next is what a person does about a member that needs them or does not go on by itself; its Step is "" for another.
func (m MemberStatus) Next(team string) operator.Next {
	n := operator.Next{Team: protocol.TeamName(team), Member: protocol.MemberName(m.Name)}
	switch g := m.Group(); {
	case g != GroupNeedsYou && g != GroupFailed && g != GroupUnknown:
		return operator.Next{}
	case m.Free() && (m.Refused != nil || m.Resolved):
		n.Step = m.Refused.Step()
	case m.State == StateBlocked:
		n.Step = operator.NextPeekResume
	case m.State == StatePaused && m.Why == StoppedWhy:
		n.Step, n.Member = operator.NextGoOn, ""
	case m.Stays:
		n.Step, n.Member = operator.NextResumeTeam, ""
	default:
		n.Step = operator.NextWhy
	}
	return n
}

// Status is what a member's facts say of it: its state, and what that means.
func (f MemberFacts) Status() MemberStatus {
	h := f.Health()
	ms := MemberStatus{State: h.State, Stand: Stand{Is: f.conditionOf(h.State)}, Since: h.Since, Why: h.Why, Stays: f.stays(), PID: f.PID}
	if f.gone() && f.Asks != nil {
		ms.Asks = f.Asks.What
	}
	switch {
	case h.State == StateHeldUp:
		ms.For = f.HeldUp.For
	case h.State == StatePeer && f.Asks == nil && f.Todo != nil:
		ms.For = f.Todo.For
	case h.State == StatePeer:
		ms.For = string(protocol.Lead)
	case ms.Is == ConditionWaits:
		ms.For = f.Unowned
	case h.State == StateLimited:
		ms.Until = f.Limited.Until
	}
	return ms
}

// finished reports a member that has completed a task.
func finished(m *control.Member) bool { return len(m.Done)+len(m.Claimed) > 0 }
