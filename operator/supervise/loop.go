package supervise

import (
	"context"
	"time"

	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/spawn/terminal"
)

// turns is what `run` and `up` put into the loop that leads a team: what they do at each
// turn, and when they have done.
type turns struct {
	dirs []string // besides the mailboxes and the leader's journal, that say when to pass
	pass func(context.Context) error
	// turn does what is due apart from the pass, and reports whether that was the last turn.
	// It is called once more when ctx is done. While the leader's journal is broken (run.ill)
	// nothing is started or decided.
	turn func(context.Context) (last bool, err error)
	// answer takes what was answered at the terminal.
	answer func(context.Context, decide.Reply) error
	panes  *process.Panes // of members; nil: none are watched
	pane   func(terminal.Event)
}

// loop passes, and takes turns, until a turn is the last or fails.
func (r *run) loop(ctx context.Context, t turns) error {
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	dirs := append(r.o.Boxes(r.S.Team).Dirs(), r.S.Dir.LeaderJournal())
	nudges, err := mailbox.Watch(watch, mailbox.WatchOptions{Interval: 500 * time.Millisecond}, append(dirs, t.dirs...)...)
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		for range nudges { // until the watcher has ended
		}
	}()
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
		if r.ill == nil { // nothing is asked until the journal is whole
			r.ask(ctx)
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

// passing runs one leader pass, and then looks at what became of the tasks. Locks, torn
// foreign writes and a full disk pass, and so does a journal that is broken (held).
func (r *run) passing(ctx context.Context, tasks func(context.Context) error) error {
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
	return nil
}
