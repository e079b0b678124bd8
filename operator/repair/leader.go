package repair

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/protocol"
	"waggle/record"
)

// leader lets a team with a broken leader's journal continue without the records after
// the break with this seq. It ends every process of the team by its record, keeps the journal
// unchanged, and writes a new one with the records before the break: first the acknowledgement,
// then a policy without allow rules, then each member as a new instance, which has no grant, order
// or request of the old one. A record after the break has no effect, except that a policy there may
// forbid more. No task is assigned again, because it is not known what of it was done. Resume
// starts the members.
func (o Operator) leader(ctx context.Context, name protocol.TeamName, seq uint64, note func(operator.Note)) (*Broken, error) {
	b, at, err := o.leaderBreak(name)
	if err == nil {
		err = b.named(seq)
	}
	if err != nil {
		return nil, err
	}
	if at.Prefix == 0 {
		return nil, &operator.Error{Kind: operator.Failed, Op: "repair", Msg: fmt.Sprintf("nothing of the journal of team %s can be read: %s", name, b.Why),
			Next: operator.Next{Step: operator.NextDownForceOrPutBack, Team: name}}
	}
	w, err := process.Of(o.Operator).OpenDamaged(ctx, name)
	if err != nil || w == nil {
		return nil, cmp.Or(err, fmt.Errorf("the journal of team %s was changed meanwhile: look at it again", name))
	}
	if err := o.Guard(ctx, w, "acknowledge"); err != nil {
		return nil, err
	}
	process.Sweeps(w, note)
	if err := process.Of(o.Operator).StopLeading(ctx, w); err != nil {
		return nil, err
	}
	release, err := process.Of(o.Operator).HoldLease(ctx, w)
	if err != nil {
		return nil, err
	}
	left := map[record.Instance]bool{}
	for _, m := range w.Lead.Members {
		left[m.Instance] = m.Left != nil
	}
	if err = process.Of(o.Operator).EndDamagedMembers(ctx, w); err == nil {
		err = process.Of(o.Operator).CloseTerminals(ctx, w, process.AllRead)
	}
	if err == nil {
		err = o.continueTeam(ctx, w, b, at, left)
	}
	return b, errors.Join(err, release())
}

// continueTeam writes the new journal. left has the instances whose leaving, or not, is known from
// the records after the break.
func (o Operator) continueTeam(ctx context.Context, w *operator.State, b *Broken, at *journal.Break, left map[record.Instance]bool) error {
	if err := o.giveBack(ctx, w, w.Lead.Members, "its team goes on without what its journal lost"); err != nil {
		return err
	}
	later := latterPolicies(w, at)
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
		if boxes[m.Instance], err = o.lying(ctx, w.Team, m.Name); err != nil {
			return err
		}
	}
	for _, m := range w.Lead.Members {
		if _, known := fold.ByInstance(m.Instance); !known {
			b.Dropped = append(b.Dropped, string(m.Name))
			if err := supervise.Of(o.Operator).Unlist(ctx, w, m.Name); err != nil {
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
		ds := []journal.Draft{b.known(at, kept), {Kind: record.KindPolicy, Must: true, Body: set}}
		for _, m := range lead.Live() {
			if m.Trust == record.FileTrust {
				continue
			}
			ds = append(append(ds, unasked(lead, m)...), journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: m.Instance, How: record.LeftStopped, Detail: "the leader's journal was broken"}})
			if i, ok := fresh[m.Instance]; ok {
				ds = append(ds, again(m, i, boxes[m.Instance]))
			}
		}
		return ds, nil
	})
	b.Acknowledged = err == nil
	return err
}

// latterPolicies returns the readable policies after a break. They only forbid.
func latterPolicies(s *operator.State, at *journal.Break) (sets []record.PolicySet) {
	_ = s.Dir.Journals().Salvage(journal.Leader, func(r journal.Record) { // records that cannot be read are left out
		var p record.PolicySet
		if r.Kind == record.KindPolicy && r.Seq > at.Prefix && json.Unmarshal(r.Body, &p) == nil {
			sets = append(sets, p)
		}
	})
	return sets
}
