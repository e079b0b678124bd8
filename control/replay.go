package control

import "waggle"

// Planning reports whether the turn that runs waits for its plan to be approved.
func (w *Worker) Planning() bool { return w.base == PlanProposed }

// Replay finds what an earlier process of this worker has on record for a
// question of the turn that runs, when this process takes that turn up again: the
// call ran, or was answered and the answer acted on. Such a question is answered
// from the record; nothing is asked, run or opened a second time. past are the
// calls that were replayed already. Nil: ask.
func (w *Worker) Replay(kind waggle.Kind, a Ask, past map[Key]bool) *Call {
	if w.turn == nil {
		return nil
	}
	want := questionOf(kind, a)
	for _, c := range w.Calls {
		if c.turn == w.turn && c.Epoch < w.Epoch && !past[c.Key] && questionOf(c.Kind, c.Ask) == want && c.settled() {
			return c
		}
	}
	return nil
}

// settled reports whether the session that asked had what it needs: a call that
// was started, a denial from the leader, or a host that was opened. A plan that
// was approved is not among them: asking for it again finds it.
func (c *Call) settled() bool {
	switch {
	case c.Started:
		return true
	case c.AskedSeq == 0 || c.Answer == nil || c.Answer.Waited:
		return false
	case c.Answer.Decision == DecisionDeny:
		return true
	}
	return c.Kind == waggle.KindSandboxPermissionRequest && c.used
}
