package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Change is the new condition of a member.
type Change struct {
	Time   time.Time           `json:"time"` // of the record that made it so, or of the look that found it
	Team   protocol.TeamName   `json:"team"`
	Member protocol.MemberName `json:"member"`
	Is     Condition           `json:"state"`
	From   Condition           `json:"from"` // "": this is its first
	Why    string              `json:"why"`
	Handle string              `json:"handle"` // of the oldest request that waits for a person; "": none
	Done   bool                `json:"-"`      // it has done all that it was given, also when it has left since
}

// States follows the conditions of a team's members. It folds the journals, as every observer does, so that each change
// comes once and in order, whoever leads meanwhile. What no journal says (a process that is gone, a task that waits for
// one that failed) it finds by a look when the journals stand still. It is used by one goroutine.
type States struct {
	o     Operator
	name  protocol.TeamName
	dir   home.Dir
	lead  *control.Leader // nil: another program leads the team
	leadJ *journal.File
	live  bool // the team has not ended
	own   map[record.Instance]*ownJournal

	opened  bool // the records before the first Next were read
	begun   bool // the first Next has returned
	records int  // that were read
	fold    map[record.Instance]Change
	last    map[protocol.MemberName]Change
	fresh   []Change
	order   map[protocol.MemberName]int // as the members joined
}

// ownJournal is the journal of a member.
type ownJournal struct {
	fold *control.Worker
	file *journal.File
	from time.Time // of the limit that holds; zero: none does
	turn bool      // a turn runs
	up   bool      // it takes work
}

// after is a fold that calls do after each record that it has not had before.
type after struct {
	journal.Tentative
	journal.Snapshotter
	seen journal.Seq
	do   func(journal.Record)
}

// Apply implements journal.Fold.
func (f *after) Apply(r journal.Record) error {
	err := f.Tentative.Apply(r)
	if r.Seq > f.seen {
		f.seen = r.Seq
		f.do(r)
	}
	return err
}

// States opens the conditions of the members of a present or past team (operator.Read).
func (o Operator) States(ctx context.Context, of string) (*States, error) {
	s := &States{o: o, own: map[record.Instance]*ownJournal{}, fold: map[record.Instance]Change{}, last: map[protocol.MemberName]Change{}, order: map[protocol.MemberName]int{}}
	st, live, err := o.present(ctx, of)
	if err != nil {
		return nil, err
	}
	if st == nil {
		s.name, err = o.Pick(of)
		s.live = true
		return s, err
	}
	if st.Damaged != nil {
		return nil, st.Damaged
	}
	s.name, s.dir, s.live, s.lead = st.Team, st.Dir, live, control.NewLeader(nil)
	s.leadJ, err = s.dir.OpenJournal(journal.Leader, &after{s.lead, s.lead, 0, s.led}, journal.Options{ReadOnly: true})
	return s, err
}

// Over reports that the team has ended: no further change comes.
func (s *States) Over() bool { return s.lead != nil && (!s.live || s.lead.Ended != nil) }

// Now are the present conditions, in the order in which the members joined.
func (s *States) Now() (cs []Change) {
	for _, c := range s.last {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b Change) int { return cmp.Compare(s.order[a.Member], s.order[b.Member]) })
	return cs
}

// Dirs are the directories that change when a condition does.
func (s *States) Dirs() []string {
	if s.lead == nil {
		return []string{s.o.Root.TeamDir(s.name)}
	}
	dirs := []string{s.dir.Journals().Path, s.dir.LeaderJournal()}
	for i := range s.own {
		dirs = append(dirs, s.dir.JournalOf(string(i)))
	}
	slices.Sort(dirs)
	return dirs
}

// Next returns the changes since the last call; the first call returns the condition of each member that has not left. With the error of a
// broken journal come the changes before the break.
func (s *States) Next(ctx context.Context) (cs []Change, err error) {
	if s.lead == nil {
		return s.foreign(ctx)
	}
	for first := !s.begun; ; {
		if err := s.read(ctx); err != nil {
			return append(cs, s.news()...), err
		}
		found := map[protocol.MemberName]Change{}
		if !s.Over() {
			if found, err = s.look(ctx); err != nil {
				return append(cs, s.news()...), err
			}
		}
		before := s.records
		if err := s.read(ctx); err != nil {
			return append(cs, s.news()...), err
		}
		if cs = append(cs, s.news()...); s.records == before { // the look saw no record that is not in cs
			cs = append(cs, s.found(found)...)
			if s.begun = true; first {
				cs = slices.DeleteFunc(s.Now(), func(c Change) bool { return s.live && c.Is == ConditionLeft })
			}
			return cs, nil
		}
	}
}

