package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/spawn"
	"waggle/task"
)

// Broken is a journal that is broken, and what goes on without what lies behind the break.
type Broken struct {
	Team     string `json:"team"`
	Journal  string `json:"journal"` // leader, or the instance of a member
	Member   string `json:"member"`  // whose it is; "": the leader's
	File     string `json:"file"`
	Line     int    `json:"line"`
	Seq      uint64 `json:"seq"` // of the bad record: what AcknowledgeBreak names
	Why      string `json:"why"`
	Readable uint64 `json:"readable_records"` // that stand before it
	Lost     int    `json:"lost_records"`     // the bad one and those behind it
	Bytes    int64  `json:"lost_bytes"`
	SHA256   string `json:"lost_sha256"`
	// Kept is where the journal is as it was; Members are those that go on, each as a new
	// instance, and Dropped those that do not. All are empty until it is acknowledged.
	Kept         string   `json:"kept"`
	Members      []string `json:"members"`
	Dropped      []string `json:"dropped"`
	Acknowledged bool     `json:"acknowledged"`
}

// Break finds the journal of a team that is broken: the leader's, or else that of the
// first member that has one, or of this member. Nil: those are whole.
func (o Operator) Break(ctx context.Context, name waggle.TeamName, member string) (*Broken, error) {
	s, err := o.State(ctx, name)
	if broken(err) {
		b, _, err := o.leaderBreak(name)
		return b, err
	}
	if s == nil || err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Live() {
		if m.Trust == control.FileTrust || member != "" && !called(m, member) {
			continue
		}
		if b, _, err := s.memberBreak(m); b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
}

// leaderBreak finds the break of the leader's journal in the newest directory of a name.
func (o Operator) leaderBreak(name waggle.TeamName) (*Broken, *journal.Break, error) {
	dirs, err := o.Home.Find(o.RootURL, name)
	if len(dirs) == 0 {
		return nil, nil, err
	}
	s := &State{Dir: dirs[len(dirs)-1], Team: name, jopts: journal.Options{Now: o.Minter.Now}}
	return s.findBreak(journal.Leader, "", control.NewLeader(nil))
}

func (s *State) memberBreak(m *control.Member) (*Broken, *journal.Break, error) {
	return s.findBreak(journal.Name(m.Instance), string(m.Name), control.NewWorker(nil))
}

func (s *State) findBreak(n journal.Name, member string, fold journal.Fold) (*Broken, *journal.Break, error) {
	at, err := s.Dir.Journals().FindBreak(n, fold, s.jopts)
	if at == nil || err != nil {
		return nil, nil, err
	}
	return &Broken{Team: string(s.Team), Journal: string(n), Member: member, File: filepath.Join(s.Dir.JournalOf(string(n)), at.Err.File), Line: at.Err.Line,
		Seq: uint64(at.Err.Seq), Why: at.Err.Why, Readable: uint64(at.Prefix), Lost: at.Records, Bytes: at.Bytes, SHA256: at.SHA256,
		Members: []string{}, Dropped: []string{}}, at, nil
}

// known is the record of it.
func (b *Broken) known(at *journal.Break, kept string) journal.Draft {
	return journal.Draft{Kind: control.RecAcknowledged, Must: true, Body: control.Acknowledged{Break: &control.KnownBreak{Journal: at.Err.Journal,
		File: at.Err.File, Line: at.Err.Line, Seq: b.Seq, Why: b.Why, Records: b.Lost, Bytes: b.Bytes, SHA256: b.SHA256, Kept: kept}}}
}

// named refuses an acknowledgement of what is not there, or is something else.
func (b *Broken) named(seq uint64) error {
	switch {
	case b == nil:
		return &Error{Code: CodeNotFound, Op: "acknowledge", Msg: "that journal is whole: there is nothing to acknowledge"}
	case b.Seq != seq:
		return &Error{Code: CodeRefused, Op: "acknowledge", Msg: fmt.Sprintf("the break is at seq %d, not %d: look at it", b.Seq, seq), Near: []string{strconv.FormatUint(b.Seq, 10)}}
	}
	return nil
}

// AcknowledgeBreak lets a team go on whose leader's journal is broken, without what lies
// behind the break with this seq. Every process of the team is ended by its record, the
// journal is kept as it is, and a new one goes on from what can be read before the break:
// the acknowledgement first, then a policy that allows nothing by a rule, and each member
// as a new instance, which has no grant, order or question of the old one. Nothing that
// was written behind the break has an effect, but that it may forbid something more. No
// task is given out again: what of it was done nobody knows. Resume starts the members.
func (o Operator) AcknowledgeBreak(ctx context.Context, name waggle.TeamName, seq uint64, tell func(Note)) (*Broken, error) {
	b, at, err := o.leaderBreak(name)
	if err == nil {
		err = b.named(seq)
	}
	if err != nil {
		return nil, err
	}
	if at.Prefix == 0 {
		return nil, &Error{Code: CodeFailed, Op: "acknowledge", Msg: fmt.Sprintf("nothing of the journal of team %s can be read: %s", name, b.Why),
			Hint: "waggle down --force " + string(name) + " ends what runs and frees the name; put the file back to go on"}
	}
	w, err := o.wreck(ctx, name)
	if err != nil || w == nil {
		return nil, cmp.Or(err, fmt.Errorf("the journal of team %s was changed meanwhile: look at it again", name))
	}
	if err := o.guard(ctx, w, "acknowledge"); err != nil {
		return nil, err
	}
	w.sweeps(tell)
	if p := w.Lead.Led; p != nil && p.ID.Alive() {
		if _, err := spawn.Stop(ctx, p.ID, ladder); err != nil {
			return nil, fmt.Errorf("the process that leads: %w", err)
		}
	}
	release, err := o.holdLease(ctx, w)
	if err != nil {
		return nil, err
	}
	left := map[control.Instance]bool{}
	for _, m := range w.Lead.Members {
		left[m.Instance] = m.Left != nil
	}
	if err = o.endWrecked(ctx, w); err == nil {
		err = o.closeTerminals(ctx, w, allRead)
	}
	if err == nil {
		err = o.continueTeam(ctx, w, b, at, left)
	}
	return b, errors.Join(err, release())
}

// continueTeam writes the journal that goes on. left are the instances of which even what
// lies behind the break says that they have left, or have not.
func (o Operator) continueTeam(ctx context.Context, w *State, b *Broken, at *journal.Break, left map[control.Instance]bool) error {
	if err := o.giveBack(ctx, w, w.Lead.Members, "its team goes on without what its journal lost"); err != nil {
		return err
	}
	later := w.latterPolicies(at)
	fresh, boxes := map[control.Instance]control.Instance{}, map[control.Instance][]string{}
	fold := control.NewLeader(nil)
	if _, err := w.Dir.Journals().FindBreak(journal.Leader, fold, w.jopts); err != nil {
		return err
	}
	for _, m := range fold.Live() {
		if m.Trust == control.FileTrust {
			continue
		}
		if left[m.Instance] || m.Stopping != nil || m.Approved {
			b.Dropped = append(b.Dropped, string(m.Name))
			continue
		}
		id, err := o.Minter.UID()
		if err != nil {
			return err
		}
		fresh[m.Instance], b.Members = control.Instance(id), append(b.Members, string(m.Name))
		if boxes[m.Instance], err = o.lying(ctx, w.Team, m.Name); err != nil {
			return err
		}
	}
	for _, m := range w.Lead.Members {
		if _, known := fold.ByInstance(m.Instance); !known {
			b.Dropped = append(b.Dropped, string(m.Name))
			if err := o.unlist(ctx, w, m.Name); err != nil {
				return err
			}
		}
	}
	kept := filepath.Join(filepath.Base(w.Dir.Kept()), fmt.Sprintf("%s-%d-%d", journal.Leader, b.Seq, o.Minter.Now().UnixMilli()))
	b.Kept = filepath.Join(w.Dir.Path, kept)
	lead := control.NewLeader(nil)
	err := w.Dir.Journals().Continue(ctx, at, b.Kept, lead, w.jopts, o.writer(), func() ([]journal.Draft, error) {
		same := maps.Clone(fresh)
		same[""] = ""
		set := lead.Policy.Narrowed(later, same)
		set.Policy.Version = max(set.Policy.Version, lead.Version()+1)
		ds := []journal.Draft{b.known(at, kept), {Kind: control.RecPolicy, Must: true, Body: set}}
		for _, m := range lead.Live() {
			if m.Trust == control.FileTrust {
				continue
			}
			ds = append(append(ds, unasked(lead, m)...), journal.Draft{Kind: control.RecLeft, Must: true, Body: control.Left{Instance: m.Instance, How: control.LeftStopped, Detail: "the leader's journal was broken"}})
			if i, ok := fresh[m.Instance]; ok {
				ds = append(ds, again(m, i, boxes[m.Instance]))
			}
		}
		return ds, nil
	})
	b.Acknowledged = err == nil
	return err
}

// unasked closes the open questions of a member: who waited for an answer has ended, and
// the new instance asks again.
func unasked(l *control.Leader, m *control.Member) (ds []journal.Draft) {
	for _, q := range l.Pending() {
		if q.Instance == m.Instance {
			ds = append(ds, journal.Draft{Kind: control.RecClosed, Must: true, Body: control.Closed{Key: &q.Key, Evidence: "a journal was broken, and the operator let it go on without its end"}})
		}
	}
	return ds
}

// again is a member as a new instance. What lies in its mailbox was for the old one.
func again(m *control.Member, i control.Instance, box []string) journal.Draft {
	j := m.Joined
	j.Instance, j.Baseline = i, box
	if j.Mode != "" {
		j.Mode = j.Mode.Meet(policy.ModeDefault)
	}
	return journal.Draft{Kind: control.RecJoined, Must: true, Body: j}
}

// lying lists what lies in a member's mailbox. One that cannot be read holds nothing.
func (o Operator) lying(ctx context.Context, name waggle.TeamName, member waggle.MemberName) (ids []string, err error) {
	box, err := o.Boxes(name).Open(member, mailbox.Options{})
	if err != nil {
		return nil, err
	}
	entries, err := box.Entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("mailbox of %s: %w", member, err)
	}
	for _, e := range entries {
		ids = append(ids, e.ID.String())
	}
	return ids, nil
}

