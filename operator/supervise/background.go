package supervise

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// backgroundLook is how often the journal is read while another process starts to lead.
const backgroundLook = 20 * time.Millisecond

// Background is a process that is to lead a team without a terminal.
type Background struct {
	Argv []string // the program and its arguments; it leads the team until that ends
	Env  []string
	Note func(operator.Note) // gets the starts of members, and what is to know of their new worktrees
}

// LeaderEndedError reports that the process ended before it led.
type LeaderEndedError struct {
	Exit spawn.Exit
	Log  string // the path of its output
	Last string // the last lines of that, as one line
}

func (e *LeaderEndedError) Error() string { return "the process that leads has ended: " + e.Last }

// Background starts a process that leads the team and waits until the journal says that it does:
// all members are ready then. When ctx ends first, the process is ended.
func (o Operator) Background(ctx context.Context, s *operator.State, b Background) error {
	if len(b.Argv) == 0 {
		return &operator.Error{Kind: operator.Usage, Op: "lead", Msg: fmt.Sprintf("no program is named that leads team %s", s.Team)}
	}
	process.Of(o.Operator).NoteMade(ctx, s, b.Note)
	log := filepath.Join(s.Dir.Path, "leader.log")
	p, err := spawn.ProcessBackend().Start(ctx, spawn.Spec{Argv: b.Argv, Env: b.Env, Log: log})
	if err != nil {
		return err
	}
	tick := time.NewTicker(backgroundLook)
	defer tick.Stop()
	var noted starts
	var blind time.Time // since when the journal cannot be read
	for {
		switch err := s.Journal.Refresh(ctx); {
		case err == nil:
			blind = time.Time{}
			if noted == nil {
				noted = startsSeen(s)
			}
			noted.report(s, b.Note)
			if l := s.Lead.Led; l != nil && l.Up && l.ID == p.Identity() {
				return nil
			}
		case ctx.Err() == nil && !operator.Passing(err):
			return err
		case blind.IsZero():
			blind = o.Minter.Now()
		case ctx.Err() == nil && o.Minter.Now().Sub(blind) > readyWait: // nobody would learn that it leads
			_, serr := p.Stop(ctx, spawn.Grace{})
			return errors.Join(lacking(err), serr)
		}
		select {
		case <-ctx.Done():
			_, err := p.Stop(context.WithoutCancel(ctx), spawn.Grace{})
			return errors.Join(ctx.Err(), err)
		case <-p.Done():
			return &LeaderEndedError{Exit: p.Exit(), Log: log, Last: LastLines(log, 4)}
		case <-tick.C:
		}
	}
}

// starts are the members whose start was noted, or that ran before.
type starts map[record.Instance]bool

func startsSeen(s *operator.State) starts {
	seen := starts{}
	for _, m := range s.Lead.Live() {
		seen[m.Instance] = m.Process != nil && m.Process.ID.Alive()
	}
	return seen
}

// report notes the start of each member once.
func (seen starts) report(s *operator.State, note func(operator.Note)) {
	for _, m := range s.Lead.Live() {
		if m.Process == nil || !m.Process.ID.Alive() || seen[m.Instance] {
			continue
		}
		seen[m.Instance] = true
		if note != nil {
			note(operator.Note{What: "started", Member: string(m.Name), Text: fmt.Sprintf("pid %d, %s", m.Process.ID.PID, m.Backend)})
		}
	}
}

// Detach asks the process that leads a team to hand it to one without a terminal, and waits until
// that leads.
func (o Operator) Detach(ctx context.Context, name protocol.TeamName) (*operator.State, error) {
	s, err := o.Open(ctx, name, operator.Command("detach"))
	if err != nil {
		return nil, err
	}
	led, err := process.Of(o.Operator).IsLed(s)
	if err != nil {
		return nil, err
	}
	l := s.Lead.Led
	switch {
	case !led || l == nil || !l.ID.Alive():
		return nil, &operator.Error{Kind: operator.NotFound, Op: "detach", Msg: fmt.Sprintf("no process leads team %s", name), Next: operator.Next{Step: operator.NextResume, Team: name}}
	case l.Run:
		return nil, &operator.Error{Kind: operator.Refused, Op: "detach", Msg: "that process runs a job to completion and stays with it", Next: operator.NextUp.With()}
	case l.Detached:
		return s, nil
	}
	if err := o.handOver(ctx, s); err != nil {
		return nil, err
	}
	if process.Of(o.Operator).Await(ctx, handOverWait, func() bool {
		err = s.Journal.Refresh(ctx)
		return err != nil || s.Lead.Led.ID != l.ID && s.Lead.Led.Detached && s.Lead.Led.ID.Alive()
	}) {
		return s, err
	}
	return s, &operator.Error{Kind: operator.Timeout, Op: "detach", Msg: "the process that leads has not handed over", Next: operator.Next{Step: operator.NextStatusTeam, Team: s.Team}}
}

// LeaveTerminal is Detach for the process that leads, after its terminal is gone: its Keep ends
// with LedDetached as soon as the team is up. A team with members inside of this process cannot be
// handed over.
func (o Operator) LeaveTerminal(ctx context.Context, s *operator.State) error {
	now, err := o.Open(ctx, s.Team, operator.Act) // Keep uses the other State
	if err != nil {
		return err
	}
	return o.handOver(ctx, now)
}

// handOverWait is how long the process that leads may take to hand over.
const handOverWait = readyWait

// handOver asks the leading process to release the lease.
func (o Operator) handOver(ctx context.Context, s *operator.State) error {
	if err := inside(s, "detach", "backend: process gives it a process of its own"); err != nil {
		return err
	}
	return s.Put(ctx, o.Writer(), record.KindDetached, record.Detached{})
}

// TakeLead lets this process lead: a process in the background that leads is asked to release the
// lease, and leaves the members running. One with a terminal keeps it.
func (o Operator) TakeLead(ctx context.Context, s *operator.State) error {
	if err := o.Guard(ctx, s, "attach"); err != nil {
		return err
	}
	l := s.Lead.Led
	led, err := process.Of(o.Operator).IsLed(s)
	if err != nil || !led {
		return err
	}
	if l == nil || !l.ID.Alive() || !l.Detached {
		return &operator.Error{Kind: operator.Locked, Op: "attach", Msg: fmt.Sprintf("team %s is led in another terminal%s", s.Team, pidOf(l)), Next: operator.Next{Step: operator.NextDetach, Team: s.Team}}
	}
	if err := inside(s, "attach", ""); err != nil {
		return err
	}
	if _, err := spawn.Stop(ctx, l.ID, spawn.Grace{Term: handOverWait}); err != nil {
		return fmt.Errorf("the process that leads: %w", err)
	}
	return s.Journal.Refresh(ctx)
}

func pidOf(l *record.LeadingProcess) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", by process %d", l.ID.PID)
}

// inside refuses op when a member runs inside the process that leads.
func inside(s *operator.State, op, advice string) error {
	for _, m := range s.Lead.Live() {
		if m.Process != nil && m.Process.ID.Inside && m.Process.ID.Alive() {
			return &operator.Error{Kind: operator.Refused, Op: op, Msg: fmt.Sprintf("%s lives inside the process that leads, and would end with it", m.Name), Advice: advice}
		}
	}
	return nil
}
