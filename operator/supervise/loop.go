package supervise

import (
	"context"
	"time"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/policy"
	"waggle/spawn/terminal"
)

// turns is what `run` and `up` do in the loop that leads a team: their work at each turn, and their
// end.
type turns struct {
	dirs []string // directories that trigger a pass when they change, besides the mailboxes and the leader's journal
	pass func(context.Context) error
	// turn does what is due besides the pass, and reports whether that was the last turn. It is
	// called once more when ctx is done. While the leader's journal is broken (run.ill) it starts
	// and decides nothing.
	turn func(context.Context) (last bool, err error)
	// answer handles an answer from the terminal.
	answer func(context.Context, decide.Reply) error
	panes  *process.Panes // of members; nil: panes are not watched
	pane   func(terminal.Event)
}

// loop alternates passes and turns until a turn is the last or fails.
func (r *raised) loop(ctx context.Context, t turns) error {
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	dirs := append(r.o.Boxes(r.S.Team).Dirs(), r.S.Dir.LeaderJournal())
	nudges, end, err := operator.Watch(watch, 500*time.Millisecond, append(dirs, t.dirs...)...)
	if err != nil {
		return err
	}
	defer end()
	defer r.asking.End()
	var events <-chan terminal.Event
	if t.panes != nil {
		events = t.panes.Events
		defer t.panes.Wg.Wait()
		defer cancel()
	}
	for {
		if err := t.pass(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if last, err := t.turn(watch); last || err != nil {
			return err
		}
		if r.ill == nil { // requests are not shown while the journal is broken
			r.ask(ctx)
			r.wait()
			r.watch.Check(ctx, r.l)
		}
		select {
		case found := <-r.watch.Found:
			r.watch.Take(found, r.Note)
		case <-ctx.Done():
		case rep := <-r.asking.Replies():
			if err := t.answer(ctx, rep); err != nil {
				return err
			}
		case e := <-events:
			t.pane(e)
		case <-nudges:
		case <-r.l.Nudges():
		}
	}
}

// passing runs one leader pass, and then reads the outcome of the tasks. It tolerates locks, torn
// writes of other programs, a full disk and a broken journal (held).
func (r *raised) passing(ctx context.Context, tasks func(context.Context) error) error {
	if err := r.l.Pass(ctx); err != nil {
		if r.held(err) {
			return nil
		}
		if operator.Unpassing(err) != nil {
			return err
		}
	}
	if err := r.S.Journal.Refresh(ctx); err != nil {
		if r.held(err) {
			return nil
		}
		return operator.Unpassing(err)
	}
	r.held(nil)
	if err := tasks(ctx); operator.Unpassing(err) != nil {
		return err
	}
	process.DropLeft(r.S)
	r.noteNew()
	if now := r.o.Minter.Now(); now.Sub(r.briefed) >= briefPause {
		r.briefed = now
		r.o.KeepBrief(r.S.Team)
	}
	return nil
}

// briefPause is how old the snapshot of waggle status --line may become while records are written.
const briefPause = 5 * time.Second

// ask shows the open requests at the terminal.
func (r *raised) ask(ctx context.Context) {
	if r.showing == nil {
		return
	}
	a := &r.asking
	a.Operator, a.State, a.Ask = decide.Of(r.o.Operator), r.S, r.showing
	a.Put(ctx, r.S.Lead.Pending())
}

// wait passes on what waits for the operator.
func (r *raised) wait() {
	if r.waiting == nil {
		return
	}
	lead, all := r.S.Lead, []Waiting{}
	_, agent := lead.LeadAgent()
	agent = agent || r.o.Agent != nil
	for _, q := range lead.Pending() {
		first := agent && lead.ForLead(q) && lead.Policy.DeciderOf(q.Gate()) != policy.DecideTwo && decide.LeadOut(lead, q.Gate()) == ""
		if m, ok := lead.ByInstance(q.Instance); ok && !first {
			all = append(all, Waiting{q.Key, m.Name})
		}
	}
	r.waiting(r.S, all)
}

// answer handles an answer from the terminal.
func (r *raised) answer(ctx context.Context, rep decide.Reply) error {
	refused, err := r.asking.Take(ctx, rep)
	if refused != "" {
		r.Note(operator.Note{What: "not taken", Member: "", Text: refused})
	}
	return err
}
