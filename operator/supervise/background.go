package supervise

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/process"
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
