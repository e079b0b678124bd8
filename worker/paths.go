package worker

import (
	"fmt"

	"waggle/agent"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
)

// realPaths resolves every path by which the call may be judged: those that the agent has resolved
// for the files that it opens itself, and the others on the disk.
func (h host) realPaths(c agent.Call) []record.RealPath {
	w := h.w
	if w.p.Links == nil {
		return nil
	}
	w.mu.Lock()
	task := ""
	if turn := w.p.Fold.Turn(); turn != nil {
		task = turn.Task
	}
	set := w.p.Lead.Policy
	judges := set.During(task).Judges(w.p.Fold.Instance, w.p.Minter.Now())
	w.mu.Unlock()
	call := set.Call(record.Ask{Tool: c.Tool, Input: string(c.Input), Cwd: c.Cwd, Bound: record.Bound{Stdin: c.Stdin, Env: c.Env}})
	call.Links, call.Home = policy.Recorded(c.Files).Or(w.p.Links), spawn.Getenv(w.p.Environ, "HOME")
	return policy.RealPaths(call, judges...)
}

// moved names a path that resolves to another file than when the call was asked: the call would
// touch a file that was not judged.
func (h host) moved(paths []record.RealPath) string {
	if h.w.p.Links == nil {
		return ""
	}
	for _, p := range paths {
		if p.Spelled == "~" {
			continue // the home directory of the judgement is no path of the call
		}
		now, err := h.w.p.Links.Real(p.Spelled)
		if err != nil {
			now = ""
		}
		if now != p.Real {
			return fmt.Sprintf("%s leads to %q now, and led to %q", p.Spelled, now, p.Real)
		}
	}
	return ""
}
