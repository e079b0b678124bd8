package worker

import (
	"time"

	"waggle/agent"
	"waggle/record"
)

// settle gives an agent.Resident the agent.Exec that runs its program.
func (w *Worker) settle() {
	if r, ok := w.p.Agent.(agent.Resident); ok {
		p := w.p.Place
		if p.Exec == nil {
			p.Exec = w.p.Exec
		}
		p.Leads = w.leads
		r.Settle(p)
	}
}

// callLimits are the limits of one tool call, for a program that runs its calls itself: those of one
// command would end the program.
func callLimits(s *record.Sandbox) agent.CallLimits {
	if !s.Asked() || s.Limits == nil {
		return agent.CallLimits{}
	}
	return agent.CallLimits{Time: time.Duration(s.Limits.Time) * time.Millisecond, CPU: time.Duration(s.Limits.CPU) * time.Millisecond, Output: s.Limits.Output}
}
