package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// StopOptions are the settings of Stop and Down.
type StopOptions struct {
	Grace time.Duration       // for the handshake; 0 means 10 s
	Force bool                // no handshake
	Note  func(operator.Note) // may be nil
}

func (so StopOptions) note(n operator.Note) {
	if so.Note != nil {
		so.Note(n)
	}
}

// Stop ends one member. It asks the member, and asks again after a refusal, until the grace is
// over. Then it ends the member's processes by SIGTERM and SIGKILL to their groups, within ten
// seconds more, verifies and records the end. It works with and without a process that leads. A
// member that waggle does not run is asked once: its yes releases it at once, its no keeps it, and it is
// released when it does not answer within the grace. An entry that another program wrote into the
// registry is recorded as such a member first.
func (o Operator) Stop(ctx context.Context, name protocol.TeamName, member string, so StopOptions) (*MemberEnd, error) {
	o.Patience = endPatience
	end, err := o.stop(ctx, name, member, so)
	if err == nil || !operator.Broken(err) && !(so.Force && obstructed(ctx, err)) {
		return end, err
	}
	s, werr := o.remains(ctx, name, err)
	if werr != nil || s == nil {
		return nil, errors.Join(err, werr)
	}
	return o.stopDamaged(ctx, s, member, so)
}

func (o Operator) stop(ctx context.Context, name protocol.TeamName, member string, so StopOptions) (*MemberEnd, error) {
	s, err := o.Open(ctx, name, operator.Lead("stop"))
	if err != nil {
		return nil, err
	}
	m, err := o.memberOrEntry(ctx, s, member)
	if err != nil {
		return nil, err
	}
	so.Force = so.Force || m.InQueue() // nothing of it runs that could be asked
	r := o.Reporter(s, so.Note)
	r.Mute()
	Sweeps(s, so.Note)
	nudges, over, err := operator.Watch(ctx, 100*time.Millisecond, append(o.Boxes(s.Team).Dirs(), s.Dir.LeaderJournal(), s.Dir.JournalOf(string(m.Instance)))...)
	if err != nil {
		return nil, err
	}
	defer over()
	st := &stopping{o: o, s: s, m: m, nudges: nudges, report: r.Report}
	if !so.Force {
		err = st.ask(ctx, o.Minter.Now().Add(cmp.Or(so.Grace, GraceUsual)))
		if err == nil && m.Refuses() {
			return &MemberEnd{Member: string(m.Name), How: endStays, Step: "handshake", Rejected: m.Rejected, Answered: true}, nil
		}
	}
	rung := ""
	if err == nil && m.Left == nil {
		rung, err = st.end(ctx, so.Force)
	}
	if short(err) {
		return o.stopUnrecorded(ctx, s, m, so, err)
	}
	if err != nil {
		return nil, err
	}
	DropLeft(s)
	end := endOf(m)
	if rung != "" && end.How == record.LeftStopped {
		end.Step = rung
	}
	kept, err := o.settleWorktrees(ctx, s, m.Instance)
	if r.kept(kept); len(kept) > 0 {
		end.Worktree = &kept[0]
	}
	return &end, errors.Join(err, o.CloseTerminals(ctx, s, func(other *control.Member) bool { return other == m }))
}

// memberOrEntry finds a member by name, or an entry of the registry of that name.
func (o Operator) memberOrEntry(ctx context.Context, s *operator.State, name string) (*control.Member, error) {
	m, err := decide.Member(s, name)
	if err == nil {
		return m, nil
	}
	cfg, rerr := o.Registry(ctx, s.Team)
	if rerr != nil {
		return nil, err
	}
	e, ok := cfg.Member(protocol.MemberName(name))
	if !ok || e.Gone() || e.IsLead() {
		return nil, err
	}
	if err := o.register(ctx, s, *e); err != nil {
		return nil, err
	}
	return decide.Member(s, name)
}

// stopping is the end of one member in progress.
type stopping struct {
	o      Operator
	s      *operator.State
	m      *control.Member
	nudges <-chan struct{}
	report func()
}

