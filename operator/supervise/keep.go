package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
	"waggle/task"
)

// keeper is a process that keeps a team up (`up`).
type keeper struct {
	*raised
	lo   LeadOptions
	self spawn.Identity

	up        bool              // Up was called
	failed    []error           // of the first starts
	first     []*control.Member // of these, what failed for lack of a resource and is tried again
	until     time.Time         // for how long
	restarted map[record.Instance]record.Died
	again     map[record.Instance]time.Time // when a start that failed for lack of a resource is tried again
	trouble   poll.Troubles
	panes     *process.Panes
	folds     operator.WorkerFolds // of conditions
	moved     bool                 // processes, and so panes, were started since settlePanes
	queue     beginning
}

// lead starts the members that do not run, and passes until there is a reason to stop.
func (k *keeper) lead(ctx context.Context) (how string, err error) {
	if err := k.begin(ctx); err != nil {
		return "", err
	}
	k.S.Settled()
	if err := k.startAll(ctx); err != nil {
		return "", err
	}
	how, err = k.keep(ctx)
	k.queue.end()
	if err != nil || how != LedEnded {
		return how, err
	}
	// The end has its own time limit: members are asked to end also after an interrupt.
	return how, k.end(context.WithoutCancel(ctx))
}

// begin records that this process leads from now on, and reads what happened before.
func (k *keeper) begin(ctx context.Context) error {
	first := k.S.Lead.Led == nil
	if err := k.o.leads(ctx, k.S, record.LeadingProcess{ID: k.self, Detached: k.lo.Detached}); err != nil {
		return err
	}
	if first {
		return k.pass(ctx)
	}
	note := k.To
	k.To = nil // events that earlier processes have noted are not noted again
	err := k.pass(ctx)
	k.To = note
	return err
}

// leads records that this process leads.
func (o Operator) leads(ctx context.Context, s *operator.State, b record.LeadingProcess) error {
	b.Version = o.Version
	if err := s.Dir.NoteStarted(home.Started{Team: s.Team, Root: o.RootURL, Name: protocol.Lead, ID: b.ID}); err != nil {
		return err
	}
	err := s.Put(ctx, journal.Writer{Instance: string(s.Lead.Instance), Epoch: s.Lead.Epoch, PID: o.PID}, record.KindLeading, b)
	return errors.Join(err, s.Dir.Made()) // the process that created the team was stopped before that
}

// startAll starts every member whose process does not run.
func (k *keeper) startAll(ctx context.Context) error {
	if err := k.assignRest(ctx); err != nil { // the orders are in the mailboxes before the processes run
		return err
	}
	k.until = k.o.Minter.Now().Add(cmp.Or(k.lo.Ready, readyWait))
	k.startFirst(ctx, restartable(k.S))
	k.l.Begun()
	return nil
}

// startFirst starts members of a team that is not up yet. What fails for lack of a resource is tried again (again).
func (k *keeper) startFirst(ctx context.Context, ms []*control.Member) {
	list, err := k.o.startAll(ctx, k.l, k.S, ms, k.lo.Ready, k.Note)
	k.first = nil
	if err = k.unblocked(err); err != nil && operator.Passing(err) && k.o.Minter.Now().Before(k.until) {
		k.trouble.Note("first starts", err, "members cannot be started now, will retry")
		k.first = slices.DeleteFunc(slices.Clone(ms), func(m *control.Member) bool {
			return slices.ContainsFunc(list, func(st *started) bool { return st.member.Instance == m.Instance })
		})
		err = nil
	}
	if err != nil {
		k.failed = append(k.failed, lacking(err))
	}
	for _, st := range list {
		k.Note(st.note(st.member.Backend))
	}
	k.coming = append(k.coming, list...)
}

// lacking is the final failure of a first start. For lack of a resource it is no error that may pass any more.
func lacking(err error) error {
	lack := poll.Lack(err)
	if lack == nil || !operator.Passing(err) {
		return err
	}
	e := &operator.Error{Kind: operator.Failed, Op: "start", Msg: fmt.Sprintf("%v, also when tried again", err)}
	if errors.Is(lack, syscall.EMFILE) {
		e.Advice = operator.MoreDescriptors
	}
	return e
}

// keep leads until the team is to end, or another process is to lead.
func (k *keeper) keep(ctx context.Context) (how string, err error) {
	var dirs []string
	for _, m := range k.S.Lead.Live() {
		own := k.S.Dir.JournalOf(string(m.Instance))
		if err := os.MkdirAll(own, 0o700); err != nil { // without the directory, changes are found by the clock only
			return "", err
		}
		dirs = append(dirs, own)
	}
	k.panes = process.Of(k.o.Operator).Panes(k.S)
	defer k.watch.Close()
	err = k.loop(ctx, turns{dirs: dirs, pass: k.pass, answer: k.replied, panes: k.panes, pane: k.pane, turn: func(ctx context.Context) (bool, error) {
		how, err = k.turn(ctx)
		return how != "", err
	}})
	return how, err
}

