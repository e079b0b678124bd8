package control

import (
	"time"

	"waggle/policy"
)

// Judges lists every policy that a question of this worker may be judged by: the
// paths that any of them resolves belong on the record of the question
// (policy.RealPaths).
func (w *Worker) Judges(l *Leader, now time.Time) []policy.Policy {
	own := l.Policy.For(w.Instance, now)
	own.Mode = policy.ModeDefault // rules of every mode count, whatever the mode is later
	out := []policy.Policy{own, l.Policy.For("", now)}
	if c := l.Policy.Ceiling; c != nil {
		out = append(out, c.Policy())
	}
	if l.Policy.Lead != nil {
		out = append(out, l.Policy.Ceiling.Bound(*l.Policy.Lead))
	}
	return out
}
