package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"waggle/control"
	"waggle/internal/commands"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
	"waggle/team"
)

// GraceUsual is the default time for members to end by handshake.
const GraceUsual = 10 * time.Second

// Time limits for the processes that a member's processes have left behind. A killed process with much memory
// needs time to be gone on a busy machine: a start of its member, which cannot be beside it, waits longer.
var (
	leftovers = spawn.Grace{Term: 500 * time.Millisecond, Kill: 1500 * time.Millisecond}
	inTheWay  = spawn.Grace{Term: leftovers.Term, Kill: 15 * time.Second}
)

// askAgain is the pause between a rejected shutdown and the next request.
const askAgain = time.Second

// MemberEnd is how a member ended.
type MemberEnd struct {
	Member string `json:"member"`
	How    string `json:"how"` // handshake, stopped, died; released: waggle does not run it; stays: so, and it refused; listed: only the registry has it, and it was not asked
	// Step is the last step that was needed: handshake, stdin, term, kill; gone when it had ended
	// by itself.
	Step     string `json:"step"`
	Rejected string `json:"rejected"` // why it rejected its shutdown; "" without a reason
	Forced   bool   `json:"forced"`   // it was not asked
	Answered bool   `json:"answered"` // it answered its shutdown request
	// Worktree is its worktree when that was kept; null: it has none any more.
	Worktree *operator.KeptWorktree `json:"worktree"`
	Queued   bool                   `json:"-"` // it was in the queue, and had not started
}

// Kind is the outcome: None, it agreed, or was not asked; Refused, it refused, and was ended or stays;
// Timeout, it did not answer in time, and was ended or let go; Died, it was dead already.
func (e MemberEnd) Kind() operator.Kind {
	switch {
	case e.How == record.LeftDied:
		return operator.Died
	case e.Forced, e.How != record.LeftStopped && e.How != record.LeftReleased && e.How != endStays:
		return operator.None
	case e.Rejected != "":
		return operator.Refused
	}
	return operator.Timeout
}

// endOf returns how a member that has left ended.
func endOf(m *control.Member) MemberEnd {
	e := MemberEnd{Member: string(m.Name), Rejected: m.Rejected}
	if m.Left == nil {
		return e
	}
	e.How, e.Step = m.Left.How, cmp.Or(m.Left.Detail, spawn.RungGone)
	switch {
	case e.How == record.LeftHandshake:
		e.Step, e.Rejected = "handshake", ""
	case e.How == record.LeftDied:
		e.Step = spawn.RungGone
	}
	e.Answered = e.How == record.LeftHandshake || e.Rejected != ""
	e.Queued = m.Joined.Queued && !m.Begun && m.Process == nil
	e.Forced = m.Stopping != nil && m.Stopping.Why == StopForced
	return e
}

// Hows of a MemberEnd that are no record.LeftHandshake and the like, for there is no record of the end.
const (
	endListed = "listed" // an entry of the registry that was not asked
	endStays  = "stays"  // waggle does not run it, and it refused
)

// listed returns the entries of a team's registry that have no record here: other programs made them.
func (o Operator) listed(ctx context.Context, s *operator.State) (ms []team.Member) {
	cfg, err := o.Registry(ctx, s.Team)
	if err != nil {
		return nil // the end of a team needs no registry
	}
	for _, m := range cfg.Members {
		known, ok := s.Lead.Member(m.Name)
		fresh := !ok || known.Left != nil && m.JoinedAt.After(known.LeftAt)
		if fresh && !m.Gone() && !m.IsLead() {
			ms = append(ms, m)
		}
	}
	return ms
}

// register records that entries of the registry are members of other programs, so that they can be
// asked to end and heard.
func (o Operator) register(ctx context.Context, s *operator.State, entries ...team.Member) error {
	for _, m := range entries {
		if err := mail.Of(o.Operator).Enlist(ctx, s, m); err != nil {
			return err
		}
	}
	return nil
}

// StopForced is the reason of an end without a handshake.
const StopForced = "by force"

