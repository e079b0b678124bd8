package decidecmd

import (
	"context"
	"slices"
	"time"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// lookEvery is how often members are looked at when no journal changes: for what no record says.
const lookEvery = 2 * time.Second

// teamStates are the conditions of the members of several teams.
type teamStates struct {
	list   []*inspect.States
	said   map[string]bool
	growth growth
}

// openStates opens the conditions of the members of some teams, without names of all teams here.
func openStates(ctx context.Context, a *app.App, op operator.Operator, of []string) (*teamStates, error) {
	list, err := openEach(a, of, func(name string) (*inspect.States, error) { return inspect.Of(op).States(ctx, name) })
	return &teamStates{list: list, said: map[string]bool{}, growth: growth{every: lookEvery}}, err
}

// next returns the changes in all teams in order of time. A team that cannot be read is a note, the only one an error.
func (ts *teamStates) next(ctx context.Context, a *app.App) (cs []inspect.Change, err error) {
	for _, s := range ts.list {
		more, err := s.Next(ctx)
		cs = append(cs, more...)
		switch {
		case err == nil || ctx.Err() != nil:
		case len(ts.list) == 1:
			return cs, err
		case !ts.said[err.Error()]:
			ts.said[err.Error()] = true
			a.Talk("%s %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
		}
	}
	slices.SortStableFunc(cs, func(a, b inspect.Change) int { return a.Time.Compare(b.Time) })
	return cs, nil
}

// over reports that every team has ended.
func (ts *teamStates) over() bool {
	return !slices.ContainsFunc(ts.list, func(s *inspect.States) bool { return !s.Over() })
}

// now are the present conditions in all teams.
func (ts *teamStates) now() (cs []inspect.Change) {
	for _, s := range ts.list {
		cs = append(cs, s.Now()...)
	}
	return cs
}

// grown waits until a journal has grown, or it is time for a look.
func (ts *teamStates) grown(ctx context.Context) error {
	var dirs []string
	for _, s := range ts.list {
		dirs = append(dirs, s.Dirs()...)
	}
	return ts.growth.wait(ctx, dirs)
}

// states prints the members' conditions and each change of one, until every team has ended or ctx ends.
func (v logView) states(ctx context.Context, a *app.App, op operator.Operator, of []string) error {
	if v.kind != "" {
		return &operator.Error{Kind: operator.Usage, Op: "log", Msg: "--kind selects records, and --follow --json shows conditions", Advice: "add --raw for records"}
	}
	ctx, stop := a.WhileShown(ctx)
	defer stop()
	ts, err := openStates(ctx, a, op, of)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	defer ts.growth.end()
	for begun := false; ; begun = true {
		cs, err := ts.next(ctx, a)
		if !begun && err == nil {
			err = knows(ts.now(), v.member)
		}
		for _, c := range cs {
			if v.member != "" && !protocol.SameName(c.Member, protocol.MemberName(v.member)) {
				continue
			}
			if err := a.Line(view.State(c)); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil // Ctrl-C is how one stops following
		}
		if err != nil || ts.over() {
			return err
		}
		if err := ts.grown(ctx); err != nil {
			return err
		}
	}
}

// knows refuses a member that none of the teams has.
func knows(cs []inspect.Change, member string) error {
	if member == "" {
		return nil
	}
	var names []string
	for _, c := range cs {
		names = append(names, string(c.Member))
	}
	return named(member, names)
}

// growth waits for journals to grow. It keeps one watch for as long as the directories are the same: a new one
// wakes its reader at once, for what came before it.
type growth struct {
	every time.Duration // a wait is no longer, where the system reports no change

	dirs   []string
	nudges <-chan struct{}
	stop   func() // of the watch
}

// wait waits until something has changed in a directory, or it is time.
func (g *growth) wait(ctx context.Context, dirs []string) error {
	if g.nudges == nil || !slices.Equal(g.dirs, dirs) {
		g.end()
		nudges, stop, err := operator.Watch(ctx, g.every, dirs...)
		if err != nil {
			return err
		}
		g.dirs, g.nudges, g.stop = slices.Clone(dirs), nudges, stop
	}
	select {
	case <-ctx.Done():
	case <-g.nudges:
	}
	return nil
}

// end ends the watch.
func (g *growth) end() {
	if g.nudges != nil {
		g.stop()
		g.nudges = nil
	}
}