// latterPolicies are those that stand behind a break, whole in themselves. They only
// forbid.
func (s *State) latterPolicies(at *journal.Break) (sets []control.PolicySet) {
	_ = s.Dir.Journals().Salvage(journal.Leader, func(r journal.Record) { // what cannot be read is not there
		var p control.PolicySet
		if r.Kind == control.RecPolicy && r.Seq > at.Prefix && json.Unmarshal(r.Body, &p) == nil {
			sets = append(sets, p)
		}
	})
	return sets
}

// giveBack gives back the tasks of members whose orders are gone.
func (o Operator) giveBack(ctx context.Context, s *State, ms []*control.Member, why string) error {
	board, err := task.Open(o.Root.TasksDir(s.Team), s.Team, task.Options{})
	if err != nil {
		return err
	}
	names := map[waggle.MemberName]bool{}
	for _, m := range ms {
		if m.Trust != control.FileTrust && !m.Leads() {
			names[m.Name] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if _, err := board.ReleaseNoted(ctx, n, task.NewReleased(n, why, o.Minter.Now())); err != nil {
			return err
		}
	}
	return nil
}

// AcknowledgeMember lets a member go on whose own journal is broken, as a new instance
// with a journal of its own: it has no grant, order or question of the old one, whose
// journal stays where it is. Its process is ended and a new one started. Its tasks are
// given back: what of them was done only the broken journal knew.
func (o Operator) AcknowledgeMember(ctx context.Context, name waggle.TeamName, member string, seq uint64, lo LeadOptions) (*Broken, error) {
	s, err := o.mine(ctx, name, "an acknowledgement")
	if err != nil {
		return nil, err
	}
	m, err := s.member(member)
	if err != nil {
		return nil, err
	}
	b, at, err := s.memberBreak(m)
	if err == nil {
		err = b.named(seq)
	}
	if err != nil {
		return nil, err
	}
	if p := m.Process; p != nil && p.ID.Inside && p.ID.Alive() {
		return nil, &Error{Code: CodeRefused, Op: "acknowledge", Msg: fmt.Sprintf("%s runs inside process %d, which only ends as a whole", m.Name, p.ID.PID),
			Hint: "waggle down " + string(name) + " ends the team with that process"}
	}
	if _, err := s.Journal.Append(ctx, o.writer(), func() ([]journal.Draft, error) { return s.Lead.Stop(m, stopForced), nil }); err != nil {
		return nil, err
	}
	s.sweeps(lo.Note)
	rung, err := o.endWreckedMember(ctx, s, m)
	if err != nil {
		return nil, err
	}
	if err := o.giveBack(ctx, s, []*control.Member{m}, "its member goes on without what its journal lost"); err != nil {
		return nil, err
	}
	box, err := o.lying(ctx, name, m.Name)
	if err != nil {
		return nil, err
	}
	id, err := o.Minter.UID()
	if err != nil {
		return nil, err
	}
	_, err = s.Journal.Append(ctx, o.writer(), func() ([]journal.Draft, error) {
		if m.Left != nil {
			return nil, &Error{Code: CodeRefused, Op: "acknowledge", Msg: fmt.Sprintf("%s was ended meanwhile", m.Name), Hint: "waggle spawn " + string(m.Name) + " starts it anew"}
		}
		ds := append([]journal.Draft{b.known(at, filepath.Join("journal", b.Journal))}, unasked(s.Lead, m)...)
		return append(ds, journal.Draft{Kind: control.RecLeft, Must: true, Body: control.Left{Instance: m.Instance, How: control.LeftStopped, Detail: rung}},
			again(m, control.Instance(id), box)), nil
	})
	if err != nil {
		return nil, err
	}
	b.Acknowledged, b.Kept, b.Members = true, s.Dir.JournalOf(b.Journal), []string{string(m.Name)}
	now, err := s.member(member)
	if err != nil {
		return b, err
	}
	return b, o.bring(ctx, s, []*control.Member{now}, lo)
}
