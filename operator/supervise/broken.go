package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/record"
	"waggle/spawn"
)

// AcknowledgeBreak lets a team with a broken leader's journal continue without the records after
// the break with this seq. It ends every process of the team by its record, keeps the journal
// unchanged, and writes a new one with the records before the break: first the acknowledgement,
// then a policy without allow rules, then each member as a new instance, which has no grant, order
// or request of the old one. A record after the break has no effect, except that a policy there may
// forbid more. No task is assigned again, because it is not known what of it was done. Resume
// starts the members.
func (o Operator) AcknowledgeBreak(ctx context.Context, name waggle.TeamName, seq uint64, note func(operator.Note)) (*process.Broken, error) {
	b, at, err := process.Of(o.Operator).LeaderBreak(name)
	if err == nil {
		err = b.Named(seq)
	}
	if err != nil {
		return nil, err
	}
	if at.Prefix == 0 {
		return nil, &operator.Error{Kind: operator.Failed, Op: "acknowledge", Msg: fmt.Sprintf("nothing of the journal of team %s can be read: %s", name, b.Why),
			Next: operator.Next{Step: operator.NextDownForceOrPutBack, Team: name}}
	}
	w, err := process.Of(o.Operator).Wreck(ctx, name)
	if err != nil || w == nil {
		return nil, cmp.Or(err, fmt.Errorf("the journal of team %s was changed meanwhile: look at it again", name))
	}
	if err := o.Guard(ctx, w, "acknowledge"); err != nil {
		return nil, err
	}
	process.Sweeps(w, note)
	if p := w.Lead.Led; p != nil && p.ID.Alive() {
		if _, err := spawn.Stop(ctx, p.ID, o.Waits.Ladder()); err != nil {
			return nil, fmt.Errorf("the process that leads: %w", err)
		}
	}
	release, err := process.Of(o.Operator).HoldLease(ctx, w)
	if err != nil {
		return nil, err
	}
	left := map[record.Instance]bool{}
	for _, m := range w.Lead.Members {
		left[m.Instance] = m.Left != nil
	}
	if err = process.Of(o.Operator).EndWrecked(ctx, w); err == nil {
		err = process.Of(o.Operator).CloseTerminals(ctx, w, process.AllRead)
	}
	if err == nil {
		err = o.continueTeam(ctx, w, b, at, left)
	}
	return b, errors.Join(err, release())
}

// continueTeam writes the new journal. left has the instances whose leaving, or not, is known from
// the records after the break.
func (o Operator) continueTeam(ctx context.Context, w *operator.State, b *process.Broken, at *journal.Break, left map[record.Instance]bool) error {
	if err := process.Of(o.Operator).GiveBack(ctx, w, w.Lead.Members, "its team goes on without what its journal lost"); err != nil {
		return err
	}
	later := process.LatterPolicies(w, at)
	fresh, boxes := map[record.Instance]record.Instance{}, map[record.Instance][]string{}
	fold := control.NewLeader(nil)
	if _, err := w.Dir.Journals().FindBreak(journal.Leader, fold, w.JournalOptions); err != nil {
		return err
	}
	for _, m := range fold.Live() {
		if m.Trust == record.FileTrust {
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
		fresh[m.Instance], b.Members = record.Instance(id), append(b.Members, string(m.Name))
		if boxes[m.Instance], err = process.Of(o.Operator).Lying(ctx, w.Team, m.Name); err != nil {
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
	err := w.Dir.Journals().Continue(ctx, at, b.Kept, lead, w.JournalOptions, o.Writer(), func() ([]journal.Draft, error) {
		same := maps.Clone(fresh)
		same[""] = ""
		set := lead.Policy.Narrowed(later, same)
		set.Policy.Version = max(set.Policy.Version, lead.Version()+1)
		ds := []journal.Draft{b.Known(at, kept), {Kind: record.KindPolicy, Must: true, Body: set}}
		for _, m := range lead.Live() {
			if m.Trust == record.FileTrust {
				continue
			}
			ds = append(append(ds, process.Unasked(lead, m)...), journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: m.Instance, How: record.LeftStopped, Detail: "the leader's journal was broken"}})
			if i, ok := fresh[m.Instance]; ok {
				ds = append(ds, process.Again(m, i, boxes[m.Instance]))
			}
		}
		return ds, nil
	})
	b.Acknowledged = err == nil
	return err
}

// AcknowledgeMember lets a member with a broken journal continue as a new instance with a journal
// of its own: it has no grant, order or request of the old one, whose journal stays where it is.
// Its process is ended and a new one started. Its tasks are released, because only the broken
// journal knew what of them was done.
func (o Operator) AcknowledgeMember(ctx context.Context, name waggle.TeamName, member string, seq uint64, lo LeadOptions) (*process.Broken, error) {
	s, err := o.Open(ctx, name, operator.Lead("an acknowledgement"))
	if err != nil {
		return nil, err
	}
	m, err := decide.Member(s, member)
	if err != nil {
		return nil, err
	}
	b, at, err := process.MemberBreak(s, m)
	if err == nil {
		err = b.Named(seq)
	}
	if err != nil {
		return nil, err
	}
	if p := m.Process; p != nil && p.ID.Inside && p.ID.Alive() {
		return nil, &operator.Error{Kind: operator.Refused, Op: "acknowledge", Msg: fmt.Sprintf("%s runs inside process %d, which only ends as a whole", m.Name, p.ID.PID),
			Next: operator.Next{Step: operator.NextDown, Team: name}}
	}
	if _, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) { return s.Lead.Stop(m, process.StopForced), nil }); err != nil {
		return nil, err
	}
	process.Sweeps(s, lo.Note)
	rung, err := process.Of(o.Operator).EndWreckedMember(ctx, s, m)
	if err != nil {
		return nil, err
	}
	if err := process.Of(o.Operator).GiveBack(ctx, s, []*control.Member{m}, "its member goes on without what its journal lost"); err != nil {
		return nil, err
	}
	box, err := process.Of(o.Operator).Lying(ctx, name, m.Name)
	if err != nil {
		return nil, err
	}
	id, err := o.Minter.UID()
	if err != nil {
		return nil, err
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if m.Left != nil {
			return nil, &operator.Error{Kind: operator.Refused, Op: "acknowledge", Msg: fmt.Sprintf("%s was ended meanwhile", m.Name), Next: operator.Next{Step: operator.NextSpawnAgain, Member: m.Name}}
		}
		ds := append([]journal.Draft{b.Known(at, filepath.Join("journal", b.Journal))}, process.Unasked(s.Lead, m)...)
		return append(ds, journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: m.Instance, How: record.LeftStopped, Detail: rung}},
			process.Again(m, record.Instance(id), box)), nil
	})
	if err != nil {
		return nil, err
	}
	b.Acknowledged, b.Kept, b.Members = true, s.Dir.JournalOf(b.Journal), []string{string(m.Name)}
	now, err := decide.Member(s, member)
	if err != nil {
		return b, err
	}
	return b, o.bring(ctx, s, []*control.Member{now}, lo)
}
