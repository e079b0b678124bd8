package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/protocol"
)

// stopAll stops all work of the team that --team names, or of every team here, and with sessions of the user's own
// sessions. A team that cannot be stopped does not keep the others going.
func stopAll(ctx context.Context, a *app.App, ho process.HaltOptions, sessions bool) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	names, err := a.NamedOrAll(op)
	if err != nil {
		return err
	}
	h := halting{names: names, halted: make([]*process.Halted, len(names)), errs: make([]error, len(names))}
	var all sync.WaitGroup
	for i, name := range h.names { // side by side: none waits for the grace of another
		all.Go(func() { h.halted[i], h.errs[i] = process.Of(op).Halt(ctx, name, ho) })
	}
	if a.Flags.Team == "" || sessions {
		h.sessions, h.problem = decide.Of(op).HaltSessions(ctx, ho.Reason, sessions)
	}
	all.Wait()
	if len(h.names) == 0 && len(h.sessions) == 0 && h.problem == nil {
		a.Talk("nothing works: there is no team and no session here")
	}
	return h.say(a, sessions)
}

// halting is what stop --all stops.
type halting struct {
	names    []protocol.TeamName
	halted   []*process.Halted
	errs     []error
	sessions []decide.SessionHalt
	problem  error
}

// say shows what became of the work. A session that goes on counts only where sessions were to be stopped.
func (h halting) say(a *app.App, sessions bool) error {
	doc := view.HaltsDocument{Sessions: h.sessions}
	failed := []error{h.problem}
	kind := operator.None
	for i, t := range h.halted {
		if err := h.errs[i]; err != nil {
			failed = append(failed, fmt.Errorf("team %s is not stopped: %w", h.names[i], err))
		}
		switch {
		case t == nil:
			doc.Teams = append(doc.Teams, view.HaltedDocument{Halted: &process.Halted{Team: string(h.names[i])}, Error: h.errs[i].Error()})
			continue
		case a.Flags.JSON:
			doc.Teams = append(doc.Teams, view.HaltedDocument{Halted: t})
		default:
			a.ShowPage(view.HaltedPage(t), "", nil)
		}
		if k := t.Kind(); k == operator.Refused || kind == operator.None {
			kind = k
		}
	}
	for _, s := range h.sessions {
		if sessions && s.How == decide.SessionRuns {
			kind = operator.Refused
		}
	}
	failed = append(failed, a.Give(doc, view.HaltedSessionsPage(h.sessions, sessions)))
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return exitOf(kind)
}
