package control

import (
	"waggle/machine"
	"waggle/protocol"
	"waggle/record"
)

// Planning reports whether the turn that runs waits for its plan to be approved.
func (w *Worker) Planning() bool { return w.base == machine.PlanProposed }

// Replay finds what an earlier process of this worker has recorded for a call of the turn that
// runs, when this process takes that turn up again: the call ran, or was answered and the answer
// was used. Such a call is answered from the record; nothing is asked, run or opened a second time.
// past are the calls that were replayed already. A call of an older program is compared as that
// program would have recorded it: a call that ran is not run again because more is bound now, and a
// denial stays in force. The files that a call was found to name are not compared: a script that
// has changed since it ran is not run again by itself. So are the calls before a halt, but for those that it interrupted. Nil: ask.
func (w *Worker) Replay(kind protocol.Kind, a record.Ask, past map[record.Key]bool) *Call {
	if w.turn == nil {
		return nil
	}
	a.N = record.SumOf(kind)
	want := map[int]question{}
	for _, c := range w.Calls {
		if c.turn != w.turn || c.Epoch >= w.Epoch && !c.past || c.redo || past[c.Key] || c.Kind != kind || !c.settled() {
			continue
		}
		n := c.Ask.Sum()
		if _, ok := want[n]; !ok {
			want[n] = questionOf(kind, a.As(n).Bare())
		}
		if questionOf(c.Kind, c.Ask.Bare()) == want[n] {
			return c
		}
	}
	return nil
}

// settled reports whether the session that asked had what it needs: a call that
// was started, a denial from the leader, a host that was opened, or an answer that was taken. A plan that
// was approved is not among them: asking for it again finds it.
func (c *Call) settled() bool {
	switch {
	case c.Started:
		return true
	case c.AskedSeq == 0 || c.Answer == nil || c.Answer.Waited || c.Answer.Revoked:
		return false
	case c.Answer.Decision == record.DecisionDeny:
		return true
	}
	return c.used && (c.Kind == protocol.KindSandboxPermissionRequest || c.Kind == record.KindQuestion)
}
