package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// OpenDamaged opens a team whose leader's journal cannot be read. The readable records name its
// processes, which is enough to end it. Its journal is in memory, so that nothing is appended to
// the broken one. Nil: there is no such team.
func (o Operator) OpenDamaged(ctx context.Context, name protocol.TeamName) (*operator.State, error) {
	_, err := o.Open(ctx, name, operator.Act)
	switch {
	case err == nil:
		return nil, nil
	case !operator.Unled(err) && !operator.Broken(err):
		return nil, err
	}
	dirs, ferr := o.Home.Find(o.RootURL, name)
	if operator.Unled(err) { // or its first line, which names the team, cannot be read
		if dirs = o.named(ctx, name); len(dirs) == 0 {
			return nil, nil
		}
		ferr, err = nil, &journal.BrokenError{Journal: journal.Leader, File: "00000001.jsonl", Line: 1, Seq: 1, Why: "not a record"}
	}
	if len(dirs) == 0 || ferr != nil {
		return nil, errors.Join(err, ferr)
	}
	return o.salvage(ctx, dirs[len(dirs)-1], name, err)
}

// endPatience is how long the end of a team, or of a member, waits for the lock of a
// journal.
const endPatience = 1500 * time.Millisecond

// obstructed reports an error that comes from a file or a lock, and not from the caller's rights or
// arguments: it is no reason not to end a team.
func obstructed(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, spawn.ErrNotOurs) {
		return false
	}
	switch operator.KindOf(err) {
	case operator.Usage, operator.Refused, operator.NotFound:
		return false
	}
	return true
}

// FreeLease frees the leader lease after the process that led has ended: it waits a second for a
// command that leads for one pass, and then replaces the lease's file when another program has
// locked it.
func (o Operator) FreeLease(ctx context.Context, s *operator.State) error {
	if o.Await(ctx, time.Second, func() bool { led, err := o.IsLed(s); return err == nil && !led }) || ctx.Err() != nil {
		return ctx.Err()
	}
	return s.Dir.Dislodge(o.Minter.Now())
}

// remains opens a team by its process records, when an error prevents the usual end. Nil: there is
// no such team.
func (o Operator) remains(ctx context.Context, name protocol.TeamName, why error) (*operator.State, error) {
	if s, err := o.Open(ctx, name, operator.Act); err == nil {
		return o.salvage(ctx, s.Dir, name, why)
	}
	s, err := o.OpenDamaged(ctx, name)
	if s != nil || err == nil {
		return s, err
	}
	dirs, _ := o.Home.Find(o.RootURL, name) // a directory without a team's name has no records to use
	if len(dirs) == 0 {
		dirs = o.Home.Claims(o.RootURL, name)
	}
	if len(dirs) == 0 {
		dirs = o.named(ctx, name)
	}
	if len(dirs) == 0 {
		return nil, err
	}
	return o.salvage(ctx, dirs[len(dirs)-1], name, why)
}

// named returns the directory whose registry names the team, when no first record does.
func (o Operator) named(ctx context.Context, name protocol.TeamName) []home.Dir {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return nil
	}
	cfg, err := reg.Load(ctx)
	if err != nil || operator.UIDOf(cfg) == "" {
		return nil
	}
	d := o.Home.Dir(o.RootURL, name, operator.UIDOf(cfg))
	if _, err := os.Lstat(filepath.Join(d.LeaderJournal(), "00000001.jsonl")); err != nil || d.Unmade() {
		return nil
	}
	if s := o.OpenKnown(home.Known{Dir: d, Team: name}); s.Damaged == nil && s.Lead.Ended != nil {
		return nil
	}
	return []home.Dir{d}
}

// salvaged are the kinds of record that name members and processes.
var salvaged = map[string]bool{record.KindOpened: true, record.KindJoined: true, record.KindProcess: true, record.KindStopping: true, record.KindLeft: true, record.KindLeading: true}

