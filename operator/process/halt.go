package process

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/message"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// HaltOptions are the settings of Halt.
type HaltOptions struct {
	Grace  time.Duration // for members to cut their turns short; 0 means GraceUsual
	Reason string
	Note   func(operator.Note) // may be nil
}

// Values of MemberHalt.How.
const (
	HaltCut   = "cut"   // its turn was cut short
	HaltIdle  = "idle"  // it had no turn
	HaltEnded = "ended" // it did not cut its turn short in time: its processes were ended
	HaltDown  = "down"  // no process of it runs
	HaltRuns  = "runs"  // it goes on: another program runs it, or it could not be ended
)

// MemberHalt is what became of one member's work.
type MemberHalt struct {
	Member string   `json:"member"`
	How    string   `json:"how"`   // cut; idle: it had no turn; ended: it did not stop in time, and its processes were ended; down: none runs; runs: it goes on
	Task   string   `json:"task"`  // of the turn that was cut short; "": it had none
	Calls  []string `json:"calls"` // the calls that ran then, and were interrupted
	Asked  []string `json:"asked"` // handles of its open requests, which were closed: they are asked again when it goes on
	Why    string   `json:"why"`   // of HaltRuns: why it goes on
}

// Halted is what became of a team's work.
type Halted struct {
	Team    string       `json:"team"`
	At      time.Time    `json:"at"`
	Again   bool         `json:"again"`  // it was halted before
	Theirs  bool         `json:"theirs"` // another program leads it: nothing is stopped
	Members []MemberHalt `json:"members"`
	Reason  string       `json:"-"` // that is on record; of Again the one of before
	Unsaid  bool         `json:"-"` // another reason was given, which is not on record
}

// Kind is the outcome: None, nothing of the team runs any more; Timeout, a member had to be ended for it;
// Refused, a member goes on.
func (h *Halted) Kind() operator.Kind {
	kind := operator.None
	for _, m := range h.Members {
		switch m.How {
		case HaltRuns:
			return operator.Refused
		case HaltEnded:
			kind = operator.Timeout
		}
	}
	return kind
}

// Halt stops the work of a team, until GoOn: every member cuts its turn short and closes what it has asked; one that
// has not within the grace is ended as by Stop with Force. The team stays up, and so do its tasks, messages and
// conversations. A member that another program runs goes on. It works with and without a process that leads.
func (o Operator) Halt(ctx context.Context, name protocol.TeamName, ho HaltOptions) (*Halted, error) {
	s, err := o.Open(ctx, name, operator.Lead("stop"))
	if cfg, lerr := o.Listing(ctx, name); operator.KindOf(err) == operator.NotFound && lerr == nil {
		return others(name, cfg, o.Minter.Now()), nil
	}
	if err != nil {
		return nil, err
	}
	h := &Halted{Team: string(name), Members: []MemberHalt{}}
	live := s.Lead.Live()
	for _, m := range live {
		h.Members = append(h.Members, o.running(s, m))
	}
	reason := message.Clip(ho.Reason)
	recs, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) { return s.Lead.Stand(reason), nil })
	if err != nil {
		return nil, err
	}
	h.At, h.Again, h.Reason = s.Lead.Halt.At, len(recs) == 0, s.Lead.Halt.Reason
	h.Unsaid = reason != "" && reason != h.Reason
	rests := func(m *control.Member) bool {
		if m.Trust == record.FileTrust || m.Process == nil || operator.Gone(m.Process.ID) {
			return true
		}
		w, err := s.Worker(m.Instance)
		return err == nil && w.Rested == uint64(s.Lead.Halt.Seq)
	}
	busy := slices.Clone(live)
	o.Await(ctx, cmp.Or(ho.Grace, GraceUsual), func() bool {
		busy = slices.DeleteFunc(busy, rests)
		return len(busy) == 0
	})
	if ctx.Err() != nil {
		return h, ctx.Err()
	}
	for i, m := range live {
		mh, busy := &h.Members[i], slices.Contains(busy, m)
		var err error
		switch {
		case busy && m.Process.ID.Inside:
			err = fmt.Errorf("it runs inside process %d, which does not answer", m.Process.ID.PID)
		case busy:
			mh.How = HaltEnded
			_, err = o.Stop(ctx, name, string(m.Name), StopOptions{Force: true, Note: ho.Note})
		case mh.How != HaltRuns && (m.Process == nil || operator.Gone(m.Process.ID)):
			mh.How = HaltDown
			err = o.endCommands(ctx, s, m)
		}
		if err != nil {
			mh.How, mh.Why = HaltRuns, err.Error()
		}
	}
	return h, nil
}

// endCommands ends what the dead process of a member has left running. Whoever starts the member again does the rest
// first.
func (o Operator) endCommands(ctx context.Context, s *operator.State, m *control.Member) error {
	if m.Process == nil || m.Process.ID.Inside {
		return nil
	}
	if _, err := o.endGroups(ctx, s, m); err != nil {
		return err
	}
	if leads := s.Lead.Led != nil && s.Lead.Led.ID.Alive(); leads && m.Restart != nil && (m.Died == nil || !m.Died.GaveUp) {
		return nil
	}
	_, err := o.endMarked(ctx, s, m)
	return err
}

// others is the team that another program leads: nothing of it is stopped.
func others(name protocol.TeamName, cfg *team.Config, now time.Time) *Halted {
	h := &Halted{Team: string(name), At: now, Theirs: true, Members: []MemberHalt{}}
	for _, m := range cfg.Members {
		if !m.Gone() && !m.IsLead() {
			h.Members = append(h.Members, MemberHalt{Member: string(m.Name), How: HaltRuns, Calls: []string{}, Asked: []string{}, Why: "another program leads it"})
		}
	}
	return h
}

// running is what a member does before it is halted. A journal that cannot be read says nothing.
func (o Operator) running(s *operator.State, m *control.Member) MemberHalt {
	h := MemberHalt{Member: string(m.Name), How: HaltIdle, Calls: []string{}, Asked: []string{}}
	for _, q := range s.Lead.Pending() {
		if q.Instance == m.Instance {
			h.Asked = append(h.Asked, q.Handle)
		}
	}
	if m.Trust == record.FileTrust {
		h.How, h.Why, h.Asked = HaltRuns, "another program runs it", []string{}
		return h
	}
	w, err := s.Worker(m.Instance)
	if err != nil || w.Turn() == nil {
		return h
	}
	h.How, h.Task = HaltCut, w.Turn().Task
	for _, c := range w.Running() {
		h.Calls = append(h.Calls, decide.Brief(c.Kind, c.Run()))
	}
	return h
}

// GoOn lets a halted team go on. halted is false when it was not.
func (o Operator) GoOn(ctx context.Context, s *operator.State) (halted bool, err error) {
	if s.Lead.Halt == nil {
		return false, nil
	}
	if err := o.Guard(ctx, s, "resume"); err != nil {
		return false, err
	}
	recs, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) { return s.Lead.GoOn(), nil })
	return len(recs) > 0, err
}