// ask asks the member to end until it has, cannot receive the request, or the time is over; a member that
// waggle does not run, until it has answered.
func (st *stopping) ask(ctx context.Context, until time.Time) error {
	var asked time.Time
	words, done := context.WithTimeout(ctx, until.Sub(st.o.Minter.Now())+wordsWait)
	defer done()
	for {
		if now := st.o.Minter.Now(); asked.IsZero() || now.Sub(asked) >= askAgain && st.m.Trust != record.FileTrust {
			asked = now
			if err := st.order(ctx); err != nil {
				return err
			}
		}
		if _, err := st.o.Pass(words, st.s); unheld(words, err) != nil {
			return err
		}
		st.report()
		if ctx.Err() == nil && words.Err() != nil {
			return nil
		}
		if st.m.Left != nil || st.m.Died != nil || st.m.Refuses() || !st.o.Minter.Now().Before(until) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-st.nudges:
		}
	}
}

func (st *stopping) order(ctx context.Context) error {
	mint, err := st.o.Minter.Mint()
	if err != nil {
		return err
	}
	_, err = st.s.Journal.Append(ctx, st.o.Writer(), func() ([]journal.Draft, error) {
		return st.s.Lead.AskShutdown(st.m, "the operator stops you", policy.RoleOperator, mint)
	})
	return err
}

// end ends the processes, and waits until that is recorded.
func (st *stopping) end(ctx context.Context, force bool) (rung string, err error) {
	why := "it did not end by itself"
	if force {
		why = StopForced
	}
	if _, err = st.s.Journal.Append(ctx, st.o.Writer(), func() ([]journal.Draft, error) { return st.s.Lead.Stop(st.m, why), nil }); err != nil {
		return "", err
	}
	if rung, err = st.climb(ctx); err != nil {
		return "", err
	}
	ladder := st.o.Waits.Ladder()
	until := st.o.Minter.Now().Add(ladder.Term + ladder.Kill)
	for {
		words, done := context.WithTimeout(ctx, 3*wordsWait)
		_, err := st.o.Pass(words, st.s)
		err = unheld(words, err)
		done()
		if err != nil {
			return "", err
		}
		st.report()
		switch {
		case st.m.Left != nil:
			return rung, nil
		case st.m.Trust == record.FileTrust, st.m.Process == nil, !st.o.Minter.Now().Before(until) && !st.m.Process.ID.Inside:
			return rung, st.let(ctx, rung) // no other process records it
		case !st.o.Minter.Now().Before(until):
			return "", &operator.Error{Kind: operator.Failed, Op: "stop", Msg: fmt.Sprintf("%s runs inside process %d, which has not ended it", st.m.Name, st.m.Process.ID.PID),
				Next: operator.NextDownWithProcess.With()}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-st.nudges:
		}
	}
}

// climb ends the processes of a member that waggle runs, step by step, and records the last step,
// which the process that leads waits for.
func (st *stopping) climb(ctx context.Context) (rung string, err error) {
	p := st.m.Process
	if st.m.Trust == record.FileTrust || p != nil && p.ID.Inside {
		return spawn.RungGone, nil
	}
	g := st.o.Waits.Ladder()
	g.Input = func(ctx context.Context) error { return st.o.closeInput(ctx, st.s, p.ID) }
	if rung, err = st.o.endProcesses(ctx, st.s, st.m, g); err != nil {
		return "", err
	}
	_, err = st.s.Journal.Append(ctx, st.o.Writer(), func() ([]journal.Draft, error) { return st.s.Lead.Stopped(st.m, rung), nil })
	return rung, err
}

// notOurs explains that waggle does not signal the process.
func notOurs(m *control.Member, err error) error {
	if !errors.Is(err, spawn.ErrNotOurs) {
		return err
	}
	return &operator.Error{Kind: operator.Refused, Op: "stop", Msg: fmt.Sprintf("%s is not ended: %v", m.Name, err),
		Advice: "this command runs inside of it, or somebody else runs it: end it where it was started"}
}

