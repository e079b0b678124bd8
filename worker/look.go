package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"waggle/agent"
	"waggle/internal/program"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// looked is a tool call with the files and programs that its text names, as they were when it was
// asked.
type looked struct {
	call  agent.Call
	at    program.Launch
	found program.Found
	whole bool              // with the content of scripts
	paths []record.RealPath // the targets of the paths by which it is judged
	// confined: it would run in the member's sandbox.
	confined bool
	own      *policy.Own // it is the member's own command
}

// changedError refuses an allowed call whose files differ from those that were shown.
type changedError struct{ what string }

func (e *changedError) Error() string {
	return "changed since it was allowed, ask again: " + e.what
}

// look finds the files and programs that the text of a call names. It hashes the contents of
// scripts only for a request; for calls that the rules answer it records the paths.
func (h host) look(c agent.Call) looked {
	l := looked{call: c, paths: h.realPaths(c), confined: h.confined(c), own: h.own(c)}
	if len(c.Argv) == 0 {
		return l
	}
	l.at = program.Launch{Argv: c.Argv, Dir: c.Cwd, Env: append(slices.Clone(h.w.p.Environ), c.Env...)}
	for _, cmd := range policy.Commands(policy.Call{Tool: c.Tool, Input: c.Input, Cwd: c.Cwd, Stdin: c.Stdin}) {
		l.at.Commands = append(l.at.Commands, program.Command(cmd))
	}
	h.w.mu.Lock()
	v := h.w.p.Fold.Judge(protocol.KindPermissionRequest, l.ask(h.w.p.Added), h.w.p.Lead, h.w.p.Minter.Now())
	h.w.mu.Unlock()
	l.whole = v.Decision == policy.Ask
	l.found = h.w.finder.Look(l.at, l.whole)
	return l
}

// confined reports whether a call would run in the member's sandbox now.
func (h host) confined(c agent.Call) bool { return h.w.p.Confined != nil && h.w.p.Confined(c) }

// own says with which authority a call is the member's own command: what the leader's journal has of the
// member and of its task.
func (h host) own(c agent.Call) *policy.Own {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m, ok := h.w.p.Lead.ByInstance(h.w.p.Fold.Instance)
	if !ok || m.File == "" {
		return nil
	}
	command := agent.CommandOf(m.Agent, m.Spec)
	if command == "" || len(c.Argv) == 0 || record.CommandOf(string(c.Input)) != command {
		return nil
	}
	own := &policy.Own{File: m.File, Approved: string(h.w.p.Fold.Approved(m.File, command))}
	if t := h.t.task; t != nil {
		own.Told = t.Words != "" && c.Stdin == t.Instructions
	}
	return own
}

// again repeats look for the same call, with contents, for a request.
func (h host) again(l looked) looked {
	l.whole, l.paths, l.confined = true, h.realPaths(l.call), h.confined(l.call)
	l.found = h.w.finder.Look(l.at, true)
	return l
}

// ask is the question. added is what the member adds to the environment of every
// command.
func (l looked) ask(added []string) record.Ask {
	c := l.call
	a := record.Ask{Tool: c.Tool, Input: string(c.Input), Cwd: c.Cwd, Reason: c.Reason, ToolUseID: c.UseID, MustAsk: c.MustAsk, Own: l.own}
	a.Stdin, a.Paths, a.Held, a.Sandboxed = c.Stdin, l.paths, len(c.Files) > 0, l.confined
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
	if ok && c.Ask.Sandboxed && !h.confined(l.call) {
		return &changedError{"the sandbox that it was to run in does not hold any more"}
	}
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

var _ agent.Refuser = host{}

// ownQuestions are the tools with which an agent asks a question or submits a plan: the gate has
// methods of their own for them, so that no mode refuses them.
var ownQuestions = map[string]bool{"AskUserQuestion": true, "ExitPlanMode": true, "EnterPlanMode": true}

// Refuses implements agent.Refuser: it judges a call by the present policy in the leader's journal,
// and records nothing. When the journal cannot be read, it refuses every call.
func (h host) Refuses(ctx context.Context, c agent.Call) string {
	l := looked{call: c, paths: h.realPaths(c)}
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case h.t.over || h.t.ctx.Err() != nil:
		return errTurnOver.Error()
	case w.p.Fold.Leaving():
		return "the member is shutting down"
	}
	if err := w.p.Leader.Refresh(ctx); err != nil {
		return "the rules cannot be read: " + err.Error()
	}
	v := w.p.Fold.Judge(protocol.KindPermissionRequest, l.ask(w.p.Added), w.p.Lead, w.p.Minter.Now())
	if v.Decision != policy.Deny || ownQuestions[c.Tool] && (v.Rule == "" || strings.HasPrefix(v.Rule, "mode ")) {
		return ""
	}
	return strings.TrimSpace(cmp.Or(v.Why, "The rules deny it.") + " " + v.Rule)
}