// salvage makes a State of the readable records of a broken leader's journal, and of the records
// that its processes have written.
func (o Operator) salvage(ctx context.Context, dir home.Dir, name protocol.TeamName, why error) (*operator.State, error) {
	fold := control.NewLeader(nil)
	s := &operator.State{Dir: dir, Team: name, Journal: journal.NewMemory(string(dir.UID), journal.Leader, o.Minter.Now).Open(fold), Lead: fold, JournalName: journal.Leader,
		JournalOptions: journal.Options{Now: o.Minter.Now}, Damaged: why}
	add := func(w journal.Writer, kind string, body any) { _ = s.Put(ctx, w, kind, body) } // records that contradict the others are left out
	opened := false
	begin := func() {
		if !opened {
			opened = true
			add(o.Writer(), record.KindOpened, record.Opened{Team: name, Root: o.RootURL, UID: dir.UID, Instance: "unknown", Name: protocol.Lead, Epoch: 1})
		}
	}
	_ = dir.Journals().Salvage(journal.Leader, func(r journal.Record) { // records that cannot be read are left out
		if !salvaged[r.Kind] {
			return
		}
		if r.Kind == record.KindOpened {
			opened = true
		}
		begin()
		add(journal.Writer{Operator: true, PID: r.Writer.PID}, r.Kind, r.Body)
	})
	begin()
	started, err := dir.Started()
	for _, p := range started {
		if p.Instance == "" {
			if fold.Led == nil || !fold.Led.ID.Alive() {
				add(o.Writer(), record.KindLeading, record.LeadingProcess{ID: p.ID})
			}
			continue
		}
		m, ok := fold.ByInstance(p.Instance)
		if !ok {
			add(o.Writer(), record.KindJoined, record.Joined{Instance: p.Instance, Name: p.Name})
			if m, ok = fold.ByInstance(p.Instance); !ok {
				continue // a member of that name exists already
			}
		}
		epoch := uint64(1)
		if m.Process != nil {
			if m.Process.ID.Is(p.ID) {
				continue
			}
			epoch = m.Process.Epoch + 1
		}
		if m.Left == nil && p.ID.Alive() {
			add(o.Writer(), record.KindProcess, record.Process{Instance: p.Instance, Epoch: epoch, ID: p.ID})
		}
	}
	return s, err
}

// living lists the running processes of a damaged team: the one that leads, and members'.
func living(s *operator.State) (names []string) {
	if p := s.Lead.Led; p != nil && p.ID.Alive() {
		names = append(names, fmt.Sprintf("the process that leads, pid %d", p.ID.PID))
	}
	for _, m := range s.Lead.Live() {
		if m.Process != nil && !m.Process.ID.Inside && m.Process.ID.Alive() {
			names = append(names, fmt.Sprintf("%s, pid %d", m.Name, m.Process.ID.PID))
		}
	}
	return names
}

