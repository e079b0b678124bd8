package teams

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"waggle"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

// Values of record.Ended.How, beside record.LeftReplaced: why a team ended, and
// so what of it is moved into the archive. The record is the intent; whoever finds
// files of a team that has ended finishes what it calls for (finish).
const (
	endedAll = "deleted with its tasks" // like the other ways to end
)

// Facts are what a team's life follows from (team.Facts), read off its files, its
// journal and its processes.
func (o Operator) Facts(ctx context.Context, name waggle.TeamName) (team.Facts, error) {
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
		if !waggle.SameName(m, waggle.Lead) {
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
	Force bool // end what runs first
	Tasks bool // the task list too; else it stays where it is
	Keep  bool // archive another program's team too
	// Report gets each process that runs before anything is done: whether it
	// will be ended, or is another program's and left alone. May be nil.
	Report func(r inspect.Running, ends bool)
}

// Deleted says what a deletion did.
type Deleted struct {
	Team    string
	State   string            // deleted
	Ended   []inspect.Running // processes that were ended first
	Archive string            // where what waggle led is kept; "" when it was another program's
	Tasks   string            // kept, archived or removed
}

// Delete removes a team: its registry, its mailboxes, its sockets, and by choice
// its task list. What waggle led is archived, another program's team is removed. A
// team that runs is refused (team.Transitions) unless Force is set, which ends the
// processes that waggle started, by their recorded identities; those of other
// programs are never ended.
func (o Operator) Delete(ctx context.Context, name waggle.TeamName, do DeleteOptions) (*Deleted, error) {
	d := &Deleted{Team: string(name), State: "deleted", Ended: []inspect.Running{}, Tasks: "kept"}
	if s, err := process.Of(o.Operator).Wreck(ctx, name); s != nil || err != nil {
		switch {
		case err != nil:
			return nil, err
		case !do.Force:
			return nil, operator.Unreadable("delete", name, s.Broken)
		}
		return d, o.deleteWreck(ctx, s, do, d)
	}
	if left, err := mail.Of(o.Operator).Leftover(ctx, name); left != nil || err != nil {
		if err != nil {
			return nil, err
		}
		if do.Tasks {
			d.Tasks = "archived"
		}
		d.Archive, err = process.Of(o.Operator).PutAway(ctx, left, do.Tasks)
		return d, err
	}
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil { // a team on record is deleted without a registry too
		s, serr := o.State(ctx, name)
		if serr != nil {
			return nil, errors.Join(err, serr)
		}
		if s == nil {
			if d.Archive, serr = process.Of(o.Operator).MailLeft(ctx, name); serr != nil || d.Archive != "" {
				return d, serr
			}
			return nil, err
		}
	}
	tv, err := inspect.Of(o.Operator).Team(ctx, name)
	var corrupt *team.CorruptError
	if errors.As(err, &corrupt) { // and no records: nothing says whose it is
		if !do.Keep {
			return nil, &operator.Error{Kind: operator.Refused, Op: "delete", Err: err, Next: operator.Next{Step: operator.NextPutAway, Team: name}}
		}
		if d.Archive, err = process.Of(o.Operator).NewLeftoverDir(name); err != nil {
			return nil, err
		}
		if do.Tasks {
			d.Tasks = "archived"
		}
		return d, reg.MoveTo(ctx, d.Archive, do.Tasks)
	}
	if err != nil {
		return nil, err
	}
	s, err := o.Guarded(ctx, name, "delete")
	if err != nil {
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
		return d, o.removeForeign(ctx, reg, tv.Config, do, d)
	}
	how := process.EndedDeleted
	if do.Tasks {
		how, d.Tasks = endedAll, "archived"
	}
	d.Archive, err = process.Of(o.Operator).Archive(ctx, s, how)
	return d, err
}

// removeForeign removes a team of another program, or puts it into the archive of
// its session.
func (o Operator) removeForeign(ctx context.Context, reg *team.Team, cfg *team.Config, do DeleteOptions, d *Deleted) error {
	if !do.Keep {
		if do.Tasks {
			d.Tasks = "removed"
		}
		return reg.Delete(ctx, do.Tasks)
	}
	kept, err := mail.Of(o.Operator).ArchiveOf(nil, cfg)
	if err != nil {
		return err
	}
	if d.Archive, err = process.Of(o.Operator).NewArchiveDir(kept); err != nil {
		return err
	}
	if do.Tasks {
		d.Tasks = "archived"
	}
	return reg.MoveTo(ctx, d.Archive, do.Tasks)
}

// endFirst ends what keeps a team from being deleted, or says why not; cause is
// what the table of its life said.
func (o Operator) endFirst(ctx context.Context, tv *inspect.TeamView, s *operator.State, do DeleteOptions, d *Deleted, cause error) error {
	var runs []string
	for _, r := range tv.Live {
		runs = append(runs, fmt.Sprintf("%s (process %d)", r.Name, r.PID))
	}
	switch {
	case tv.Led:
		return &operator.Error{Kind: operator.Locked, Op: "delete", Msg: fmt.Sprintf("team %s is live: a process leads it", tv.Team), Advice: "end that run first", Err: cause}
	case s == nil && !do.Force:
		return &operator.Error{Kind: operator.Refused, Op: "delete", Err: cause, Msg: fmt.Sprintf("team %s is led by a program that waggle did not start and that runs: %s", tv.Team, strings.Join(runs, ", ")),
			Next: operator.NextDeleteForeign.With()}
	case !do.Force:
		return &operator.Error{Kind: operator.Refused, Op: "delete", Err: cause, Msg: fmt.Sprintf("team %s has running members: %s", tv.Team, strings.Join(runs, ", ")),
			Next: operator.NextDeleteForce.With()}
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

// Remove takes a member out of the registry, and ends its membership when
// waggle ran it. A member whose process runs is refused: end it first.
func (o Operator) Remove(ctx context.Context, name waggle.TeamName, member string) error {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return err
	}
	m, ok := cfg.Member(waggle.MemberName(member))
	if !ok || m.Gone() {
		return &team.NotFoundError{What: "member", Name: member, Near: cfg.Near(member)}
	}
	s, err := o.Guarded(ctx, name, "remove")
	if err != nil {
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