// TeamEnd are the settings of the end of a team.
type TeamEnd struct {
	Reason string
	Grace  time.Duration
	Force  bool
	Hurry  <-chan struct{} // closed: the grace is over; may be nil
}

// EndTeam denies the open requests, asks every present member to end, and stops those that have not ended within the
// grace, all at the same time; by force it asks none. report is called at the end.
func (o Operator) EndTeam(ctx context.Context, l *leader.Leader, s *operator.State, e TeamEnd, report func()) error {
	if err := s.Journal.Refresh(ctx); operator.Broken(err) {
		return o.endHeld(ctx, s, err)
	}
	var errs []error
	limit, ask := wordsWait, func(context.Context) error { return nil }
	if e.Force {
		_, err := s.Journal.Append(ctx, o.Writer(), func() (ds []journal.Draft, err error) {
			for _, m := range s.Lead.Live() {
				ds = append(ds, s.Lead.Stop(m, StopForced)...)
			}
			return ds, nil
		})
		errs = append(errs, err)
	} else {
		nudges, end, err := operator.Watch(ctx, 100*time.Millisecond, append(o.Boxes(s.Team).Dirs(), s.Dir.LeaderJournal())...)
		if err != nil {
			return err
		}
		defer end()
		limit += e.Grace
		ask = func(words context.Context) error {
			return errors.Join(unheld(words, o.handshakes(words, l, e, nudges)), ctx.Err())
		}
		errs = append(errs, o.register(ctx, s, o.listed(ctx, s)...))
	}
	// A held mailbox lock delays the messages at most by wordsWait, and the end not at all.
	words, done := context.WithTimeout(ctx, limit)
	errs = append(errs, l.Refresh(ctx), unheld(words, l.Deny(words)), ask(words))
	done()
	errs = append(errs, o.endRest(ctx, l, s), s.Journal.Refresh(ctx), o.CloseTerminals(ctx, s, Unread))
	DropLeft(s)
	report()
	return errors.Join(errs...)
}

// wordsWait is how much longer than the grace the messages to members may take.
const wordsWait = 500 * time.Millisecond

// unheld leaves out an error that comes from the time limit for messages.
func unheld(words context.Context, err error) error {
	if words.Err() != nil || operator.Passing(err) {
		return nil
	}
	return err
}

