package control

import (
	"time"

	"waggle/policy"
)

// Call is a question's tool call as policy judges it, with what the policy guards
// beside the guarded names.
func (p PolicySet) Call(a Ask) policy.Call {
	c := a.Call()
	if p.Path != "" {
		c.Guarded = []string{p.Path}
	}
	return c
}

// Judges lists every policy that a question of this worker may be judged by: the
// paths that any of them resolves belong on the record of the question
// (policy.RealPaths).
func (w *Worker) Judges(l *Leader, now time.Time) []policy.Policy {
	own := l.Policy.For(w.Instance, now)
	own.Mode = policy.ModeDefault // rules of every mode count, whatever the mode is later
	out := []policy.Policy{own, l.Policy.For("", now)}
	if c := l.Policy.Ceiling; c != nil {
		out = append(out, c.policy())
	}
	if l.Policy.Lead != nil {
		out = append(out, l.Policy.Ceiling.Bound(*l.Policy.Lead))
	}
	return out
}
