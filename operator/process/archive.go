package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/worker"
)

// Values of record.Ended.How, beside record.LeftReplaced: the reason of a team's end, which
// determines what is moved into the archive. The record is the intent; a process that finds files
// of an ended team completes the move (Finish).
const (
	EndedRun = "run"

	EndedDown = "down"

	EndedDeleted = "deleted" // the task list stays
)

// NewArchiveDir makes a directory for the files of a team that has ended, named by the time.
func (o Operator) NewArchiveDir(archive string) (string, error) {
	place := filepath.Join(archive, o.Minter.Now().UTC().Format("20060102T150405.000Z"))
	if err := os.MkdirAll(place, 0o700); err != nil {
		return "", fmt.Errorf("archive: %w", err)
	}
	return place, nil
}

// leaseWait is how long a command that passes may keep the leader lease.
const leaseWait = 3 * time.Second

// Archive ends a team's journal and moves the files of the wire tree into a new directory of the
// team's archive, which it returns, so that the name is free and the history is kept. It refuses
// while a member runs. It holds the leader lease until the end is recorded, so that no process
// starts a member meanwhile.
func (o Operator) Archive(ctx context.Context, s *operator.State, how string) (string, error) {
	release, err := o.HoldLease(ctx, s)
	if err != nil {
		return "", err
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		var ds []journal.Draft
		for _, m := range s.Lead.Live() {
			if m.Process != nil && m.Process.ID.Alive() {
				return nil, &operator.Error{Kind: operator.Refused, Op: "archive", Msg: fmt.Sprintf("%s runs as process %d", m.Name, m.Process.ID.PID), Next: operator.NextDownOnly.With()}
			}
			ds = append(ds, s.Lead.Let(m, how, "")...)
		}
		if s.Lead.Ended == nil {
			ds = append(ds, journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: how}})
		}
		return ds, nil
	})
	if err := errors.Join(err, release()); err != nil {
		return "", err
	}
	o.settleEnded(ctx, s)
	o.tell(ctx, s)
	return o.PutAway(ctx, s, false)
}

// HoldLease takes the leader lease. It waits for a command that leads for one pass.
func (o Operator) HoldLease(ctx context.Context, s *operator.State) (release func() error, err error) {
	held := false
	o.Await(ctx, leaseWait, func() bool {
		release, held, err = s.Dir.TryLead()
		return held || err != nil
	})
	switch {
	case held || err != nil:
		return release, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &operator.Error{Kind: operator.Locked, Op: "archive", Msg: fmt.Sprintf("team %s is live: a process leads it", s.Team), Advice: "end that run first", Err: leader.ErrLeading}
}

// tell passes the records since the last leader to the observer. An error does not keep a team from
// ending.
func (o Operator) tell(ctx context.Context, s *operator.State) {
	if o.Observe == nil {
		return
	}
	l, err := leader.Open(ctx, o.Passing(s))
	if err == nil {
		err = l.Close()
	}
	if err != nil && o.Log != nil {
		o.Log.Warn("observers are not told of the end", "team", s.Team, "err", err)
	}
}

// PutAway moves the files of an ended team into its archive, the task list as the record of its end
// or the caller requires, and removes the sockets of its dead processes.
func (o Operator) PutAway(ctx context.Context, s *operator.State, tasks bool) (string, error) {
	for _, m := range s.Lead.Members {
		_ = dropCgroups(s, m) // those that are not empty stay
	}
	sockets := s.Dir.Sockets(o.RunPath())
	if err := errors.Join(worker.RemoveBoxes(s.Dir.Path), worker.RemoveBoxes(sockets.Dir), sockets.Remove()); err != nil {
		return "", err
	}
	place, err := o.NewArchiveDir(s.Dir.Archive())
	if err != nil {
		return "", err
	}
	tasks = tasks || s.Lead.Ended.How != EndedDeleted
	if info, err := os.Lstat(o.Root.TasksDir(s.Team)); tasks && err == nil && !info.IsDir() { // it is no task list
		if _, err := atomicfile.SetAside(o.Root.TasksDir(s.Team), place, o.Minter.Now()); err != nil {
			return "", err
		}
	}
	reg, err := team.Open(o.Root, s.Team, team.Options{Deadline: putAwayWait})
	var missing *team.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, atomicfile.ErrNotRegular) {
		_, err := o.putAwayRest(ctx, s.Team, tasks, func() (string, error) { return place, nil })
		return place, err
	}
	if err != nil {
		return "", err
	}
	cfg, err := reg.Load(ctx)
	var corrupt *team.CorruptError
	if err != nil && !errors.As(err, &corrupt) && !errors.Is(err, atomicfile.ErrTooLarge) {
		return "", err
	}
	if err == nil && cfg.LeadSessionID != "" && operator.UIDOf(cfg) != s.Dir.UID {
		return "", &operator.Error{Kind: operator.Refused, Op: "archive", Msg: fmt.Sprintf("%s is another team of that name now (session %s); it stays", o.Root.TeamDir(s.Team), cfg.LeadSessionID)}
	}
	return place, reg.MoveTo(ctx, place, tasks)
}

