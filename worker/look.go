package worker

import (
	"slices"

	"waggle"
	"waggle/agent"
	"waggle/internal/program"
	"waggle/policy"
	"waggle/record"
)

// looked is a tool call with the files and programs that its text names, as they were when it was
// asked.
type looked struct {
	call  agent.Call
	at    program.Call
	found program.Found
	whole bool              // with the content of scripts
	paths []record.RealPath // where what it is judged by leads
}

// changedError refuses a call that was allowed: what it would run differs from what was shown.
type changedError struct{ what string }

func (e *changedError) Error() string {
	return "changed since it was allowed, ask again: " + e.what
}

// look finds what the text of a call names. It hashes the contents of scripts only when somebody
// will be asked; for calls that the rules answer it records the paths.
func (h host) look(c agent.Call) looked {
	l := looked{call: c, paths: h.realPaths(c)}
	if len(c.Argv) == 0 {
		return l
	}
	l.at = program.Call{Argv: c.Argv, Dir: c.Cwd, Env: append(slices.Clone(h.w.p.Environ), c.Env...)}
	for _, cmd := range policy.Commands(policy.Call{Tool: c.Tool, Input: c.Input, Cwd: c.Cwd, Stdin: c.Stdin}) {
		l.at.Commands = append(l.at.Commands, program.Command(cmd))
	}
	h.w.mu.Lock()
	v := h.w.p.Fold.Judge(waggle.KindPermissionRequest, l.ask(h.w.p.Added), h.w.p.Lead, h.w.p.Minter.Now())
	h.w.mu.Unlock()
	l.whole = v.Decision == policy.Ask
	l.found = h.w.finder.Look(l.at, l.whole)
	return l
}

// again is look for the same call once more, with contents, because somebody is asked.
func (h host) again(l looked) looked {
	l.whole, l.paths = true, h.realPaths(l.call)
	l.found = h.w.finder.Look(l.at, true)
	return l
}

// ask is the question. added is what the member adds to the environment of every
// command.
func (l looked) ask(added []string) record.Ask {
	c := l.call
	a := record.Ask{Tool: c.Tool, Input: string(c.Input), Cwd: c.Cwd, Reason: c.Reason}
	a.Stdin, a.Paths, a.Held = c.Stdin, l.paths, len(c.Files) > 0
	if len(c.Argv) == 0 {
		return a
	}
	a.Held, a.Program = true, l.found.Program
	a.Env = slices.Sorted(slices.Values(slices.Concat(added, c.Env)))
	for _, w := range l.found.Words {
		a.Words = append(a.Words, record.Resolved(w))
	}
	for _, s := range l.found.Scripts {
		a.Scripts = append(a.Scripts, record.Script(s))
	}
	return a
}

// unchanged compares a call that was allowed with the current state. A new input from the answer is
// resolved when it starts: nothing of it was shown.
func (h host) unchanged(k record.Key, l looked) error {
	h.w.mu.Lock()
	c, ok := h.w.p.Fold.Call(k)
	asked := ok && c.AskedSeq != 0 && c.Answer != nil && c.Answer.UpdatedInput == ""
	var paths []record.RealPath
	if ok && (c.Answer == nil || c.Answer.UpdatedInput == "") {
		paths = c.Ask.Paths
	}
	h.w.mu.Unlock()
	if what := h.moved(paths); what != "" {
		return &changedError{what}
	}
	if !asked || len(l.call.Argv) == 0 {
		return nil
	}
	if what := l.found.Changed(h.w.finder.Look(l.at, l.whole)); what != "" {
		return &changedError{what}
	}
	return nil
}
