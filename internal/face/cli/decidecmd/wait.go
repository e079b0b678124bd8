package decidecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/team"
)

// goal is what a wait waits for.
type goal struct {
	any   bool // one of several members is enough
	is    func(inspect.Change) bool
	never func(inspect.Change) bool // the member cannot become so any more by itself
}

func gaveUp(c inspect.Change) bool {
	return c.Is == inspect.ConditionFailed || c.Is == inspect.ConditionBlocked
}

func left(c inspect.Change) bool { return c.Is == inspect.ConditionLeft }

// goals are what a wait can wait for, by the words of --until.
var goals = map[string]goal{
	"needs-you": {any: true, is: func(c inspect.Change) bool { return c.Is == inspect.ConditionNeedsYou }, never: left},
	"failed":    {any: true, is: gaveUp, never: left},
	"done": {is: func(c inspect.Change) bool { return c.Is == inspect.ConditionReady || left(c) && c.Done },
		never: func(c inspect.Change) bool { return gaveUp(c) || left(c) && !c.Done }},
	"ready": {is: func(c inspect.Change) bool { return c.Is == inspect.ConditionReady },
		never: func(c inspect.Change) bool { return gaveUp(c) || left(c) }},
}

// goalWords are the words of --until.
var goalWords = []string{"needs-you", "done", "failed", "ready"}