// EndDamaged ends every process of a team whose journal cannot be read, by their records. It archives
// the files of the wire tree, and moves the whole journal aside.
func (o Operator) EndDamaged(ctx context.Context, s *operator.State, so StopOptions) (*DownResult, error) {
	if err := o.Guard(ctx, s, "down"); err != nil {
		return nil, err
	}
	Sweeps(s, so.Note)
	if err := o.StopLeading(ctx, s); err != nil {
		return nil, err
	}
	if err := o.FreeLease(ctx, s); err != nil {
		return nil, err
	}
	release, err := o.HoldLease(ctx, s)
	if err != nil {
		return nil, err
	}
	err = o.EndDamagedMembers(ctx, s)
	if err == nil {
		err = s.Put(ctx, o.Writer(), record.KindEnded, record.Ended{How: EndedDown}) // in memory
	}
	if err == nil {
		err = errors.Join(o.CloseTerminals(ctx, s, AllRead), o.Sweep(ctx, s, so.Note))
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	kept, kerr := o.settleWorktrees(ctx, s, "")
	for _, k := range kept {
		so.note(operator.Note{What: operator.NoteKept, Member: k.Member, Text: k.String(), Next: mergeByHand(k.Branch)})
	}
	if kerr != nil {
		so.note(operator.Note{What: "trouble", Text: "its worktrees stay as they are: " + kerr.Error(), Next: operator.NextListKept.With()})
	}
	place, err := o.PutAway(ctx, s, false)
	aside := ""
	if err == nil {
		aside, err = s.Dir.SetAside()
	}
	if err = errors.Join(err, release()); err != nil {
		return nil, err
	}
	so.note(operator.Note{What: "trouble", Text: fmt.Sprintf("its journal could not be read and is in %s: %v", aside, s.Damaged)})
	d := &DownResult{Team: string(s.Team), State: "ended", Members: []MemberEnd{}, Archive: place, Worktrees: kept, Broken: operator.Broken(s.Damaged)}
	for _, m := range s.Lead.Members {
		d.Members = append(d.Members, endOf(m))
	}
	return d, nil
}

// StopLeading ends the process that leads a team.
func (o Operator) StopLeading(ctx context.Context, s *operator.State) error {
	if p := s.Lead.Led; p != nil && p.ID.Alive() {
		if _, err := spawn.Stop(ctx, p.ID, o.Waits.Ladder()); err != nil {
			return fmt.Errorf("the process that leads: %w", err)
		}
	}
	return nil
}

// mergeByHand is how work is kept of a team that no command merges, because its journal was set aside.
func mergeByHand(branch string) operator.Next {
	return operator.Next{Step: operator.NextMergeByHand, Text: branch}
}

// EndDamagedMembers ends the members of a damaged team, all at the same time.
func (o Operator) EndDamagedMembers(ctx context.Context, s *operator.State) error {
	live := s.Lead.Live()
	rungs, err := atOnce(live, func(m *control.Member) (string, error) {
		rung, err := o.EndDamagedMember(ctx, s, m)
		return rung, notStopped(m, err)
	})
	if err != nil {
		return err
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() (ds []journal.Draft, err error) {
		for i, m := range live {
			ds = append(ds, s.Lead.Stop(m, StopForced)...)
			ds = append(ds, journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: m.Instance, How: record.LeftStopped, Detail: rungs[i]}})
		}
		return ds, nil
	})
	return err
}

// EndDamagedMember ends the processes of one member.
func (o Operator) EndDamagedMember(ctx context.Context, s *operator.State, m *control.Member) (rung string, err error) {
	return o.endProcesses(ctx, s, m, o.Waits.Ladder())
}

// stopDamaged ends one member of a team whose journal cannot be read.
func (o Operator) stopDamaged(ctx context.Context, s *operator.State, member string, so StopOptions) (*MemberEnd, error) {
	if err := o.Guard(ctx, s, "stop"); err != nil {
		return nil, err
	}
	m, err := decide.Member(s, member)
	if err != nil {
		return nil, err
	}
	Sweeps(s, so.Note)
	return o.endUnrecorded(ctx, s, m, so, fmt.Sprintf("the journal cannot be read: %v", s.Damaged), operator.Note{Text: "its end is not on record: " + s.Damaged.Error()})
}

// endHeld ends the members of a team that this process leads and whose journal is broken, by the
// records of their processes. Their end cannot be recorded.
func (o Operator) endHeld(ctx context.Context, s *operator.State, why error) error {
	w, err := o.OpenDamaged(ctx, s.Team)
	if err != nil {
		return errors.Join(why, err)
	}
	if w == nil { // this process has read records that the journal has lost
		w = &operator.State{Dir: s.Dir, Team: s.Team, Journal: journal.NewMemory(string(s.Dir.UID), journal.Leader, o.Minter.Now).Open(control.NewLeader(nil)), Lead: s.Lead, Damaged: why}
	}
	for _, m := range w.Lead.Live() {
		if p := m.Process; p != nil && p.ID.Inside {
			continue // it ends with this process
		}
		if _, eerr := o.EndDamagedMember(ctx, w, m); eerr != nil {
			err = errors.Join(err, eerr)
		}
	}
	return errors.Join(operator.Unreadable("down", s.Team, why), err)
}
