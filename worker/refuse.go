package worker

import (
	"cmp"
	"context"
	"strings"

	"waggle/agent"
	"waggle/policy"
	"waggle/protocol"
)

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
