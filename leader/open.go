package leader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"waggle/agent"
	"waggle/boxes"
	"waggle/control"
	"waggle/home"
	"waggle/internal/backoff"
	"waggle/internal/telemetry"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/team"
	"waggle/transport"
)

// Options say which team to lead. Wait, Sockets, Log and
// Observe may be zero.
type Options struct {
	Root   team.Root
	State  home.Dir
	Team   protocol.TeamName
	Minter poll.Minter
	Writer journal.Writer // Operator for a command's pass; the lead's instance for a leader
	// Wait is how long to try for the lease. 0: not at all for a command's pass,
	// 3 s for a leader, which a passing command must not keep from leading.
	Wait time.Duration
	// Patience is how long to wait for the lock of the leader's journal; 0: 5 s.
	Patience time.Duration
	// Sockets is where a leader serves the lead's and the operator's sockets until
	// Close; zero: nowhere.
	Sockets transport.SocketDirs
	// Who names the sessions whose messages come to the sockets (transport.SocketOptions).
	Who                func(transport.Peer) string
	Log                *slog.Logger
	Dismiss, Supervise bool // Parts
	Input              func(context.Context, spawn.Identity) error
	Rest               func(context.Context, *control.Member) (rung string, err error)
	// Agent answers the requests that the policy gives to the lead; nil: they wait for the
	// operator.
	Agent agent.Decider
	// Leading does for the lead's agent what needs more than the journal; nil: only the operator
	// does that.
	Leading Leading
	// Observe gets every transition of the team's machines, once, from the process that leads; nil:
	// no observer (package telemetry).
	Observe machine.Observer
}

// ErrLeading: another process holds the leader lease.
var ErrLeading = errors.New("another process leads this team")

// lease tries for the leader lease.
func lease(ctx context.Context, o Options) (release func() error, err error) {
	if o.Wait == 0 && !o.Writer.Operator {
		o.Wait = 3 * time.Second
	}
	late := time.NewTimer(o.Wait)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		release, held, err := o.State.TryLead()
		if err != nil {
			return nil, fmt.Errorf("leader: lease: %w", err)
		}
		if held {
			return release, nil
		}
		if o.Wait <= 0 {
			return nil, ErrLeading
		}
		select {
		case <-again.C:
		case <-late.C:
			return nil, ErrLeading
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// sendDeadline is how long a locked mailbox may hold up a pass.
const sendDeadline = time.Second

// Open takes the leader lease and opens the team.
func Open(ctx context.Context, o Options) (_ *Leader, err error) {
	o.State.Mend(o.Minter.Now())
	release, err := lease(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, release())
		}
	}()
	fold := control.NewLeader(nil)
	// A leader acts on it for long; a command's pass does not.
	j, err := o.State.OpenJournal(journal.Leader, fold, journal.Options{Now: o.Minter.Now, Deadline: o.Patience, Whole: !o.Writer.Operator})
	if err != nil {
		return nil, err
	}
	mail := boxes.Of(o.Root, o.Team)
	if _, moving, _ := mail.Moving(); moving { // waggle doctor names an intent that cannot be read
		if err := mail.Finish(ctx, mailbox.Options{Report: poll.LogReports(o.Log)}); err != nil {
			return nil, fmt.Errorf("leader: a change of the mailboxes' layout was cut short: %w", err)
		}
	}
	p := Parts{Journal: j, Fold: fold, Writer: o.Writer, Minter: o.Minter, Mark: true, Dismiss: o.Dismiss, Supervise: o.Supervise, Log: o.Log}
	box, err := mail.Open(protocol.Lead, mailbox.Options{Report: poll.LogReports(o.Log), Archive: boxes.Kept(o.Team, o.State.Archive(), protocol.Lead), Deadline: sendDeadline})
	if err != nil {
		return nil, err
	}
	watched := poll.Watch(box, boxes.WatchOptions{Dir: o.Root.TeamDir(o.Team), Archive: o.State.Archive(), Name: protocol.Lead,
		Now: o.Minter.Now, Tree: true, Gone: fold.Noticed.Missing(), Boxes: mail, Aside: o.State.Quarantine()}, o.Log)
	p.Box, p.CheckDirectory = watched, watched.Check
	p.Member = func(name protocol.MemberName) (mailbox.Store, error) {
		return mail.Open(name, mailbox.Options{Report: poll.LogReports(o.Log), Deadline: sendDeadline})
	}
	p.Peers = peersOf(o)
	p.Gone = func(ctx context.Context, m *control.Member) error { return gone(ctx, o, m) }
	p.Refusal = func(m *control.Member) string { return refusal(o, m) }
	p.Lost = func(ctx context.Context, m *control.Member, forsaken bool) error { return lost(ctx, o, m, forsaken) }
	p.Others = func(ctx context.Context) ([]protocol.MemberName, error) { return registered(ctx, o) }
	tended := &book{o: o, log: p.Log, again: backoff.Backoff{First: tendEvery, Most: tendMost}}
	p.Tend = tended.tend
	p.Agent, p.Leading, p.Input, p.Rest = o.Agent, o.Leading, o.Input, o.Rest
	if o.Observe != nil {
		f, err := telemetry.NewFollower(o.State.Journals(), o.State.ObserverCursor(), o.Observe)
		if err != nil {
			return nil, err
		}
		p.Follow = f.Pass
	}
	l := New(p)
	l.close = []func() error{release, func() error {
		if o.Writer.Operator {
			return nil
		}
		return o.State.LeftLead()
	}, func() error {
		l.passing.Lock()
		defer l.passing.Unlock()
		l.follow(context.WithoutCancel(ctx)) // records after the last pass
		return nil
	}}
	l.listen(o)
	return l, nil
}