// handshakes asks every present member to end until all have, or the time is over.
func (o Operator) handshakes(ctx context.Context, l *leader.Leader, e TeamEnd, nudges <-chan struct{}) error {
	until := o.Minter.Now().Add(e.Grace)
	asked := map[protocol.MemberName]time.Time{}
	var errs []error
	for {
		if err := l.Pass(ctx); err != nil && !operator.Passing(err) {
			return errors.Join(append(errs, err)...)
		}
		var live []*control.Member
		l.View(func(lead *control.Leader) { live = lead.Live() })
		live = slices.DeleteFunc(live, func(m *control.Member) bool {
			return !answers(m, l) || m.Refuses() && !asked[m.Name].IsZero()
		})
		if len(live) == 0 || !o.Minter.Now().Before(until) {
			return errors.Join(errs...)
		}
		for _, m := range live {
			// A member of ours that said no is asked again, but not at once.
			if o.Minter.Now().Before(asked[m.Name].Add(askAgain)) {
				continue
			}
			asked[m.Name] = o.Minter.Now()
			if err := l.Shutdown(ctx, m.Name, e.Reason, policy.RoleOperator); err != nil {
				errs = append(errs, err)
			}
		}
		select {
		case <-nudges:
		case <-e.Hurry:
			return errors.Join(errs...)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answers reports a member that can be asked to end: it has come up, or may still, and has not
// died.
func answers(m *control.Member, l *leader.Leader) bool {
	if m.Trust == record.FileTrust {
		return m.Died == nil && m.Stopping == nil
	}
	return m.Died == nil && m.Stopping == nil && (m.Process != nil || l.Started(m.Instance))
}

// endRest ends the remaining members, each with its own time limits.
func (o Operator) endRest(ctx context.Context, l *leader.Leader, s *operator.State) error {
	var rest []*control.Member
	l.View(func(lead *control.Leader) { rest = lead.Live() })
	_, err := atOnce(rest, func(m *control.Member) (string, error) {
		g := o.Waits.Ladder()
		g.Apart = o.apart(s, m)
		_, err := l.Stop(ctx, m.Name, g)
		return "", notStopped(m, err)
	})
	return err
}

// atOnce ends all of a list at the same time, and returns the step that each needed.
func atOnce[T any](list []T, end func(T) (rung string, err error)) ([]string, error) {
	rungs, errs := make([]string, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	for i, one := range list {
		wg.Go(func() { rungs[i], errs[i] = end(one) })
	}
	wg.Wait()
	return rungs, errors.Join(errs...)
}

// notStopped names the member in an error of its end.
func notStopped(m *control.Member, err error) error {
	if err != nil {
		err = fmt.Errorf("stop %s: %w", m.Name, err)
	}
	return err
}

// closeInput closes the input of a member's process, when it has a terminal.
func (o Operator) closeInput(ctx context.Context, s *operator.State, id spawn.Identity) error {
	list, err := o.Terminals(s)
	for _, h := range list {
		if h.Process == id {
			return terminal.CloseInput(ctx, h.Place)
		}
	}
	return cmp.Or(err, errNoTerminal)
}

var errNoTerminal = errors.New("it has no terminal")

// endProcesses ends the process of a member, step by step, unless it is inside another, and what the member has left.
// It returns the hardest step.
func (o Operator) endProcesses(ctx context.Context, s *operator.State, m *control.Member, g spawn.Grace) (rung string, err error) {
	rung = spawn.RungGone
	if m.Trust == record.FileTrust {
		return rung, nil
	}
	if p := m.Process; p != nil && !p.ID.Inside {
		g.Apart = o.apart(s, m)
		if rung, err = spawn.StopTree(ctx, p.ID, g); err != nil {
			return "", notOurs(m, err)
		}
	}
	rest, err := o.endMarked(ctx, s, m)
	return spawn.Harder(rung, rest), err
}

// apart records what runs below a member's process in a group of its own, so that an end that is cut short can be
// finished: it has no other mark when it has cleared its environment.
func (o Operator) apart(s *operator.State, m *control.Member) func(spawn.Identity) {
	return func(id spawn.Identity) {
		if err := commands.Apart(s.Dir, m.Instance, id); err != nil && o.Log != nil {
			o.Log.Warn("a process of a member is not on record", "member", m.Name, "pid", id.PID, "err", err)
		}
	}
}

// endMarked ends the processes that carry a member's mark and descend from the member: they have
// left the tree of its process, or that process has written no record. A process that carries the
// mark below another program is kept and noted. Holders of terminals end by themselves after their
// process.
func (o Operator) endMarked(ctx context.Context, s *operator.State, m *control.Member) (rung string, err error) {
	const why = "it was left behind by its member, which ends"
	rung = spawn.RungGone
	if m.Trust == record.FileTrust {
		return rung, nil
	}
	if rung, err = o.endGroups(ctx, s, m); err != nil {
		return rung, err
	}
	defer func() { // last: it kills without a grace
		r, cerr := o.endCgroup(ctx, s, m, why)
		rung, err = spawn.Harder(rung, r), errors.Join(err, cerr)
	}()
	const rounds = 3 // a process that is being ended may start another
	for range rounds {
		left, err := o.ownMarked(s, m, spawn.AllMarked)
		if len(left) == 0 || err != nil {
			return rung, err
		}
		rungs, err := atOnce(left, func(p spawn.Marked) (string, error) {
			return endLeft(ctx, s, m, p.ID, p.Argv, leftovers, why)
		})
		for _, r := range rungs {
			rung = spawn.Harder(rung, r)
		}
		if err != nil {
			return rung, err
		}
	}
	return rung, nil
}
