// Package live is what the full screen shows of the teams and sessions of an operator, and what its keys do there.
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"waggle/control"
	"waggle/internal/face/tui"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/results"
	"waggle/protocol"
)

// Source is the tui.Source over the teams and sessions of an operator.
type Source struct {
	// Confine wraps the check of a merge for the sandbox of a directory; nil refuses to merge the work
	// of a confined member.
	Confine results.Confine
	// Start carries out NewMember, and an Allow of one proposal, and says so in lines; nil: no member can be started. Its error is a
	// *fresh.UnacceptedError where the person has to accept the setup of the member's worktree first.
	Start func(ctx context.Context, a tui.Act) ([]string, error)
	// First returns what somebody without a member can do, in lines; nil: nothing is said.
	First func() []string
	// Step returns a next step as a person types it; nil: none is shown.
	Step func(operator.Next) string
	// Waiting gets what waits for the person at each look, with the sessions that wait at a dialog; nil: nobody does.
	Waiting func([]decide.Request)

	op    operator.Operator
	team  protocol.TeamName // "": all
	do    sync.Mutex        // one act at a time
	merge sync.Mutex        // one merge at a time, beside other acts

	last  inspect.LastLines
	folds operator.WorkerFolds // of Crew

	seen sync.Mutex               // guards the fields below
	pids []int                    // of the leaders and members that Crew saw last
	late bool                     // Crew found a lease that a dead leader still held
	logs map[tui.MemberKey]string // of the members that Crew saw working

	poked chan struct{} // a pane that is shown has had output

	page   sync.Mutex // guards the fields below
	output output
	log    logPage
}

// Of returns the tui.Source over one team, or over all teams and sessions when name is "".
func Of(op operator.Operator, name protocol.TeamName) *Source {
	return &Source{op: op, team: name, poked: make(chan struct{}, 1)}
}

func (l *Source) names() ([]protocol.TeamName, error) {
	if l.team != "" {
		return []protocol.TeamName{l.team}, nil
	}
	return l.op.Root.Names()
}

// Requests implements tui.Source. Teams that cannot be read are left out; the error names them.
func (l *Source) Requests(ctx context.Context) ([]decide.Request, error) {
	names, err := l.names()
	if err != nil {
		return nil, err
	}
	if l.team == "" {
		names = append(names, decide.SessionTeam)
	}
	all, errs := []decide.Request{}, []error{}
	for _, name := range names {
		qs, err := decide.Of(l.op).Pending(ctx, name, false)
		switch {
		case name == decide.SessionTeam:
			errs = append(errs, err)
		case err != nil && operator.KindOf(err) != operator.NotFound: // another program leads it: nothing waits here
			errs = append(errs, fmt.Errorf("team %s: %w", name, err))
		}
		all = append(all, qs...)
	}
	all = slices.DeleteFunc(all, func(q decide.Request) bool { return q.Status != decide.StatusOpen && q.Kind != decide.KindDialog })
	if l.Waiting != nil {
		l.Waiting(all)
	}
	all = slices.DeleteFunc(all, func(q decide.Request) bool { return q.Kind == decide.KindDialog })
	decide.SortRequests(all)
	return all, errors.Join(errs...)
}

// Crew implements tui.Source.
func (l *Source) Crew(ctx context.Context) (c tui.Crew, err error) {
	names, err := l.names()
	if err != nil {
		return c, err
	}
	var pids []int
	late, logs := false, map[tui.MemberKey]string{}
	defer func() {
		l.seen.Lock()
		defer l.seen.Unlock()
		slices.Sort(pids)
		l.pids, l.late, l.logs = slices.Compact(pids), late, logs
	}()
	op := l.op
	op.Folds = &l.folds
	for _, name := range names {
		st, err := inspect.Of(op).Status(ctx, name)
		if err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("team %s: %v", name, err))
			continue
		}
		c.Problems = append(c.Problems, problems(st)...)
		for _, due := range l.text(view.DuePage(st)) {
			c.Problems = append(c.Problems, "team "+due)
		}
		pids = append(pids, st.Leader.PID)
		// The threads of a killed leader end after it counts as dead, and hold its lease until then.
		late = late || st.Leader.Led && st.Leader.PID > 0 && dead(st.Leader.PID)
		for _, m := range st.Members {
			one := tui.Member{Team: st.Team, MemberStatus: m}
			if m.Is == inspect.ConditionWorking {
				one.Last, logs[tui.MemberKey{Team: st.Team, Member: m.Name}] = l.last.Of(m.Log), m.Log
			}
			c.Members = append(c.Members, one)
			pids = append(pids, m.PID)
		}
		list, err := board.Of(op).Tasks(ctx, name, false)
		if err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("tasks of %s: %v", name, err))
			continue
		}
		for _, t := range list.Tasks {
			c.Tasks = append(c.Tasks, tui.Task{Team: st.Team, TaskView: t})
		}
	}
	if l.team == "" {
		qs, _ := decide.Of(l.op).Pending(ctx, decide.SessionTeam, false) // Requests returns the error
		for _, q := range qs {
			if q.Kind == decide.KindDialog {
				c.Members = append(c.Members, tui.Member{Team: q.Team, MemberStatus: inspect.MemberStatus{Name: q.Member, State: inspect.StateHuman, Stand: inspect.Stand{Is: inspect.ConditionNeedsYou}, Since: q.Asked.Time, Why: q.Reason}})
			}
		}
	}
	if len(c.Members) == 0 && l.First != nil {
		c.First = l.First()
	}
	return c, nil
}

