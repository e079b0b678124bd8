package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/cli/teamcmd"
	"waggle/internal/face/tui"
	"waggle/internal/face/tui/live"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// linear is top as lines of text: it asks about one request after the other, and writes what
// becomes of the members.
type linear struct {
	a    *app.App
	live *live.Source
	open map[string]asked              // requests that are asked here, by digest
	said map[string]string             // the last line about each member
	work map[string]context.CancelFunc // members without a task, whose work was asked about
	wg   sync.WaitGroup
}

// asked is a request that is asked here.
type asked struct {
	request  decide.Request
	withdraw context.CancelCauseFunc
}

func topPlain(ctx context.Context, a *app.App) error {
	if ended, err := teamcmd.Ended(ctx, a); ended {
		return err
	}
	op, name, err := topTeam(a)
	if err != nil {
		return err
	}
	a.Flags.NoColor = true
	defer decidecmd.Attend(a, op)()
	l := &linear{a: a, live: liveOf(a, op, name), open: map[string]asked{}, said: map[string]string{}, work: map[string]context.CancelFunc{}}
	waiting, end := a.ScreenNotices(op, app.File(a.Err)) // CanAsk: it is a terminal
	defer end()
	l.live.Waiting = waiting
	ctx, stop := context.WithCancel(ctx)
	defer l.wg.Wait()
	defer stop()
	a.Talk("every request is asked here, riskiest first; Ctrl-C leaves, and the team goes on")
	changes, _ := l.live.Watch(ctx)
	for range changes {
		l.look(ctx)
	}
	return nil
}

// look writes what has changed, and asks about what is new.
func (l *linear) look(ctx context.Context) {
	qs, err := l.live.Requests(ctx)
	if err != nil && ctx.Err() == nil {
		l.a.Talk("note: %s", operator.Visible(explained(err)))
	}
	still := map[string]bool{}
	for _, q := range qs {
		still[q.Digest] = true
		if _, ok := l.open[q.Digest]; !ok {
			l.ask(ctx, q)
		}
	}
	for digest, one := range l.open {
		if !still[digest] && err == nil {
			one.withdraw(l.became(ctx, one.request))
			delete(l.open, digest)
		}
	}
	crew, err := l.live.Crew(ctx)
	if err != nil {
		return // the next look says it
	}
	for _, p := range crew.Problems {
		if l.said[p] == "" {
			l.said[p] = p
			l.a.Say("%s", operator.Visible(p))
		}
	}
	for _, m := range crew.Members {
		key, text := m.Team+"\x00"+m.Name, fmt.Sprintf("%s: %s", m.Name, view.Words(m.Stand, l.a.Clock()))
		if l.said[key] != text {
			l.said[key] = text
			next := ""
			if step := app.StepText(m.Next(m.Team)); step != "" && m.State != inspect.StateHuman && m.Refused == nil && !m.Resolved {
				next = "; next: " + step
			}
			l.a.Say("%s: %s%s", operator.Visible(text), operator.Visible(page.Local(m.Why, l.a.Clock())), operator.Visible(next))
		}
		l.refused(key+"\x00merge", m)
		l.done(ctx, key, m)
	}
}

// became is why a request is not asked any more: who answered it, or how it ended.
func (l *linear) became(ctx context.Context, q decide.Request) error {
	f, err := l.live.Fate(ctx, q)
	if err != nil || f.How == "" {
		return errors.New("it is not asked any more")
	}
	return errors.New(tui.FateText(f, l.a.Clock()))
}

// refused writes why the work of a member was not merged, whoever asked for that.
func (l *linear) refused(key string, m tui.Member) {
	if m.Refused == nil {
		delete(l.said, key)
		return
	}
	text := fmt.Sprintf("%s was not merged: %s; next: %s", m.Name, m.Refused.Why,
		app.StepText(operator.Next{Step: m.Refused.Step(), Team: protocol.TeamName(m.Team), Member: protocol.MemberName(m.Name)}))
	if l.said[key] != text {
		l.said[key] = text
		l.a.Say("%s", operator.Visible(text))
	}
}

// done asks whether to merge the work of a member that has no task any more, once until it has one.
func (l *linear) done(ctx context.Context, key string, m tui.Member) {
	cancel := l.work[key]
	switch {
	case !m.Free() || m.Worktree == nil:
		if cancel != nil {
			cancel()
			delete(l.work, key)
		}
	case cancel == nil:
		ctx, cancel := context.WithCancel(ctx)
		l.work[key] = cancel
		l.wg.Go(func() { l.offer(ctx, m) })
	}
}

// offer writes what a member has changed, takes comments on its lines, and merges it when the person
// says so.
func (l *linear) offer(ctx context.Context, m tui.Member) {
	page := tui.Page{Tab: tui.TabDiff, Team: m.Team, Member: m.Name}
	shown, err := l.live.Page(ctx, page)
	if err != nil || shown.Diff == nil || len(shown.Diff.Files) == 0 {
		return // there is nothing to merge
	}
	r := reviewing{l: l, m: m, diff: shown.Diff, texts: map[int]string{}}
	merges, err := r.ask(ctx)
	if len(r.texts) > 0 {
		l.a.Say("not sent to %s: %s", m.Name, operator.Visible(strings.Join(r.said(), "; ")))
	}
	if err != nil || !merges {
		return
	}
	var lines []string
	if now, err := l.live.Page(ctx, page); err != nil || now.Diff == nil || now.Diff.Text != shown.Diff.Text {
		lines = []string{"nothing was merged: the work of " + m.Name + " is not what was shown any more; waggle diff " + m.Name + " shows it"}
	} else if lines, err = l.live.Do(ctx, tui.Act{Verb: tui.Merge, Team: m.Team, Member: m.Name}); err != nil {
		lines = append(lines, explained(err))
	}
	for _, text := range lines {
		l.a.Say("%s", operator.Visible(text))
	}
}

// ask asks about one request in the background. The terminal asks one at a time.
func (l *linear) ask(ctx context.Context, q decide.Request) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.open[q.Digest] = asked{q, cancel}
	l.wg.Go(func() {
		answer, err := l.put(ctx, q)
		if err != nil {
			return // it was withdrawn, which the terminal has said
		}
		act := tui.Act{Verb: tui.Allow, Requests: []decide.Request{q}, Reason: answer.Reason}
		if !answer.Allow {
			act.Verb = tui.Deny
		}
		lines, err := l.live.Do(ctx, act)
		var setup *fresh.UnacceptedError
		if errors.As(err, &setup) { // of the member that a proposal starts
			if err = acceptSetup(ctx, l.a, setup.Found); err == nil {
				act.Setup = &setup.Found
				lines, err = l.live.Do(ctx, act)
			}
		}
		if err != nil {
			lines = []string{explained(err)}
		}
		for _, text := range lines {
			l.a.Say("%s", operator.Visible(text))
		}
	})
}

// put asks about a request. What it changes in the revision before or in its file is below it.
func (l *linear) put(ctx context.Context, q decide.Request) (decide.Answer, error) {
	earlier, err := l.live.Earlier(ctx, q)
	if err != nil {
		earlier = explained(err)
	}
	if earlier == "" || len(q.Questions) > 0 {
		return l.a.Ask(ctx, q)
	}
	return l.a.Request(ctx, q, func(cols int) string {
		return "\n" + strings.TrimSuffix(app.Block(tui.EarlierTitle(q), earlier, cols), "\n")
	})
}
