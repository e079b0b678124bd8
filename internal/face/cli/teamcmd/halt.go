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
	halted, errs := make([]*process.Halted, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names { // side by side: none waits for the grace of another
		all.Go(func() { halted[i], errs[i] = process.Of(op).Halt(ctx, name, ho) })
	}
	var doc view.HaltsDocument
	failed := make([]error, 1)
	if a.Flags.Team == "" || sessions {
		doc.Sessions, failed[0] = decide.Of(op).HaltSessions(ctx, ho.Reason, sessions)
	}
	all.Wait()
	if len(names) == 0 && len(doc.Sessions) == 0 && failed[0] == nil {
		a.Talk("nothing works: there is no team and no session here")
	}
	kind := operator.None
	for i, t := range halted {
		if err := errs[i]; err != nil {
			failed = append(failed, fmt.Errorf("team %s is not stopped: %w", names[i], err))
		}
		switch {
		case t == nil:
			doc.Teams = append(doc.Teams, view.HaltedDocument{Halted: &process.Halted{Team: string(names[i])}, Error: errs[i].Error()})
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
	for _, s := range doc.Sessions {
		if sessions && s.How == decide.SessionRuns { // else it does not count that one goes on
			kind = operator.Refused
		}
	}
	failed = append(failed, a.Give(doc, view.HaltedSessionsPage(doc.Sessions, sessions)))
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return exitOf(kind)
}