func peersOf(o Options) Peers {
	return func(i record.Instance) (journal.Journal, *control.Worker, error) {
		w := control.NewWorker(nil)
		j, err := o.State.OpenJournal(journal.Name(i), w, journal.Options{Now: o.Minter.Now})
		return j, w, err
	}
}

// registry reads the registry; nil: there is none, the team was archived or deleted.
func registry(ctx context.Context, o Options) (reg *team.Team, c *team.Config, err error) {
	reg, err = team.Open(o.Root, o.Team, team.Options{Deadline: shortly})
	if _, missing := errors.AsType[*team.NotFoundError](err); missing {
		return nil, nil, nil
	}
	if err == nil {
		c, err = reg.Load(ctx)
	}
	return reg, c, err
}

// registered lists the members of the registry but for the lead.
func registered(ctx context.Context, o Options) ([]protocol.MemberName, error) {
	_, c, err := registry(ctx, o)
	if c == nil || err != nil {
		return nil, err
	}
	return slices.DeleteFunc(c.Present(), func(name protocol.MemberName) bool { return protocol.SameName(name, protocol.Lead) }), nil
}

// gone gives back a departed member's tasks, shows how it ended, and removes its entry from the
// registry, in this order: when the registry lacks the entry, everything is done.
func gone(ctx context.Context, o Options, m *control.Member) error {
	reg, c, err := registry(ctx, o)
	if c == nil || err != nil {
		return err
	}
	entry, ok := c.Member(m.Name)
	now := o.Minter.Now()
	if !ok || entry.Gone() || entry.JoinedAt.After(m.LeftAt) && !entry.JoinedAt.After(now) { // the clock of who wrote it may be ahead
		return nil
	}
	board, err := task.Open(o.Root.TasksDir(o.Team), o.Team, task.Options{Deadline: shortly})
	if err != nil {
		return err
	}
	last := func(s *task.State) {
		s.Status, s.CompletedAt = task.MemberComplete, protocol.FormatTime(m.LeftAt)
		if m.Left.How != record.LeftHandshake {
			s.Status, s.CompletedAt, s.ErrorMessage = task.MemberError, "", ending(m.Left)
		}
	}
	if m.Leads() { // the lead stays in the registry, and its tasks are the operator's too
		return lastStatus(board.MemberDir(m.Name), last)
	}
	if _, err := board.ReleaseNoted(ctx, m.Name, task.NewReleased(m.Name, ending(m.Left), m.LeftAt)); err != nil {
		return err
	}
	if err := lastStatus(board.MemberDir(m.Name), last); err != nil && o.Log != nil {
		o.Log.Warn("task-status.json does not show that the member ended", "member", m.Name, "err", err)
	}
	return reg.Remove(ctx, m.Name, now)
}

// refusal is what a member's process has left in task-status.json about why it did not start; "": nothing.
func refusal(o Options, m *control.Member) string {
	s, err := task.ReadState(o.Root.MemberDir(o.Team, m.Name))
	if err != nil || s.Status != task.MemberError {
		return ""
	}
	return strings.TrimPrefix(s.ErrorMessage, "worker "+string(m.Name)+": ")
}

// lost shows that a member has died and is not started again, and gives back the tasks of a
// forsaken one. It stays a member: one that a person restarts takes the tasks that nobody else has
// taken by then (package worker).
func lost(ctx context.Context, o Options, m *control.Member, forsaken bool) error {
	board, err := task.Open(o.Root.TasksDir(o.Team), o.Team, task.Options{Deadline: shortly})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the team was archived or deleted
	}
	if err != nil {
		return err
	}
	why := "died, and nobody starts it again"
	if m.Died.Detail != "" {
		why += ": " + m.Died.Detail
	}
	if forsaken && !m.Leads() {
		if _, err := board.ReleaseNoted(ctx, m.Name, task.NewReleased(m.Name, why, m.DiedAt)); err != nil {
			return err
		}
	}
	err = lastStatus(board.MemberDir(m.Name), func(s *task.State) { s.Status, s.CompletedAt, s.ErrorMessage = task.MemberError, "", why })
	if err != nil && o.Log != nil {
		o.Log.Warn("task-status.json does not show that the member died", "member", m.Name, "err", err)
	}
	return nil
}

// ending says in words how a member ended.
func ending(l *record.Left) string {
	s := map[string]string{record.LeftHandshake: "ended", record.LeftStopped: "was stopped", record.LeftDied: "died",
		record.LeftReplaced: "was replaced", record.LeftReleased: "was let go"}[l.How]
	switch {
	case s == "":
		s = "left: " + l.How
	case l.Detail != "" && l.How != record.LeftHandshake:
		s += ": " + l.Detail
	}
	return s
}

// lastStatus changes the status of a member whose own process has ended without its last one.
func lastStatus(dir string, last func(*task.State)) error {
	s, err := task.ReadState(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case s.Status != task.MemberRunning && s.Status != task.MemberIdle:
		return nil
	}
	last(&s)
	return task.WriteState(dir, s)
}