func Wait(a *app.App) *cobra.Command {
	var until string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait [NAME]... --until needs-you|done|failed|ready",
		Short: "Wait until members need you, are done, failed or ready",
		Long: `Wait until members are so, for scripts, and print the one that decided it, with its
condition and the reason. Without NAME the members of the team count. What is so already
counts.

  needs-you  one of them waits for your answer
  failed     one of them has failed or is blocked, and does not go on by itself
  ready      all have done what they were given, and have no work
  done       the same, or they have left after it

Exit 0 when it is so; 1 when it cannot become so any more by itself: one has failed, is
blocked or has left, or the team has ended; 4 after --timeout. The command only reads.

--json: {"until","reached","v","time","team","member","state","from","why","handle"},
also with exit 1 and 4; the last eight as log --follow --json has them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			g, ok := goals[until]
			if !ok {
				return &operator.Error{Kind: operator.Usage, Op: "wait", Msg: fmt.Sprintf("--until %q is none of %s", until, strings.Join(goalWords, ", ")), Near: team.Near(until, goalWords)}
			}
			if cmd.Flags().Changed("timeout") && timeout <= 0 {
				return &operator.Error{Kind: operator.Usage, Op: "wait", Msg: fmt.Sprintf("--timeout %s is no time to wait", timeout), Advice: "leave it out to wait without an end"}
			}
			ts, err := waitedFor(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			defer ts.growth.end()
			reached, c, err := g.wait(cmd.Context(), a, ts, args, timeout)
			if c.Is != "" {
				if err := a.Give(view.WaitDocument{Until: until, Reached: reached, ConditionDocument: view.State(c)}, view.WaitPage(c)); err != nil {
					return err
				}
			}
			return waitEnded(until, timeout, reached, c, err)
		},
	}
	cmd.Flags().StringVar(&until, "until", "", strings.Join(goalWords, ", "))
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time (exit 4)")
	app.OneOf(cmd, "until", goalWords...)
	return cmd
}

// waitedFor opens the teams of the members that are waited for.
func waitedFor(ctx context.Context, a *app.App, names []string) (*teamStates, error) {
	if len(names) == 0 {
		op, name, err := a.TeamRead(ctx)
		if err != nil {
			return nil, err
		}
		return openStates(ctx, a, op, []string{string(name)})
	}
	var op operator.Operator
	var of []string
	for _, n := range names {
		var in string
		var err error
		if op, in, err = a.TeamWith(ctx, n); err != nil {
			return nil, err
		}
		if !slices.Contains(of, in) {
			of = append(of, in)
		}
	}
	return openStates(ctx, a, op, of)
}

// wait waits until the members are so, or cannot become so; c is the member that decides it. The error is that of ctx, or
// of what cannot be read. The limit counts from the first look on, so that what is so already is found; 0: there is none.
func (g goal) wait(ctx context.Context, a *app.App, ts *teamStates, names []string, limit time.Duration) (reached bool, c inspect.Change, err error) {
	counts := map[string]bool{}
	for first := true; ; first = false {
		reached, c, over, err := g.look(ctx, a, ts, names, counts)
		switch {
		case err != nil || reached || over:
			return reached, c, err
		case ctx.Err() != nil:
			return false, c, ctx.Err()
		case first && limit > 0:
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		if err := ts.grown(ctx); err != nil {
			return false, c, err
		}
	}
}

// look reads what has changed, and says whether the members are so, and over whether they cannot become so any more.
func (g goal) look(ctx context.Context, a *app.App, ts *teamStates, names []string, counts map[string]bool) (reached bool, c inspect.Change, over bool, err error) {
	cs, err := ts.next(ctx, a)
	if err != nil && !errors.Is(err, ctx.Err()) { // a wait ends by its limit or by Ctrl-C
		return false, c, false, err
	}
	if len(counts) == 0 && err == nil {
		if err := counted(counts, cs, ts.now(), names); err != nil {
			return false, c, false, err
		}
	}
	for _, n := range cs { // in order: what was so for a moment counts
		if g.any && counts[key(n)] && g.is(n) {
			return true, n, false, nil
		}
	}
	reached, c, over = g.judge(slices.DeleteFunc(ts.now(), func(c inspect.Change) bool { return !counts[key(c)] }))
	return reached, c, over || ts.over(), nil
}

func key(c inspect.Change) string { return string(c.Team) + "\x00" + string(c.Member) }

// counted notes the members that are waited for: the named ones, else those that have not left, and of a team that has
// ended all.
func counted(counts map[string]bool, first, now []inspect.Change, names []string) error {
	for _, name := range names {
		if err := knows(now, name); err != nil {
			return err
		}
		for _, c := range now {
			if protocol.SameName(c.Member, protocol.MemberName(name)) {
				counts[key(c)] = true
			}
		}
	}
	if len(names) > 0 {
		return nil
	}
	for _, c := range first {
		counts[key(c)] = true
	}
	if len(first) == 0 {
		return &operator.Error{Kind: operator.NotFound, Op: "wait", Msg: "the team has no members"}
	}
	return nil
}

// judge says whether the members are so, and over whether they cannot become so any more; last is the one that decides
// it, or that still has to become so.
func (g goal) judge(now []inspect.Change) (reached bool, last inspect.Change, over bool) {
	are, never := 0, 0
	for _, c := range now {
		switch {
		case g.is(c):
			if are++; g.any || last.Is == "" {
				last = c
			}
		case g.never(c):
			if never++; !g.any {
				return false, c, true
			}
			last = c
		default:
			last = c
		}
	}
	if g.any {
		return are > 0, last, never == len(now)
	}
	return are == len(now), last, false
}

// waitEnded is the error of a wait.
func waitEnded(until string, timeout time.Duration, reached bool, c inspect.Change, err error) error {
	is := fmt.Sprintf("%s (%s): %s", operator.Visible(string(c.Member)), c.Is, operator.Visible(c.Why))
	why := operator.Next{Step: operator.NextWhy, Team: c.Team, Member: c.Member}
	switch {
	case reached:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &operator.Error{Kind: operator.Timeout, Op: "wait", Msg: fmt.Sprintf("not %s within %s: %s", until, timeout, is), Next: why}
	case err != nil:
		return err
	}
	return &operator.Error{Kind: operator.Failed, Op: "wait", Msg: fmt.Sprintf("it cannot become %s any more: %s", until, is), Next: why}
}