// turn does what is due besides the pass, and returns a reason to stop leading.
func (k *keeper) turn(ctx context.Context) (how string, err error) {
	switch {
	case k.ill == nil:
		how, err = k.look(ctx)
		return how, operator.Unpassing(err)
	case ctx.Err() != nil:
		return k.leave(), nil
	case k.overtaken(ctx):
		return LedLeft, nil
	}
	return "", nil
}

// pane notes an event of a member's pane.
func (k *keeper) pane(e terminal.Event) {
	k.moved = k.moved || e.What == terminal.PaneOpened
	if n := k.panes.Note(e); n.Text != "" {
		k.Note(n)
	}
}

// replied handles an answer from the terminal. No answer ends a process that keeps a team up.
func (k *keeper) replied(ctx context.Context, rep decide.Reply) error {
	k.warn("the answer has no effect", k.answer(ctx, rep), "id", rep.Answer.ID)
	return nil
}

// pass runs one leader pass and reads the outcome of the tasks.
func (k *keeper) pass(ctx context.Context) error {
	return k.passing(ctx, func(context.Context) error {
		k.l.View(func(lead *control.Leader) {
			k.job.adopt(lead)
			for _, t := range k.job.tasks {
				t.look(lead)
			}
		})
		return nil
	})
}

// look does what is due besides the pass, and returns a reason to stop leading.
func (k *keeper) look(ctx context.Context) (how string, err error) {
	switch {
	case k.S.Lead.Closing != nil, k.S.Lead.Ended != nil:
		return LedEnded, nil
	case ctx.Err() != nil:
		return k.leave(), nil
	}
	k.arrive()
	if len(k.first) > 0 {
		k.startFirst(ctx, slices.DeleteFunc(k.first, func(m *control.Member) bool { return !slices.Contains(restartable(k.S), m) }))
	}
	if k.S.Lead.Detached && !k.lo.Detached && len(k.coming) == 0 && k.up {
		return LedDetached, nil // the next leader finds every member recorded
	}
	if len(k.coming) == 0 && len(k.first) == 0 && !k.up {
		if err, other := errors.Join(k.failed...), (*ContractError)(nil); err != nil && (k.lo.Whole || errors.As(err, &other)) {
			return "", err
		}
		if err := k.o.leads(context.WithoutCancel(ctx), k.S, record.LeadingProcess{ID: k.self, Detached: k.lo.Detached, Up: true}); err != nil {
			return "", err // the next call tries again
		}
		for _, err := range k.failed { // the team stays up, and failed members are restarted by their policies
			k.Note(operator.Note{What: "trouble", Member: "", Text: err.Error()})
		}
		k.up, k.moved = true, true
		if k.lo.Up != nil {
			k.lo.Up(k.S)
		}
	}
	k.restart(ctx)
	if k.up {
		k.advance(ctx)
	}
	if k.up && len(k.coming) == 0 && k.moved {
		k.moved = false
		k.settlePanes(ctx)
	}
	k.panes.Show(ctx, k.conditions)
	return "", nil
}

// conditions are those of the members, in the words that status has. One goroutine calls it: that of k.panes.
func (k *keeper) conditions(ctx context.Context) (map[string]string, error) {
	op := k.o.Operator
	op.Folds = &k.folds
	st, err := inspect.Of(op).Status(ctx, k.S.Team)
	if err != nil {
		return nil, err
	}
	words := map[string]string{}
	for _, m := range st.Members {
		words[m.Name] = m.Words(func(t time.Time) string { return t.In(k.o.Minter.Now().Location()).Format("15:04") })
	}
	return words, nil
}

// leave returns what the end of this process means for the team.
func (k *keeper) leave() string {
	if k.lo.Detached {
		return LedLeft
	}
	return LedEnded
}

// settlePanes watches the panes of members' present processes, and closes those of former ones, whose
// records say how they ended.
func (k *keeper) settlePanes(ctx context.Context) {
	k.warn("panes are not watched", k.panes.Watch(ctx))
	k.warn("a pane of a former process is not closed", process.Of(k.o.Operator).CloseTerminals(ctx, k.S, process.Unread))
}

// arrive checks which of the started members are ready.
func (k *keeper) arrive() {
	var left []*started
	for _, st := range k.coming {
		over, err := k.ready.settle(st, k.lo.Accept, k.Note)
		if err != nil && !k.up && operator.Passing(err) { // the look has failed, not the start
			if k.o.Minter.Now().Before(st.until) {
				left = append(left, st)
				continue
			}
			err = lacking(fmt.Errorf("%s was not seen to be ready: %w", st.member.Name, err))
		}
		switch {
		case !over:
			left = append(left, st)
		case err == nil:
		case !k.up:
			k.failed = append(k.failed, err)
		default:
			k.Note(operator.Note{What: "trouble", Member: string(st.member.Name), Text: err.Error()})
		}
	}
	k.coming = left
}

