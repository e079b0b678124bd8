package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/internal/atomicfile"
	"waggle/journal"
	"waggle/leader"
	"waggle/task"
	"waggle/team"
)

// Values of control.Ended.How, beside control.LeftReplaced: why a team ended, and
// so what of it is moved into the archive. The record is the intent; whoever finds
// files of a team that has ended finishes what it calls for (finish).
const (
	endedRun     = "run"
	endedDown    = "down"
	endedDeleted = "deleted"                // the task list stays
	endedAll     = "deleted with its tasks" // like the other ways to end
)

// Facts are what a team's life follows from (team.Facts), read off its files, its
// journal and its processes.
func (o Operator) Facts(ctx context.Context, name waggle.TeamName) (team.Facts, error) {
	tv, err := o.Team(ctx, name)
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
		left, err := o.leftover(ctx, name)
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
	// Tell is told of each process that runs before anything is done: whether it
	// will be ended, or is another program's and left alone. May be nil.
	Tell func(r Running, ends bool)
}

// Deleted says what a deletion did.
type Deleted struct {
	Team    string    `json:"team"`
	State   string    `json:"state"`   // deleted
	Ended   []Running `json:"ended"`   // processes that were ended first
	Archive string    `json:"archive"` // where what waggle led is kept; "" when it was another program's
	Tasks   string    `json:"tasks"`   // kept, archived or removed
}