// Said implements tui.Source.
func (l *Source) Said() map[tui.MemberKey]string {
	l.seen.Lock()
	logs := l.logs
	l.seen.Unlock()
	said := map[tui.MemberKey]string{}
	for k, log := range logs {
		said[k] = l.last.Of(log)
	}
	return said
}

// problems is what is wrong with a team as a whole.
func problems(st *inspect.Status) (lines []string) {
	say := func(text string) { lines = append(lines, fmt.Sprintf("team %s: %s", st.Team, text)) }
	switch {
	case st.Gone != nil:
		say("its directory is missing")
	case st.Broken != nil:
		say(st.Broken.Error())
	case st.Room != nil:
		say(st.Room.Error())
	case st.Interrupted != nil:
		say("nobody leads it, and members have died")
	case !st.Leader.Led && !st.Leader.Foreign && slices.ContainsFunc(st.Members, func(m inspect.MemberStatus) bool { return m.State == inspect.StateDead }):
		say("nobody leads it, and members are dead")
	case !st.Leader.Led && !st.Leader.Foreign && slices.ContainsFunc(st.Members, func(m inspect.MemberStatus) bool { return m.PID != 0 }):
		say("nobody leads it: your answers are sent, nothing else goes on")
	}
	for _, what := range st.Damage {
		say(what)
	}
	return lines
}

// Done implements Source: teams that have ended lately, members that have left lately, and what is kept. A member whose
// work is kept has one row. What cannot be read is left out: Crew says why.
func (l *Source) Done(ctx context.Context) ([]tui.Done, error) {
	since := l.op.Minter.Now().Add(-inspect.Lately)
	ended, err := inspect.Of(l.op).EndedSince(since)
	if err != nil {
		return nil, err
	}
	var kept []process.Kept
	if c, err := process.Of(l.op).GC(ctx, l.team, false); err == nil {
		kept = c.Kept // inside of a member's process it is refused, and nothing is listed
	}
	var done []tui.Done
	for _, e := range ended {
		if l.team == "" || e.Team == string(l.team) {
			done = append(done, tui.Done{Kind: tui.DoneTeam, Team: e.Team, ID: e.ID, At: e.At, Says: "ended: " + view.EndedText(e, kept),
				Do: operator.Next{Step: operator.NextReadEnded, Team: protocol.TeamName(e.Team)}})
		}
	}
	names, err := l.names()
	if err != nil {
		return done, err
	}
	for _, name := range names {
		done = append(done, l.left(ctx, name, since, kept)...)
	}
	for _, k := range kept {
		if k.Why.Do.Step == "" && k.Kind == process.GarbageWorktree && k.Member != "" {
			k.Why.Do = operator.Next{Step: operator.NextMergeAgain, Team: protocol.TeamName(k.Team), Member: protocol.MemberName(k.Member)}
		}
		done = append(done, tui.Done{Kind: k.Kind, Team: k.Team, Member: k.Member, ID: k.ID, Path: k.Path, Says: "kept: " + k.Why.Text, Do: k.Why.Do})
	}
	return done, nil
}

// left are the members of a team that have left lately, the last first, and have left nothing behind.
func (l *Source) left(ctx context.Context, name protocol.TeamName, since time.Time, kept []process.Kept) (done []tui.Done) {
	s, err := l.op.Open(ctx, name, operator.Act)
	if err != nil {
		return nil
	}
	for _, m := range s.Lead.Members {
		again := func(o *control.Member) bool { return o.Left == nil && o.Name == m.Name }
		behind := func(k process.Kept) bool { return k.Team == string(name) && k.Member == string(m.Name) }
		if m.Left == nil || m.LeftAt.Before(since) || slices.ContainsFunc(s.Lead.Members, again) || slices.ContainsFunc(kept, behind) {
			continue
		}
		done = append(done, tui.Done{Kind: tui.DoneMember, Team: string(name), Member: string(m.Name), ID: string(m.Instance), At: m.LeftAt,
			Says: view.LeftText(inspect.EndedMember{How: m.Left.How, Detail: m.Left.Detail}),
			Do:   operator.Next{Step: operator.NextWhy, Team: name, Member: m.Name}})
	}
	slices.SortStableFunc(done, func(a, b tui.Done) int { return b.At.Compare(a.At) })
	return done
}

// Seldom implements tui.Source. A member whose worktree cannot be read has no lines.
func (l *Source) Seldom(ctx context.Context) (tui.Seldom, error) {
	names, err := l.names()
	if err != nil {
		return tui.Seldom{}, err
	}
	all := map[tui.MemberKey]tui.Lines{}
	for _, name := range names {
		s, err := l.op.Open(ctx, name, operator.Act)
		if err != nil {
			continue // Crew says why
		}
		for _, m := range s.Lead.Members {
			if m.Left != nil || m.Joined.Worktree == nil {
				continue
			}
			if d, err := results.Of(l.op).Diff(ctx, string(name), string(m.Name), results.DiffOptions{}); err == nil {
				added, deleted := d.Lines()
				all[tui.MemberKey{Team: string(name), Member: string(m.Name)}] = tui.Lines{Added: added, Deleted: deleted}
			}
		}
	}
	return tui.Seldom{Lines: all, Today: inspect.Of(l.op).Today(l.op.Minter.Now())}, nil
}

var _ tui.Source = (*Source)(nil)
