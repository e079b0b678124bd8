package process

import (
	"context"
	"errors"

	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
)

// endHeld ends the members of a team that this process leads and whose journal is broken, by the
// records of their processes. Their end cannot be recorded.
func (o Operator) endHeld(ctx context.Context, s *operator.State, l *leader.Leader, why error) error {
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