// let records the end of the member, and releases its tasks and worktree.
func (st *stopping) let(ctx context.Context, rung string) error {
	_, err := st.s.Journal.Append(ctx, st.o.Writer(), func() ([]journal.Draft, error) { return st.s.Lead.Let(st.m, st.m.How(), rung), nil })
	if err != nil {
		return err
	}
	words, done := context.WithTimeout(ctx, wordsWait)
	defer done()
	_, err = st.o.Pass(words, st.s)
	return unheld(words, err)
}

// DownResult is how a team ended.
type DownResult struct {
	Team    string      `json:"team"`
	State   string      `json:"state"` // ended
	Members []MemberEnd `json:"members"`
	Archive string      `json:"archive"`
	// Worktrees are the kept worktrees of its members.
	Worktrees []operator.KeptWorktree `json:"worktrees"`
	// Broken: the leader's journal was broken and is set aside; nothing is known of what was ordered in it.
	Broken bool `json:"-"`
}

// Kind is the outcome: None, every member that could be asked agreed, or none was asked; Refused,
// one refused and was ended or let go; Timeout, one did not answer in time and was ended or let go.
func (d *DownResult) Kind() operator.Kind {
	kind := operator.None
	for _, m := range d.Members {
		if k := m.Kind(); k == operator.Refused || k == operator.Timeout && kind == operator.None {
			kind = k
		}
	}
	return kind
}

// Down ends a team: every member by handshake within the grace, then by signal. A process that
// leads the team is asked to do so; one that does not is ended by its recorded identity. The team's
// files are archived.
//
// With Force it needs only the process records: where the journal, or a lock, cannot be used, it
// ends every recorded process, and moves the whole journals aside.
func (o Operator) Down(ctx context.Context, name protocol.TeamName, so StopOptions) (*DownResult, error) {
	o.Patience = endPatience
	d, err := o.down(ctx, name, so)
	if err == nil || !so.Force || !obstructed(ctx, err) {
		return d, err
	}
	s, werr := o.remains(ctx, name, err)
	if werr != nil || s == nil {
		return nil, errors.Join(err, werr)
	}
	return o.EndDamaged(ctx, s, so)
}

func (o Operator) down(ctx context.Context, name protocol.TeamName, so StopOptions) (*DownResult, error) {
	if s, err := o.OpenDamaged(ctx, name); s != nil || err != nil {
		switch {
		case err != nil:
			return nil, err
		case !so.Force:
			return nil, operator.Unreadable("down", name, s.Damaged)
		}
		return o.EndDamaged(ctx, s, so)
	}
	s, err := o.Open(ctx, name, operator.Command("down"))
	if err != nil {
		return nil, err
	}
	Sweeps(s, so.Note)
	gone := map[record.Instance]bool{}
	for _, m := range s.Lead.Members {
		gone[m.Instance] = m.Left != nil
	}
	entries := o.listed(ctx, s)
	if err := o.bringDown(ctx, s, so); short(err) && (poll.Lack(err) != nil || len(s.Lead.Live()) > 0) {
		return o.downUnrecorded(ctx, s, so, err)
	} else if err != nil {
		return nil, err
	}
	if !s.Tidied { // the process that led has handled them, and noted nothing here
		if err := o.TidyWorktrees(ctx, o.Reporter(s, so.Note)); err != nil {
			return nil, err
		}
	}
	d := &DownResult{Team: string(name), State: "ended", Members: []MemberEnd{}, Archive: s.Dir.Archive(), Worktrees: append([]operator.KeptWorktree{}, s.Kept...)}
	for _, m := range s.Lead.Members {
		if !gone[m.Instance] {
			d.Members = append(d.Members, endOf(m))
		}
	}
	for _, m := range entries {
		if _, known := s.Lead.Member(m.Name); !known {
			d.Members = append(d.Members, MemberEnd{Member: string(m.Name), How: endListed, Step: spawn.RungGone})
		}
	}
	return d, nil
}

func (o Operator) bringDown(ctx context.Context, s *operator.State, so StopOptions) error {
	led, err := o.IsLed(s)
	if err != nil {
		return err
	}
	if led {
		if done, err := o.endLed(ctx, s, so); done || err != nil {
			return err
		}
	}
	if so.Force {
		if err := o.FreeLease(ctx, s); err != nil {
			return err
		}
	}
	if err := o.EndAll(ctx, s, so.Grace, so.Force, so.Note); err != nil {
		return err
	}
	_, err = o.Archive(ctx, s, EndedDown)
	return errors.Join(err, o.Sweep(ctx, s, so.Note), s.Journal.Refresh(ctx))
}

