package teams

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

// Values of record.Ended.How, beside record.LeftReplaced: the reason of a team's end, which
// determines what is moved into the archive. The record is the intent; a process that finds files
// of an ended team completes the move (process.Finish).
const (
	endedAll = "deleted with its tasks" // named like the other ways to end
)

// Facts returns the facts that a team's state follows from (team.Facts), from its files, its
// journal and its processes.
func (o Operator) Facts(ctx context.Context, name protocol.TeamName) (team.Facts, error) {
	tv, err := inspect.Of(o.Operator).Team(ctx, name)
	var missing *team.NotFoundError
	if errors.As(err, &missing) {
		return team.Facts{}, nil
	}
	if err != nil {
		return team.Facts{}, err
	}
	f := team.Facts{Exists: true, Running: len(tv.Live)}
	if tv.Led {
		f.Running++
	}
	owns := map[string]bool{}
	for _, m := range tv.Active() {
		if !protocol.SameName(m, protocol.Lead) {
			f.Members++
			owns[strings.ToLower(string(m))] = true
		}
	}
	if !tv.Ours {
		left, err := mail.Of(o.Operator).Leftover(ctx, name)
		if err != nil {
			return team.Facts{}, err
		}
		f.Deleting = left != nil
	}
	board, err := task.Open(o.Root.TasksDir(name), name, task.Options{})
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return team.Facts{}, err
	}
	tasks, _, err := board.All(ctx)
	for _, t := range tasks {
		if owns[strings.ToLower(t.Owner)] && (t.Status == task.Pending || t.Status == task.InProgress) {
			f.Open++
		}
	}
	return f, err
}

// DeleteOptions are the settings of Delete.
type DeleteOptions struct {
	Force bool // end its processes first
	Tasks bool // remove the task list too; without it the list stays
	Keep  bool // archive another program's team instead of removing it
	// Report gets each running process before anything is done: ends says whether it will be ended;
	// another program's will not. May be nil.
	Report func(r inspect.Running, ends bool)
}

// Deleted is the result of a deletion.
type Deleted struct {
	Team    string            `json:"team"`
	State   string            `json:"state"`   // deleted
	Ended   []inspect.Running `json:"ended"`   // processes that were ended first
	Archive string            `json:"archive"` // the archive of what waggle led; "" when it was another program's team
	Tasks   string            `json:"tasks"`   // kept, archived or removed
}