// read reads the new records of all journals.
func (s *States) read(ctx context.Context) error {
	err := s.leadJ.Refresh(ctx)
	for _, m := range s.lead.Members {
		if m.Left == nil && m.Trust != record.FileTrust {
			s.readOwn(ctx, m.Instance)
		}
	}
	if !s.opened && err == nil {
		s.opened = true
		s.led(journal.Record{})
	}
	return err
}

// readOwn reads the journal of a member, for what its leader does not record. Of one that cannot be read the look says
// that.
func (s *States) readOwn(ctx context.Context, i record.Instance) {
	own := s.own[i]
	if own != nil {
		_ = own.file.Refresh(ctx)
		return
	}
	own = &ownJournal{fold: control.NewWorker(nil)}
	own.file, _ = s.dir.OpenJournal(journal.Name(i), &after{own.fold, own.fold, 0, func(r journal.Record) { s.worked(i, own, r) }}, journal.Options{ReadOnly: true})
	if own.file != nil {
		s.own[i] = own
	}
}

// led takes the conditions that a record of the leader's journal has made. Before the first Next it takes none: only the
// present ones count then.
func (s *States) led(r journal.Record) {
	if s.records++; !s.opened {
		return
	}
	for n, m := range s.lead.Members {
		if now, ok := s.lead.Member(m.Name); !ok || now == m {
			s.order[m.Name] = n
			s.took(m, r.Time)
		}
	}
}

// worked takes what the member's own journal alone has: that it takes work, that a turn begins, and a limit.
func (s *States) worked(i record.Instance, own *ownJournal, r journal.Record) {
	s.records++
	from := time.Time{}
	if _, ok := own.fold.LimitedUntil(r.Time); ok && own.fold.Turn() != nil {
		from = own.fold.LimitedAt
	}
	turn := own.fold.Turn() != nil
	limit, begun := !from.Equal(own.from), turn && !own.turn
	up := own.fold.Ready != nil && !own.up
	own.from, own.turn, own.up = from, turn, own.fold.Ready != nil
	m, ok := s.lead.ByInstance(i)
	if !ok || !s.opened || !limit && !begun && !up {
		return
	}
	if c := s.recorded(m); begun && c.Is == ConditionWorking { // a look may have found that it waited
		c.Time = r.Time
		s.fresh = append(s.fresh, c)
	}
	s.took(m, r.Time)
}

// took takes the condition of a member, where it is another one than before.
func (s *States) took(m *control.Member, at time.Time) {
	c := s.recorded(m)
	if was, ok := s.fold[m.Instance]; ok && m.Left == nil && ending(m) != "" { // its end is no condition of its own
		c = was
	}
	if c.Time = at; at.IsZero() { // its first: since when it is so
		c.Time = m.Since
	}
	if was, ok := s.fold[m.Instance]; ok && was.Is == c.Is && was.Handle == c.Handle {
		return
	}
	s.fold[m.Instance] = c
	s.fresh = append(s.fresh, c)
}

// recorded is the condition of a member as the journals have it.
func (s *States) recorded(m *control.Member) Change {
	c := Change{Team: s.name, Member: m.Name}
	todo, failed := s.orders(m)
	c.Done = finished(m) && todo == "" && failed == ""
	is := func(is Condition, why string) Change {
		c.Is, c.Why = is, why
		return c
	}
	switch {
	case m.Left != nil && m.Left.How == record.LeftDied:
		return is(ConditionFailed, leftWhy(m))
	case m.Left != nil:
		return is(ConditionLeft, leftWhy(m))
	case m.Died != nil && ending(m) == "" && (m.Died.GaveUp || m.Died.Again == nil):
		return is(ConditionFailed, "its process ended"+operator.Suffix(m.Died.Detail))
	case m.Died != nil:
		return is(ConditionWorking, "its process ended, and is started again"+operator.Suffix(m.Died.Detail))
	}
	for _, r := range s.lead.Pending() {
		switch {
		case r.Instance != m.Instance:
		case s.lead.Policy.DeciderOf(record.GateOf(r.Kind)) == policy.DecideLeader && s.lead.ForLead(r) && decide.LeadOut(s.lead, record.GateOf(r.Kind)) == "":
			c.Is, c.Why = ConditionWaits, "the lead's agent answers "+r.Handle
		default:
			c.Handle = r.Handle
			return is(ConditionNeedsYou, "asks "+r.Handle+": "+brief(decide.Gist(r.Kind, r.Ask)))
		}
	}
	own := s.own[m.Instance]
	state := m.State()
	switch {
	case c.Is != "":
		return c
	case m.Borrowed != nil:
		return is(ConditionWorking, "a person has its session")
	case own != nil && !own.from.IsZero():
		return is(ConditionLimited, "rate-limited until "+protocol.FormatTime(own.fold.Limited.Until)+operator.Suffix(own.fold.Limited.Reason))
	case m.InQueue():
		return is(ConditionWaits, fmt.Sprintf("place %d in the queue", s.lead.Place(m)))
	case state == machine.Spawning && (own == nil || !own.up):
		return is(ConditionWorking, "is starting")
	case state == machine.ShutdownRequested || state == machine.Terminated:
		return is(ConditionWorking, cmp.Or(ending(m), "is being ended"))
	case state != machine.Idle && state != machine.Spawning:
		return is(ConditionWorking, "has a turn")
	case failed != "":
		return is(ConditionFailed, "task "+failed+" failed")
	case todo != "":
		return is(ConditionWorking, "has task "+todo+" to begin")
	case finished(m):
		return is(ConditionReady, "has done its tasks")
	}
	return is(ConditionAsleep, "waits for work")
}