// IsLed reports whether a process holds the leader lease.
func (o Operator) IsLed(s *operator.State) (bool, error) {
	release, held, err := s.Dir.TryLead()
	if err != nil || !held {
		return err == nil, err
	}
	return false, release()
}

// endLed has the process that leads end the team; done reports that it has. A process that does not
// in time is ended.
func (o Operator) endLed(ctx context.Context, s *operator.State, so StopOptions) (done bool, err error) {
	if s.Lead.Led == nil || !s.Lead.Led.ID.Alive() {
		if o.Await(ctx, leaseWait, func() bool { led, err := o.IsLed(s); return err == nil && !led }) {
			return false, nil // the process led for one pass only
		}
		return false, &operator.Error{Kind: operator.Locked, Op: "down", Msg: fmt.Sprintf("team %s is led by a process that is not on record", s.Team), Advice: "end that program first"}
	}
	grace := cmp.Or(so.Grace, GraceUsual)
	if err := s.Put(ctx, o.Writer(), record.KindEnding, record.Ending{Reason: "the operator ends the team", Grace: grace.Milliseconds(), Force: so.Force}); err != nil {
		return false, err
	}
	r := o.Reporter(s, so.Note)
	r.Mute()
	leading := s.Lead.Led.ID
	ladder := o.Waits.Ladder()
	limit := ladder.Term + 3*ladder.Kill + 5*time.Second
	if !so.Force {
		limit += grace
	}
	ended, own := false, leading.PID == o.PID // this program leads the team, and continues after its end
	var free time.Time                        // when the lease became free; zero: it is held
	o.Await(ctx, limit, func() bool {
		if s.Journal.Refresh(ctx) == nil {
			r.Report()
		}
		if own {
			led, err := o.IsLed(s)
			now := o.Minter.Now()
			switch {
			case err != nil || led:
				free = time.Time{}
			case free.IsZero():
				free = now
			}
			// The leader releases the lease before it archives the team.
			ended = o.away(s) || !free.IsZero() && now.Sub(free) > leaseWait
			return ended
		}
		life, err := leading.State()
		ended = err == nil && life == spawn.Gone
		return ended || err == nil && life == spawn.Stopped // a stopped process does nothing more
	})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	switch {
	case ended:
	case own:
		return false, &operator.Error{Kind: operator.Timeout, Op: "down", Msg: fmt.Sprintf("this program leads team %s and has not ended it in time", s.Team)}
	default:
		if _, err := spawn.Stop(ctx, leading, ladder); err != nil {
			return false, fmt.Errorf("the process that leads: %w", err)
		}
	}
	if err := s.Journal.Refresh(ctx); err != nil {
		return false, err
	}
	r.Report()
	if !o.away(s) {
		return false, nil
	}
	return true, o.Sweep(ctx, s, so.Note)
}

// away reports that the team has ended and was archived.
func (o Operator) away(s *operator.State) bool {
	_, err := team.Open(o.Root, s.Team, team.Options{})
	_, gone := errors.AsType[*team.NotFoundError](err)
	return s.Lead.Ended != nil && gone
}

// EndAll leads a team for the duration of its end.
func (o Operator) EndAll(ctx context.Context, s *operator.State, grace time.Duration, force bool, note func(operator.Note)) error {
	if s.Lead.Ended != nil {
		return nil
	}
	l, err := o.Lead(ctx, s)
	if err != nil {
		return fmt.Errorf("team %s: %w: end that run instead (Ctrl-C, or its --timeout)", s.Team, err)
	}
	r := o.Reporter(s, note)
	r.Mute()
	Sweeps(s, note)
	err = o.EndTeam(ctx, l, s, TeamEnd{Reason: "the operator ends the team", Grace: cmp.Or(grace, GraceUsual), Force: force}, r.Report)
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	return errors.Join(err, o.CloseTerminals(ctx, s, AllRead), o.TidyWorktrees(ctx, r))
}