// Delete removes a team: its registry, its mailboxes, its sockets, and optionally its task list.
// The files of a team that waggle led are archived, another program's team is removed. A running
// team is refused (team.State.May) unless Force is set, which ends the processes that waggle
// started, by their recorded identities; those of other programs are never ended.
func (o Operator) Delete(ctx context.Context, name protocol.TeamName, do DeleteOptions) (*Deleted, error) {
	d := &Deleted{Team: string(name), State: "deleted", Ended: []inspect.Running{}, Tasks: "kept"}
	if s, err := process.Of(o.Operator).OpenDamaged(ctx, name); s != nil || err != nil {
		switch {
		case err != nil:
			return nil, err
		case !do.Force:
			return nil, operator.Unreadable("delete", name, s.Damaged)
		}
		return d, o.deleteDamaged(ctx, s, do, d)
	}
	if do.Tasks {
		d.Tasks = "archived"
	}
	if left, err := mail.Of(o.Operator).Leftover(ctx, name); left != nil || err != nil {
		if err != nil {
			return nil, err
		}
		d.Archive, err = process.Of(o.Operator).PutAway(ctx, left, do.Tasks)
		return d, err
	}
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil { // a recorded team is deleted without a registry too
		_, serr := o.Open(ctx, name, operator.Act)
		if serr != nil && !operator.Unled(serr) {
			return nil, errors.Join(err, serr)
		}
		if serr != nil {
			if d.Archive, serr = process.Of(o.Operator).MailLeft(ctx, name); serr != nil || d.Archive != "" {
				d.Tasks = "kept"
				return d, serr
			}
			return nil, err
		}
	}
	tv, err := inspect.Of(o.Operator).Team(ctx, name)
	var corrupt *team.CorruptError
	if errors.As(err, &corrupt) { // and no journal: the files do not say whose team it is
		if !do.Keep {
			return nil, &operator.Error{Kind: operator.Refused, Op: "delete", Err: err, Next: operator.Next{Step: operator.NextPutAway, Team: name}}
		}
		return d, o.removeForeign(ctx, name, reg, nil, do, d)
	}
	if err != nil {
		return nil, err
	}
	s, err := o.Open(ctx, name, operator.Command("delete"))
	if err != nil && !operator.Unled(err) {
		return nil, err
	}
	facts, err := o.Facts(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := facts.State().May(team.OnDelete); err != nil {
		if err := o.endFirst(ctx, tv, s, do, d, err); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return d, o.removeForeign(ctx, name, reg, tv.Config, do, d)
	}
	how := process.EndedDeleted
	if do.Tasks {
		how = endedAll
	}
	d.Archive, err = process.Of(o.Operator).Archive(ctx, s, how)
	return d, err
}

// deleteDamaged is Delete of a team whose journal cannot be read.
func (o Operator) deleteDamaged(ctx context.Context, s *operator.State, do DeleteOptions, d *Deleted) error {
	for _, m := range s.Lead.Live() {
		if m.Process == nil || m.Process.ID.Inside || !m.Process.ID.Alive() {
			continue
		}
		r := inspect.Running{Name: m.Name, PID: m.Process.ID.PID}
		if do.Report != nil {
			do.Report(r, true)
		}
		d.Ended = append(d.Ended, r)
	}
	end, err := process.Of(o.Operator).EndDamaged(ctx, s, process.StopOptions{Force: true})
	if err != nil {
		return err
	}
	d.Archive, d.Tasks = end.Archive, "archived"
	return nil
}

// removeForeign removes a team of another program, or archives it: under its session, unless cfg is nil, for then its
// files do not say whose it is, or its records are gone.
func (o Operator) removeForeign(ctx context.Context, name protocol.TeamName, reg *team.Team, cfg *team.Config, do DeleteOptions, d *Deleted) (err error) {
	if !do.Keep {
		if do.Tasks {
			d.Tasks = "removed"
		}
		return reg.Delete(ctx, do.Tasks)
	}
	kept := ""
	if cfg == nil || o.Moved(cfg) != nil {
		d.Archive, err = process.Of(o.Operator).NewLeftoverDir(name)
	} else if kept, err = mail.Of(o.Operator).ArchiveOf(nil, cfg); err == nil {
		d.Archive, err = process.Of(o.Operator).NewArchiveDir(kept)
	}
	if err != nil {
		return err
	}
	return reg.MoveTo(ctx, d.Archive, do.Tasks)
}

// endFirst ends what prevents the deletion of a team, or returns why not; cause is the error of
// team.State.May.
func (o Operator) endFirst(ctx context.Context, tv *inspect.TeamView, s *operator.State, do DeleteOptions, d *Deleted, cause error) error {
	var runs []string
	for _, r := range tv.Live {
		runs = append(runs, fmt.Sprintf("%s (process %d)", r.Name, r.PID))
	}
	switch {
	case tv.Led:
		return &operator.Error{Kind: operator.Locked, Op: "delete", Msg: fmt.Sprintf("team %s is live: a process leads it", tv.Team), Next: operator.Next{Step: operator.NextDownFirst, Team: protocol.TeamName(tv.Team)}, Err: cause}
	case s == nil && !do.Force:
		return &operator.Error{Kind: operator.Refused, Op: "delete", Err: cause, Msg: fmt.Sprintf("team %s is led by a program that waggle did not start and that runs: %s", tv.Team, strings.Join(runs, ", ")),
			Next: operator.NextDeleteForeign.With()}
	case !do.Force:
		return &operator.Error{Kind: operator.Refused, Op: "delete", Err: cause, Msg: fmt.Sprintf("team %s has running members: %s", tv.Team, strings.Join(runs, ", ")),
			Next: operator.Next{Step: operator.NextDownOrDeleteForce, Team: protocol.TeamName(tv.Team)}}
	}
	for _, r := range tv.Live {
		if do.Report != nil {
			do.Report(r, s != nil)
		}
	}
	if s == nil {
		return nil
	}
	d.Ended = tv.Live
	return process.Of(o.Operator).EndAll(ctx, s, 0, false, nil)
}

// Remove removes a member from the registry, and ends its membership when waggle ran it. A member
// with a running process is refused: it has to be ended first.
func (o Operator) Remove(ctx context.Context, name protocol.TeamName, member string) error {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return err
	}
	m, ok := cfg.Member(protocol.MemberName(member))
	if !ok || m.Gone() {
		return &team.NotFoundError{What: "member", Name: member, Near: cfg.Near(member)}
	}
	s, err := o.Open(ctx, name, operator.Command("remove"))
	if err != nil && !operator.Unled(err) {
		return err
	}
	if s != nil {
		_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
			jm, ok := s.Lead.Member(m.Name)
			switch {
			case !ok || jm.Left != nil:
				return nil, nil
			case jm.Process != nil && jm.Process.ID.Alive():
				return nil, &operator.Error{Kind: operator.Refused, Op: "remove", Msg: fmt.Sprintf("%s runs as process %d", m.Name, jm.Process.ID.PID), Next: operator.NextDownOnly.With()}
			}
			if jm.Trust == record.FileTrust {
				return s.Lead.Let(jm, record.LeftReleased, "removed"), nil
			}
			return s.Lead.Let(jm, record.LeftStopped, "removed"), nil
		})
	} else {
		err = mail.Of(o.Operator).Discharge(ctx, cfg, m.Name)
	}
	if err != nil {
		return err
	}
	return reg.Remove(ctx, m.Name, o.Minter.Now())
}