// startAgain is the pause after a start that failed for lack of descriptors or space.
const startAgain = 2 * time.Second

// restart restarts the members whose back-off is over.
func (k *keeper) restart(ctx context.Context) {
	now := k.o.Minter.Now()
	for _, m := range k.S.Lead.Live() {
		d := m.Died
		if d == nil || d.Again == nil || now.Before(*d.Again) || m.Stopping != nil || m.Approved {
			continue
		}
		if now.Before(k.again[m.Instance]) {
			continue
		}
		if slices.ContainsFunc(k.coming, func(st *started) bool { return st.member.Instance == m.Instance }) {
			continue // an earlier start of it is still in progress
		}
		if last := k.restarted[m.Instance]; last.Epoch == d.Epoch && last.Attempt == d.Attempt && last.Again != nil && last.Again.Equal(*d.Again) {
			continue // it was started after this death already
		}
		k.restarted[m.Instance] = *d
		list, err := k.o.startAll(ctx, k.l, k.S, []*control.Member{m}, k.lo.Ready, k.Note)
		if operator.Passing(err) { // the failure is not the member's, and the start does not count
			k.trouble.Note("start "+string(m.Instance), err, "a member cannot be started now, will retry", "member", m.Name)
			delete(k.restarted, m.Instance)
			k.again[m.Instance] = now.Add(startAgain)
			continue
		}
		k.trouble.Note("start "+string(m.Instance), nil, "")
		if err != nil {
			k.Note(operator.Note{What: "trouble", Member: string(m.Name), Text: err.Error()})
			if err := k.l.Fail(ctx, m.Instance, err.Error()); err != nil {
				k.warn("a failed start is not on record, will retry", err, "member", m.Name)
				delete(k.restarted, m.Instance) // no record has the time of the next try
				k.again[m.Instance] = now.Add(startAgain)
			}
			continue
		}
		k.coming, k.moved = append(k.coming, list...), true
		k.Note(operator.Note{What: "restarted", Member: string(m.Name), Text: fmt.Sprintf("pid %d", list[0].proc.Identity().PID)})
	}
}

// end ends the team in the way that the operator asked for.
func (k *keeper) end(ctx context.Context) error {
	e := process.TeamEnd{Reason: "the operator ends the team", Grace: cmp.Or(k.lo.Grace, process.GraceUsual), Hurry: k.lo.Hurry}
	if c := k.S.Lead.Closing; c != nil {
		e.Grace, e.Force, e.Reason = time.Duration(c.Grace)*time.Millisecond, c.Force, cmp.Or(c.Reason, e.Reason)
	}
	k.noteEnd(e)
	process.Sweeps(k.S, k.To)
	err := errors.Join(process.Of(k.o.Operator).EndTeam(ctx, k.l, k.S, e, k.noteNew), process.Of(k.o.Operator).CloseTerminals(ctx, k.S, process.AllRead))
	if cerr := k.l.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if e.Force {
		err = process.Of(k.o.Operator).FreeLease(ctx, k.S)
	}
	err = errors.Join(err, process.Of(k.o.Operator).TidyWorktrees(ctx, k.Reporter))
	_, aerr := process.Of(k.o.Operator).Archive(ctx, k.S, process.EndedDown)
	return errors.Join(err, aerr, process.Of(k.o.Operator).Sweep(ctx, k.S, k.Note))
}

// assignRest assigns the tasks of the file that are not assigned yet: all of a new team, and those of a run, which assigns
// them one after the other, that was interrupted. After an acknowledged break it is not known which tasks
// were assigned or completed, so the operator assigns them.
func (k *keeper) assignRest(ctx context.Context) error {
	if k.S.Lead.Continued > 0 {
		return nil
	}
	all, _, err := k.job.board.All(ctx)
	if err != nil {
		return err
	}
	ids := map[string]task.ID{}
	for _, t := range all {
		if _, taken := ids[t.Subject]; !taken {
			ids[t.Subject] = t.ID
		}
	}
	for _, ft := range k.f.Tasks {
		id, ok := ids[ft.Subject]
		m, here := k.S.Lead.Member(ft.Owner)
		if !ok || !here || m.Left != nil {
			continue // it was removed from the board, or its owner has left
		}
		if _, given := k.S.Lead.Assignment(string(id)); given {
			continue
		}
		if err := (&jobTask{FileTask: ft, id: id, words: record.WordsOfFile}).give(ctx, k.l); err != nil {
			return err
		}
	}
	return k.S.Journal.Refresh(ctx)
}