// putAwayRest moves the remaining files of a team whose registry is gone, or is no file, and what else has the name of
// the team's directory, into the directory that place makes. It returns where they are, "" when there is nothing.
func (o Operator) putAwayRest(ctx context.Context, name protocol.TeamName, tasks bool, place func() (string, error)) (string, error) {
	reg, err := team.Leftover(o.Root, name, team.Options{Deadline: putAwayWait})
	var missing *team.NotFoundError
	if err != nil && !errors.As(err, &missing) {
		return "", err
	}
	if reg == nil {
		if info, err := os.Lstat(o.Root.TeamDir(name)); err != nil || info.IsDir() {
			return "", nil // another process has done it
		}
	}
	to, err := place()
	switch {
	case err != nil:
		return "", err
	case reg == nil:
		return atomicfile.SetAside(o.Root.TeamDir(name), to, o.Minter.Now())
	}
	return to, reg.MoveTo(ctx, to, tasks)
}

// putAwayWait is how long the end of a team waits for a lock on its files. The members
// have ended by then, and waggle team delete, or the next up, moves what stayed.
const putAwayWait = 1500 * time.Millisecond

// Finish completes the end of a team of this name; done reports that there was something to do.
func (o Operator) Finish(ctx context.Context, name protocol.TeamName) (done bool, err error) {
	s, err := mail.Of(o.Operator).Leftover(ctx, name)
	if s == nil || err != nil {
		return false, err
	}
	_, err = o.PutAway(ctx, s, false)
	return true, err
}

// MailLeft archives a directory that has a team's name and no registry: mail that was written after
// the team's end. It returns the archive's path, "" when there is no such directory. The name must
// have no journal of a present team here.
func (o Operator) MailLeft(ctx context.Context, name protocol.TeamName) (place string, err error) {
	return o.putAwayRest(ctx, name, false, func() (string, error) { return o.NewLeftoverDir(name) })
}

// NewLeftoverDir makes a directory in the archive of the last team of the name, or, when there
// was none, beside the teams' own.
func (o Operator) NewLeftoverDir(name protocol.TeamName) (string, error) {
	dirs, err := o.Home.Find(o.RootURL, name)
	if len(dirs) > 0 {
		return o.NewArchiveDir(dirs[len(dirs)-1].Archive())
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Home.Path, 0o700); err != nil {
		return "", fmt.Errorf("state: %w", err)
	}
	return o.NewArchiveDir(o.Home.Leftover(o.RootURL, name))
}

// LeftMail lists the directories with mail for teams that have ended, those of one name or all.
func (o Operator) LeftMail(ctx context.Context, name protocol.TeamName) (names []protocol.TeamName, err error) {
	left, err := o.Root.Leftovers()
	if err != nil {
		return nil, err
	}
	for _, n := range left {
		if name != "" && n != name {
			continue
		}
		if _, err := o.Open(ctx, n, operator.Act); operator.Unled(err) {
			names = append(names, n)
		}
	}
	return names, nil
}

// leftMail finds the directories with mail for teams that have ended.
func (c *collector) leftMail(ctx context.Context, name protocol.TeamName) error {
	left, err := c.o.LeftMail(ctx, name)
	for _, n := range left {
		dir := c.o.Root.TeamDir(n)
		c.find(&operator.State{Team: n}, dir, Garbage{Kind: GarbageMail, Path: dir, Why: "it has no config.json: somebody wrote to team " + string(n) + " after its end; it is put into the archive, not removed",
			unused: func(ctx context.Context) bool {
				_, err := c.o.Open(ctx, n, operator.Act)
				return operator.Unled(err)
			},
			gone: missing(dir), end: func(ctx context.Context) error {
				held, err := c.o.Claim("gc", n)
				if err != nil {
					return err
				}
				defer held.Free()
				_, err = c.o.MailLeft(ctx, n)
				return err
			}})
	}
	return err
}

// MailNote describes the mail that was archived.
func (o Operator) MailNote(name protocol.TeamName, place string) operator.Note {
	return operator.Note{What: "archived", Member: "", Text: fmt.Sprintf("%s held mail and no team: it is in %s now", filepath.Join("teams", string(name)), place)}
}
