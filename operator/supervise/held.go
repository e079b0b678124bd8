package supervise

import (
	"context"
	"errors"

	"waggle/journal"
	"waggle/operator"
)

// held handles a broken leader's journal: while it is broken, this process decides, sends and
// starts nothing, and reads the journal again from time to time (journal.File). nil, or another
// error, ends that.
func (r *raised) held(err error) bool {
	b, ok := errors.AsType[*journal.BrokenError](err)
	if !ok || b.Journal != journal.Leader || b.Gone {
		if r.ill != nil && err == nil {
			r.ill = nil
			r.log().Info("the journal is whole again: deciding goes on")
			r.Note(operator.Note{What: "trouble", Member: "", Text: "its journal is whole again: deciding goes on"})
		}
		return false
	}
	if r.ill == nil {
		r.log().Warn("nothing is decided until the journal is whole again", "err", err)
		r.Note(operator.Note{What: "trouble", Member: "", Text: "nothing is decided until its journal is whole again: " + err.Error()})
	}
	r.ill = err
	return true
}

// overtaken reports that the team has ended, or is ending, according to the present journal,
// although this process holds the broken one: another process ends it.
func (k *keeper) overtaken(ctx context.Context) bool {
	s, err := k.o.Open(ctx, k.S.Team, operator.Act)
	return operator.Unled(err) || err == nil && s.Lead.Closing != nil
}