// Delete removes a team: its registry, its mailboxes, its sockets, and by choice
// its task list. What waggle led is archived, another program's team is removed. A
// team that runs is refused (team.LifeTable) unless Force is set, which ends the
// processes that waggle started, by their recorded identities; those of other
// programs are never ended.
func (o Operator) Delete(ctx context.Context, name waggle.TeamName, do DeleteOptions) (*Deleted, error) {
	d := &Deleted{Team: string(name), State: "deleted", Ended: []Running{}, Tasks: "kept"}
	if s, err := o.wreck(ctx, name); s != nil || err != nil {
		switch {
		case err != nil:
			return nil, err
		case !do.Force:
			return nil, unreadable("delete", name, s.broken)
		}
		return d, o.deleteWreck(ctx, s, do, d)
	}
	if left, err := o.leftover(ctx, name); left != nil || err != nil {
		if err != nil {
			return nil, err
		}
		if do.Tasks {
			d.Tasks = "archived"
		}
		d.Archive, err = o.putAway(ctx, left, do.Tasks)
		return d, err
	}
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil { // a team on record is deleted without a registry too
		s, serr := o.State(ctx, name)
		if serr != nil {
			return nil, errors.Join(err, serr)
		}
		if s == nil {
			if d.Archive, serr = o.leftMail(ctx, name); serr != nil || d.Archive != "" {
				return d, serr
			}
			return nil, err
		}
	}
	tv, err := o.Team(ctx, name)
	var corrupt *team.CorruptError
	if errors.As(err, &corrupt) { // and no records: nothing says whose it is
		if !do.Keep {
			return nil, &Error{Code: CodeRefused, Op: "delete", Err: err, Hint: fmt.Sprintf("waggle team delete %s --archive puts its files away as they are", name)}
		}
		if d.Archive, err = o.leftPlace(name); err != nil {
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
	s, err := o.guarded(ctx, name, "delete")
	if err != nil {
		return nil, err
	}
	facts, err := o.Facts(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := facts.Life().May(team.OnDelete); err != nil {
		if err := o.endFirst(ctx, tv, s, do, d, err); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return d, o.removeForeign(ctx, reg, tv.Config, do, d)
	}
	how := endedDeleted
	if do.Tasks {
		how, d.Tasks = endedAll, "archived"
	}
	d.Archive, err = o.archive(ctx, s, how)
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
	kept, err := o.archiveOf(nil, cfg)
	if err != nil {
		return err
	}
	if d.Archive, err = o.newPlace(kept); err != nil {
		return err
	}
	if do.Tasks {
		d.Tasks = "archived"
	}
	return reg.MoveTo(ctx, d.Archive, do.Tasks)
}

// newPlace makes a directory for what a team leaves, named by the time.
func (o Operator) newPlace(archive string) (string, error) {
	place := filepath.Join(archive, o.Minter.Now().UTC().Format("20060102T150405.000Z"))
	if err := os.MkdirAll(place, 0o700); err != nil {
		return "", fmt.Errorf("archive: %w", err)
	}
	return place, nil
}

// endFirst ends what keeps a team from being deleted, or says why not; cause is
// what the table of its life said.
func (o Operator) endFirst(ctx context.Context, tv *TeamView, s *State, do DeleteOptions, d *Deleted, cause error) error {
	var runs []string
	for _, r := range tv.Live {
		runs = append(runs, fmt.Sprintf("%s (process %d)", r.Name, r.PID))
	}
	switch {
	case tv.Led:
		return &Error{Code: CodeLocked, Op: "delete", Msg: fmt.Sprintf("team %s is live: a process leads it", tv.Team), Hint: "end that run first", Err: cause}
	case s == nil && !do.Force:
		return &Error{Code: CodeRefused, Op: "delete", Err: cause, Msg: fmt.Sprintf("team %s is led by a program that waggle did not start and that runs: %s", tv.Team, strings.Join(runs, ", ")),
			Hint: "end that program first; --force removes its files under it"}
	case !do.Force:
		return &Error{Code: CodeRefused, Op: "delete", Err: cause, Msg: fmt.Sprintf("team %s has running members: %s", tv.Team, strings.Join(runs, ", ")),
			Hint: "--force ends them first"}
	}
	for _, r := range tv.Live {
		if do.Tell != nil {
			do.Tell(r, s != nil)
		}
	}
	if s == nil {
		return nil
	}
	d.Ended = tv.Live
	return o.endAll(ctx, s, 0, false, nil)
}

// leaseWait is how long a command that passes may keep the leader lease.
const leaseWait = 3 * time.Second

// archive ends a team's journal and moves what lies in the wire tree into the
// team's archive, whose new directory it returns, so that the name is free and the
// history is kept. It refuses while a member runs; nobody starts one meanwhile, for
// it holds the leader lease until the end is on record.
func (o Operator) archive(ctx context.Context, s *State, how string) (string, error) {
	release, err := o.holdLease(ctx, s)
	if err != nil {
		return "", err
	}
	_, err = s.Journal.Append(ctx, o.writer(), func() ([]journal.Draft, error) {
		var ds []journal.Draft
		for _, m := range s.Lead.Live() {
			if m.Process != nil && m.Process.ID.Alive() {
				return nil, &Error{Code: CodeRefused, Op: "archive", Msg: fmt.Sprintf("%s runs as process %d", m.Name, m.Process.ID.PID), Hint: "waggle down ends the team"}
			}
			ds = append(ds, s.Lead.Let(m, how, "")...)
		}
		if s.Lead.Ended == nil {
			ds = append(ds, journal.Draft{Kind: control.RecEnded, Must: true, Body: control.Ended{How: how}})
		}
		return ds, nil
	})
	if err := errors.Join(err, release()); err != nil {
		return "", err
	}
	o.settleEnded(ctx, s)
	o.tell(ctx, s)
	return o.putAway(ctx, s, false)
}

// holdLease takes the leader lease. Whoever only passes is waited for.
func (o Operator) holdLease(ctx context.Context, s *State) (release func() error, err error) {
	late := time.NewTimer(leaseWait)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		release, held, err := s.Dir.TryLead()
		if held || err != nil {
			return release, err
		}
		select {
		case <-again.C:
		case <-late.C:
			return nil, &Error{Code: CodeLocked, Op: "archive", Msg: fmt.Sprintf("team %s is live: a process leads it", s.Team), Hint: "end that run first", Err: leader.ErrLeading}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tell lets the observer hear of what was recorded since somebody led. That it may
// not is no reason to keep a team from ending.
func (o Operator) tell(ctx context.Context, s *State) {
	if o.Observe == nil {
		return
	}
	l, err := leader.Open(ctx, o.passing(s))
	if err == nil {
		err = l.Close()
	}
	if err != nil && o.Log != nil {
		o.Log.Warn("observers are not told of the end", "team", s.Team, "err", err)
	}
}

// putAway moves the files of a team that has ended into its archive, its task list
// as the record of its end calls for, or as the caller does, and takes away what
// its dead processes left of their sockets.
func (o Operator) putAway(ctx context.Context, s *State, tasks bool) (string, error) {
	dropCgroups(s)
	if err := s.Dir.Sockets(o.runDir()).Remove(); err != nil {
		return "", err
	}
	place, err := o.newPlace(s.Dir.Archive())
	if err != nil {
		return "", err
	}
	tasks = tasks || s.Lead.Ended.How != endedDeleted
	if info, err := os.Lstat(o.Root.TasksDir(s.Team)); tasks && err == nil && !info.IsDir() { // it is no task list
		if _, err := atomicfile.SetAside(o.Root.TasksDir(s.Team), place, o.Minter.Now()); err != nil {
			return "", err
		}
	}
	reg, err := team.Open(o.Root, s.Team, team.Options{Deadline: putAwayWait})
	var missing *team.NotFoundError
	if errors.As(err, &missing) || errors.Is(err, atomicfile.ErrNotRegular) {
		return place, o.putAwayRest(ctx, s.Team, place, tasks)
	}
	if err != nil {
		return "", err
	}
	cfg, err := reg.Load(ctx)
	var corrupt *team.CorruptError
	if err != nil && !errors.As(err, &corrupt) && !errors.Is(err, atomicfile.ErrTooLarge) {
		return "", err
	}
	if err == nil {
		if cfg.LeadSessionID != "" && uidOf(cfg) != s.Dir.UID {
			return "", &Error{Code: CodeRefused, Op: "archive", Msg: fmt.Sprintf("%s is another team of that name now (session %s); it stays", o.Root.TeamDir(s.Team), cfg.LeadSessionID)}
		}
	}
	return place, reg.MoveTo(ctx, place, tasks)
}

// putAwayRest moves what is left of a team whose registry is gone, or is no file.
func (o Operator) putAwayRest(ctx context.Context, name waggle.TeamName, place string, tasks bool) error {
	reg, err := team.Leftover(o.Root, name, team.Options{Deadline: putAwayWait})
	var missing *team.NotFoundError
	switch {
	case err == nil:
		return reg.MoveTo(ctx, place, tasks)
	case !errors.As(err, &missing):
		return err
	}
	if info, err := os.Lstat(o.Root.TeamDir(name)); err == nil && !info.IsDir() {
		_, err = atomicfile.SetAside(o.Root.TeamDir(name), place, o.Minter.Now())
		return err
	}
	return nil // somebody was here before
}

// putAwayWait is how long the end of a team waits for a lock on its files. The members
// have ended by then, and waggle team delete, or the next up, moves what stayed.
const putAwayWait = 1500 * time.Millisecond

// uidOf is the one way to derive a team's uid from its registry: of a team of ours it
// is what the registry holds in the form of a session id, of another program's it is
// its session, and of one without a session when it was made.
func uidOf(cfg *team.Config) control.TeamUID {
	if cfg.LeadSessionID == "" {
		return control.TeamUID("created " + waggle.FormatTime(cfg.CreatedAt))
	}
	return control.TeamUID(strings.ReplaceAll(cfg.LeadSessionID, "-", ""))
}

// leftover is a team that has ended, but whose files are still in the wire tree:
// whoever ended it was stopped on the way. Nil when there is none.
func (o Operator) leftover(ctx context.Context, name waggle.TeamName) (*State, error) {
	cfg, err := o.listing(ctx, name)
	var missing *team.NotFoundError
	var corrupt *team.CorruptError
	if errors.As(err, &missing) || errors.As(err, &corrupt) || errors.Is(err, atomicfile.ErrNotRegular) || errors.Is(err, atomicfile.ErrTooLarge) {
		return nil, nil // nothing says whose it was
	}
	if err != nil {
		return nil, err
	}
	dirs, err := o.Home.Find(o.RootURL, name)
	for _, dir := range dirs {
		if dir.UID != uidOf(cfg) {
			continue
		}
		s, err := o.openState(dir, name)
		if err != nil {
			return nil, err
		}
		if s.Lead.Ended != nil {
			return s, nil
		}
		return nil, nil
	}
	return nil, err
}

// finish does what is left of the end of a team of this name; done reports that
// there was something.
func (o Operator) finish(ctx context.Context, name waggle.TeamName) (done bool, err error) {
	s, err := o.leftover(ctx, name)
	if s == nil || err != nil {
		return false, err
	}
	_, err = o.putAway(ctx, s, false)
	return true, err
}

// archiveOf is where the old mail of a team's members is kept: in STATE, under the
// team's identity, which for another program's team is its session.
func (o Operator) archiveOf(s *State, cfg *team.Config) (string, error) {
	if s != nil {
		return s.Dir.Archive(), nil
	}
	dir, err := o.Home.Create(o.RootURL, cfg.Name, uidOf(cfg))
	return dir.Archive(), err
}

// Register adds a member that another program runs. The mail of an earlier member
// of that name is archived first; archived is where. In a team that waggle leads its
// prompt is the first entry of its mailbox.
func (o Operator) Register(ctx context.Context, name waggle.TeamName, m team.Member, unique bool) (added team.Member, archived string, err error) {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return team.Member{}, "", err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return team.Member{}, "", err
	}
	s, err := o.State(ctx, name)
	if err != nil {
		return team.Member{}, "", err
	}
	if s == nil {
		if left, err := o.leftover(ctx, name); left != nil || err != nil {
			return team.Member{}, "", errors.Join(err, team.Deleting.May(team.OnJoin))
		}
	}
	kept, err := o.archiveOf(s, cfg)
	if err != nil {
		return team.Member{}, "", err
	}
	if s != nil {
		if m.Prompt != "" {
			if err := sendable(m.Prompt); err != nil {
				return team.Member{}, "", fmt.Errorf("prompt: %w", err)
			}
		}
		m.Model = cmp.Or(m.Model, noModel)
		m = present(m)
	}
	if added, archived, err = reg.KeepIn(kept).Add(ctx, m, unique); err != nil || m.BackendType == BackendAdopted {
		return added, archived, err // who adopts puts the process on record with it
	}
	if err := o.admit(ctx, cfg, added); err != nil {
		return team.Member{}, "", errors.Join(err, reg.Remove(ctx, added.Name, o.Minter.Now()))
	}
	if s == nil {
		return added, archived, nil // its dialect has no entry of that kind
	}
	return added, archived, o.prompt(ctx, name, added)
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
	s, err := o.guarded(ctx, name, "remove")
	if err != nil {
		return err
	}
	if s != nil {
		_, err = s.Journal.Append(ctx, o.writer(), func() ([]journal.Draft, error) {
			jm, ok := s.Lead.Member(m.Name)
			switch {
			case !ok || jm.Left != nil:
				return nil, nil
			case jm.Process != nil && jm.Process.ID.Alive():
				return nil, &Error{Code: CodeRefused, Op: "remove", Msg: fmt.Sprintf("%s runs as process %d", m.Name, jm.Process.ID.PID), Hint: "waggle down ends the team"}
			}
			if jm.Trust == control.FileTrust {
				return s.Lead.Let(jm, control.LeftReleased, "removed"), nil
			}
			return s.Lead.Let(jm, control.LeftStopped, "removed"), nil
		})
	} else {
		err = o.discharge(ctx, cfg, m.Name)
	}
	if err != nil {
		return err
	}
	return reg.Remove(ctx, m.Name, o.Minter.Now())
}