// orders are the first task that a member has not begun and the first that failed, "" for none.
func (s *States) orders(m *control.Member) (todo, failed string) {
	for _, o := range s.lead.Assignments() {
		if o.Instance != m.Instance || o.Commanded == nil || o.Commanded.Task == nil || m.Done[o.Commanded.Task.ID] != nil {
			continue
		}
		switch id, turn := o.Commanded.Task.ID, m.Turns[o.Commanded.Task.ID]; {
		case turn == nil:
			todo = cmp.Or(todo, id)
		case turn.Failed:
			failed = cmp.Or(failed, id)
		}
	}
	return todo, failed
}

// news are the changes that records have made, in order of time.
func (s *States) news() (cs []Change) {
	slices.SortStableFunc(s.fresh, func(a, b Change) int { return a.Time.Compare(b.Time) })
	for _, c := range s.fresh {
		cs = s.told(cs, c)
	}
	s.fresh = nil
	return cs
}

// told adds a change, unless it is none.
func (s *States) told(cs []Change, c Change) []Change {
	was, known := s.last[c.Member]
	if known && was.Is == c.Is && was.Handle == c.Handle {
		return cs
	}
	if c.From = was.Is; !s.begun { // what was found at first is one condition
		c.From = ""
	}
	s.last[c.Member] = c
	return append(cs, c)
}

// look finds the conditions of the members as they are now.
func (s *States) look(ctx context.Context) (map[protocol.MemberName]Change, error) {
	st, err := s.o.readable(ctx, s.name)
	if err != nil || st == nil || st.Dir.Path != s.dir.Path || st.Damaged != nil {
		return nil, err
	}
	if _, err := s.o.Preview(ctx, st); operator.Unpassing(err) != nil {
		return nil, err
	}
	k, err := s.o.probe(ctx, st)
	if err != nil {
		return nil, err
	}
	all := map[protocol.MemberName]Change{}
	for _, m := range st.Lead.Live() {
		m, ms, _, w, err := k.one(ctx, m)
		if err != nil {
			return nil, err
		}
		if k.led && ms.Is == ConditionNeedsYou && w != nil && len(w.Blocking()) > 0 {
			continue // the process that leads records it
		}
		all[m.Name] = Change{Team: s.name, Member: m.Name, Is: ms.Is, Why: ms.Why, Time: k.now}
	}
	return all, nil
}

// found adds what a look has found and no record says.
func (s *States) found(now map[protocol.MemberName]Change) (cs []Change) {
	for _, m := range s.lead.Live() {
		c, ok := now[m.Name]
		said := s.fold[m.Instance]
		if ending(m) != "" {
			continue
		}
		if !ok || !sees(said.Is, c.Is) {
			c = said
			c.Time = s.o.Minter.Now()
		} else {
			c.Handle, c.Done = said.Handle, said.Done
		}
		cs = s.told(cs, c)
	}
	return cs
}

// sees reports that a look knows more than the journals, which may be a moment behind it.
func sees(said, found Condition) bool {
	switch found {
	case said, ConditionAsleep, ConditionReady, ConditionLeft:
		return false
	case ConditionWorking:
		return said == ConditionAsleep || said == ConditionReady
	case ConditionWaits, ConditionBlocked:
		return said != ConditionNeedsYou
	}
	return true
}

// foreign are the changes in a team that another program leads: only looks find them.
func (s *States) foreign(ctx context.Context) (cs []Change, err error) {
	st, err := s.o.Status(ctx, s.name)
	if err != nil {
		return nil, err
	}
	for n, m := range st.Members {
		name := protocol.MemberName(m.Name)
		s.order[name] = n
		cs = s.told(cs, Change{Team: s.name, Member: name, Is: m.Is, Why: m.Why, Time: s.o.Minter.Now()})
	}
	return cs, nil
}
