package operator

import (
	"context"
	"errors"

	"waggle/control"
	"waggle/journal"
	"waggle/leader"
)

// held takes note of a leader's journal that is broken: while it is, this process decides
// and sends nothing, starts nobody, and reads the journal again from time to time
// (journal.File). nil, or another error, ends that.
func (r *run) held(err error) bool {
	b, ok := errors.AsType[*journal.BrokenError](err)
	if !ok || b.Journal != journal.Leader || b.Gone {
		if r.ill != nil && err == nil {
			r.ill = nil
			r.log().Info("the journal is whole again: deciding goes on")
			r.note(Note{"trouble", "", "its journal is whole again: deciding goes on"})
		}
		return false
	}
	if r.ill == nil {
		r.log().Warn("nothing is decided until the journal is whole again", "err", err)
		r.note(Note{"trouble", "", "nothing is decided until its journal is whole again: " + err.Error()})
	}
	r.ill = err
	return true
}

// endHeld ends the members of a team that this process leads, whose journal is broken, by
// the records of their processes. Their end is on no record.
func (o Operator) endHeld(ctx context.Context, s *State, l *leader.Leader, why error) error {
	w, err := o.wreck(ctx, s.Team)
	if err != nil {
		return errors.Join(why, err)
	}
	if w == nil { // this process has read more than what is there now
		w = &State{Dir: s.Dir, Team: s.Team, Journal: journal.NewMemory(string(s.Dir.UID), journal.Leader, o.Minter.Now).Open(control.NewLeader(nil)), Lead: s.Lead, broken: why}
	}
	for _, m := range w.Lead.Live() {
		if p := m.Process; p != nil && p.ID.Inside {
			continue // it ends with this process
		}
		if _, eerr := o.endWreckedMember(ctx, w, m); eerr != nil {
			err = errors.Join(err, eerr)
		}
	}
	return errors.Join(unreadable("down", s.Team, why), err)
}

// overtaken reports that the journal which others find there is whole, apart from an end
// that this process has read, and says that the team is to end: who wants that does it.
func (k *keeper) overtaken(ctx context.Context) bool {
	s, err := k.o.State(ctx, k.s.Team)
	return err == nil && (s == nil || s.Lead.Closing != nil)
}
