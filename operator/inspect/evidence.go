package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/internal/cut"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
	"waggle/task"
)

// Evidence is what the state of a member rests on. A time is zero where there is none.
type Evidence struct {
	Process  ProcessEvidence    `json:"process"`
	Journal  JournalEvidence    `json:"journal"`
	Orders   OrdersEvidence     `json:"orders"`
	Mailbox  MailboxEvidence    `json:"mailbox"`
	Output   OutputEvidence     `json:"output"`
	Terminal *TerminalEvidence  `json:"terminal"` // null: it has no terminal, or no record of one
	Died     *Death             `json:"died"`     // null: no record says that its newest start has died
	Tools    []process.LeftTool `json:"tools"`    // commands that its dead process has left running
	Stopping string             `json:"stopping"` // why its end is expected; "" when it is not
}

// ProcessEvidence is the state of the recorded process in the process table.
type ProcessEvidence struct {
	PID     int       `json:"pid"`   // 0: no process is recorded
	Start   string    `json:"start"` // kernel start time, opaque
	Epoch   uint64    `json:"epoch"` // the number of its start, from 1
	Since   time.Time `json:"since"`
	State   string    `json:"state"` // running, stopped, gone, none, unknown
	Problem string    `json:"problem"`
}

// JournalEvidence is the state in the member's own journal.
type JournalEvidence struct {
	State    string    `json:"state"` // of the worker's machine; "" without a journal
	LastKind string    `json:"last_kind"`
	LastAt   time.Time `json:"last_at"`
	Problem  string    `json:"problem"` // why it cannot be read
}

// OrdersEvidence has the orders that the member has not applied.
type OrdersEvidence struct {
	Unapplied int           `json:"unapplied"`
	Oldest    time.Time     `json:"oldest_at"`
	Watched   time.Duration `json:"watched_ms"` // how long the oldest was seen to stay unapplied while this program ran
}

// MailboxEvidence counts the unread entries of the member's mailbox.
type MailboxEvidence struct {
	Control int    `json:"unread_control"`
	Chat    int    `json:"unread_chat"`
	Oldest  string `json:"oldest_control_at"` // time of the oldest control entry: a claim of the entry, so it is text
	Problem string `json:"problem"`
}

// OutputEvidence is the member's output.log.
type OutputEvidence struct {
	Path string    `json:"path"`
	Size int64     `json:"size"`
	At   time.Time `json:"at"` // when it was written last; zero: there is none
}

// TerminalEvidence is what the holder of the member's terminal reports.
type TerminalEvidence struct {
	Socket string `json:"socket"` // the socket to attach to
	Pane   string `json:"pane"`   // of a multiplexer; "" for none
	Server string `json:"server"` // the multiplexer's socket
	Holder string `json:"holder"` // running, stopped, gone, unknown
	Ended  bool   `json:"ended"`  // the holder has seen the process end
	Exit   string `json:"exit"`   // its exit status
}

// probe gathers facts of the members of one team.
type probe struct {
	o       Operator
	s       *operator.State
	broken  string // the error of the leader's journal
	led     bool
	now     time.Time
	held    []terminal.Held
	tasks   []task.Task
	watched map[record.Instance]time.Duration
	oldest  map[record.Instance]uint64 // the order that watched is about
	edits   []edits                    // of the running members
	rows    *session.View              // the sessions that run; nil: not listed
	marked  []spawn.Marked             // processes with a member's mark, when some member's process is dead; nil: not searched
}

// probe reads what is the same for all members. What cannot be read is left out, and the facts have
// less.
func (o Operator) probe(ctx context.Context, s *operator.State) (*probe, error) {
	k := &probe{o: o, s: s, now: o.Minter.Now(), watched: map[record.Instance]time.Duration{}, oldest: map[record.Instance]uint64{}}
	if s.Damaged != nil {
		k.broken = s.Damaged.Error()
	}
	k.held, _ = o.Terminals(s)
	if list, err := task.Open(o.Root.TasksDir(s.Team), s.Team, task.Options{}); err == nil {
		k.tasks, _, _ = list.All(ctx)
	}
	var err error
	k.led, err = s.Dir.Led()
	return k, err
}

// look gathers the facts about one member. w is nil when it has no readable journal.
func (k *probe) look(ctx context.Context, m *control.Member) (MemberFacts, *Evidence, *control.Worker) {
	f := MemberFacts{Now: k.now, Led: k.led, Files: m.Trust == record.FileTrust, Client: m.Backend == operator.BackendMCP, Since: m.Since, Ending: ending(m), Broken: k.broken, Finished: finished(m)}
	g := &Evidence{Stopping: f.Ending, Journal: JournalEvidence{Problem: k.broken}}
	k.process(m, &f, g)
	k.tools(m, g)
	k.output(m, &f, g)
	k.mailbox(ctx, m, &f, g)
	if m.Died != nil {
		f.Death = &Death{At: m.DiedAt, Detail: m.Died.Detail, GaveUp: m.Died.GaveUp}
		if m.Died.Again != nil {
			f.Death.Again = *m.Died.Again
		}
		g.Died = new(*f.Death)
		if k.foundNow(m) {
			f.Death.At = time.Time{} // only now seen: its last sign says more
		}
	}
	if m.Left != nil && f.Death == nil {
		f.Death = &Death{At: m.LeftAt}
	}
	if m.InQueue() {
		f.Queued = fmt.Sprintf("place %d of %d in the queue; %d of the members without a team file work at once", k.s.Lead.Place(m), len(k.s.Lead.Queue()), k.s.Lead.AtOnce())
	}
	if m.Process == nil && !f.Files {
		if why, at, failed := process.Of(k.o.Operator).SetupOf(k.s, m); failed {
			f.Setup = &Waits{What: why, Since: at}
		}
	}
	if f.Files {
		k.registered(ctx, m, &f)
		k.saidByFile(m, &f)
		k.bySession(m, &f)
		return f, g, nil
	}
	w, err := k.s.Worker(m.Instance)
	if err != nil {
		f.Broken = err.Error()
		g.Journal = JournalEvidence{Problem: f.Broken}
		return f, g, nil
	}
	k.journal(m, w, &f, g)
	return f, g, w
}

// foundNow reports a death that no journal has yet: this look found it.
func (k *probe) foundNow(m *control.Member) bool {
	return slices.ContainsFunc(k.s.Found, func(r journal.Record) bool {
		b, err := record.Body[record.Died](r)
		return r.Kind == record.KindDied && err == nil && b.Instance == m.Instance
	})
}

// tools looks for commands that a dead process has left. Where the process table cannot be read it
// finds none.
func (k *probe) tools(m *control.Member, g *Evidence) {
	g.Tools = []process.LeftTool{}
	if m.Trust == record.FileTrust || m.Process == nil || !operator.Gone(m.Process.ID) {
		return
	}
	if k.marked == nil {
		all, _ := spawn.AllMarked()
		k.marked = append([]spawn.Marked{}, all...)
	}
	if left, _ := process.Of(k.o.Operator).LeftTools(k.s, m, k.marked); len(left) > 0 {
		g.Tools = left
	}
}

// ending returns why the end of a member's process is expected.
func ending(m *control.Member) string {
	switch {
	case m.Left != nil:
		return leftWhy(m)
	case m.Stopping != nil:
		return "it is being ended" + operator.Suffix(m.Stopping.Why)
	case m.Approved:
		return "it approved its shutdown"
	case m.Shutdown != nil:
		return "it was asked to end"
	}
	return ""
}

func (k *probe) process(m *control.Member, f *MemberFacts, g *Evidence) {
	if m.Process == nil {
		g.Process.State = "none"
		return
	}
	id := m.Process.ID
	f.PID, f.StartedAt, f.Inside = id.PID, m.ProcAt, id.Inside
	g.Process = ProcessEvidence{PID: id.PID, Start: id.Start, Epoch: m.Process.Epoch, Since: m.ProcAt}
	state, err := id.State()
	if f.Process = state; err != nil {
		f.Unseen = err.Error()
		state = "unknown"
	}
	g.Process.State, g.Process.Problem = string(state), f.Unseen
	for _, h := range k.held {
		if h.Process == id {
			g.Terminal = terminalEvidence(h)
		}
	}
}

func terminalEvidence(h terminal.Held) *TerminalEvidence {
	t := &TerminalEvidence{Socket: h.Place.Socket, Holder: string(spawn.Gone), Ended: h.Ended}
	if p := h.Place.Pane; p != nil {
		t.Pane, t.Server = p.ID, p.Socket
	}
	if h.Place.Holder != nil {
		state, err := h.Place.Holder.State()
		if t.Holder = string(state); err != nil {
			t.Holder = "unknown"
		}
	}
	if h.Ended {
		t.Exit = fmt.Sprintf("exit status %d", h.Exit.Code)
		if h.Exit.Signal != "" {
			t.Exit = "ended by signal " + h.Exit.Signal
		}
	}
	return t
}

func (k *probe) output(m *control.Member, f *MemberFacts, g *Evidence) {
	g.Output.Path = filepath.Join(k.o.Root.MemberDir(k.s.Team, m.Name), task.LogName)
	st, err := os.Lstat(g.Output.Path)
	if err != nil {
		return
	}
	g.Output.Size, g.Output.At = st.Size(), st.ModTime()
	if st.Size() > 0 && !st.ModTime().Before(m.JoinedAt) {
		f.LastSign = st.ModTime()
	}
}

// unread reads what is unread in a mailbox, and repairs nothing.
func (o Operator) unread(ctx context.Context, name protocol.TeamName, member protocol.MemberName) ([]mailbox.Entry, error) {
	box, err := o.Boxes(name).Open(member, mailbox.Options{Unmended: true})
	if err != nil {
		return nil, err
	}
	return box.Unread(ctx)
}

func (k *probe) mailbox(ctx context.Context, m *control.Member, f *MemberFacts, g *Evidence) {
	unread, err := k.o.unread(ctx, k.s.Team, m.Name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			g.Mailbox.Problem = err.Error()
		}
		return
	}
	for _, e := range unread {
		if e.Err != nil || !mail.Controls(mail.EntryOf(e)) {
			if g.Mailbox.Chat++; e.Err == nil && !k.s.Lead.Wakes(e.ID.String(), e.Envelope) {
				f.Held = fmt.Sprintf("keeps what %s said for its next turn: agents only answered each other", e.Envelope.From)
			}
			continue
		}
		if g.Mailbox.Control++; g.Mailbox.Oldest == "" {
			g.Mailbox.Oldest = e.Envelope.Timestamp
		}
	}
}

// saidByFile takes the facts that a member of another program reported to the lead: a request, or
// that it is idle.
func (k *probe) saidByFile(m *control.Member, f *MemberFacts) {
	for _, r := range k.s.Lead.Pending() {
		if r.Instance == m.Instance && f.Asks == nil {
			f.Asks = &Waits{What: "asks by file: " + decide.Gist(r.Kind, r.Ask), Since: r.Seen}
		}
	}
	f.Resting = m.LastIdle != nil && m.State() == machine.Idle
}

// bySession takes the facts of an adopted session: what its client registers and its hooks report of it.
func (k *probe) bySession(m *control.Member, f *MemberFacts) {
	if m.Backend != mail.BackendAdopted || f.Process != spawn.Running {
		return
	}
	if k.rows == nil {
		v := k.o.sessions()
		k.rows = &v
	}
	r, ok := k.rows.OfProcess(f.PID)
	if !ok || r.State == session.RowUnknown {
		return
	}
	f.Session = &Health{Since: r.Since, Why: "its session is " + r.State + operator.Suffix(r.Why)}
	switch {
	case len(r.Open) > 0:
		f.Session.Why = "asks " + r.Open[0].Handle + ": " + brief(decide.Brief(r.Open[0].Kind, r.Open[0].Ask))
		fallthrough
	case r.State == session.RowWaitingHuman:
		f.Session.State = StateHuman
	case r.State == session.RowBusy:
		f.Session.State = StateWorking
	default:
		f.Session.State = StateIdle
	}
}

// registered takes the facts that config.json has about a member that waggle does not run.
func (k *probe) registered(ctx context.Context, m *control.Member, f *MemberFacts) {
	cfg, err := k.o.Registry(ctx, k.s.Team)
	if err != nil {
		return
	}
	if rm, ok := cfg.Member(m.Name); ok && !rm.Gone() {
		f.Active, f.Source = idleHint(*rm), "config.json"
	}
}

func (k *probe) journal(m *control.Member, w *control.Worker, f *MemberFacts, g *Evidence) {
	g.Journal.LastKind = w.Last.Kind
	if w.Epoch > 0 {
		g.Journal.State, g.Journal.LastAt = string(w.State()), w.Last.At
	}
	if w.Last.At.After(f.LastSign) {
		f.LastSign = w.Last.At
	}
	if m.Process == nil || w.Epoch < m.Process.Epoch {
		return
	}
	f.Up, f.Ready = true, w.Ready != nil
	if w.ReadyAt.After(f.Since) {
		f.Since = w.ReadyAt
	}
	k.orders(m, w, f, g)
	k.spending(w, f)
	if b := m.Borrowed; b != nil && !b.By.Ended() {
		f.Taken = &Waits{What: fmt.Sprintf("a person has its session, in process %d; it goes on when that ends", b.By.PID), Since: b.At}
		if w.Yielded != uint64(b.Seq) {
			f.Taken.What = fmt.Sprintf("a person takes its session, with process %d, as soon as no call of it runs", b.By.PID)
		}
	}
	if b := w.Blocking(); len(b) > 0 {
		k.asks(b[0], f)
	}
	if w.Pane != "" && f.Asks == nil {
		f.Asks = &Waits{What: "its pane waits for a person: " + w.Pane, Since: w.PaneAt}
	}
	for _, c := range w.Running() {
		if c.Epoch == w.Epoch { // it is not known whether a command of an earlier start ran
			f.Commands = append(f.Commands, Command{What: brief(decide.Brief(c.Kind, c.Run())), Since: c.StartedAt, Heard: g.Output.At})
		}
	}
	if t := w.Turn(); t != nil && f.Turn == nil {
		f.Turn = &Waits{What: "has a turn", Since: w.TurnAt}
		// What it does meanwhile it says in its status alone, as a check that runs.
		if st, err := task.ReadState(k.o.Root.MemberDir(k.s.Team, m.Name)); err == nil && st.Status == task.MemberRunning && st.ErrorMessage != "" {
			f.Turn.What = brief(st.ErrorMessage)
		}
		if w.State() == machine.PlanProposed {
			f.Turn.What = "is planning"
		}
	}
	if todo := w.Waiting(); len(todo) > 0 {
		k.todo(m, todo[0], f)
	}
	k.failures(m, f)
}

// spending takes the facts of a budget that is used up, as soon as that keeps the member from
// something, and of a usage limit.
func (k *probe) spending(w *control.Worker, f *MemberFacts) {
	if until, ok := w.LimitedUntil(k.now); ok && w.Turn() != nil {
		f.Limited = &Limited{Since: w.LimitedAt, Until: until, Why: w.Limited.Reason}
	}
	if h := k.s.Lead.Halt; h != nil && w.Rested == uint64(h.Seq) {
		f.Paused = &Waits{Since: h.At, What: StoppedWhy}
		return
	}
	e, c := w.Over(k.s.Lead), w.BudgetCall()
	if e == nil || c == nil || c.Answer == nil && !c.Open() {
		return
	}
	f.Paused = &Waits{Since: c.Asked, What: e.String() + "; "}
	switch r, seen := k.s.Lead.Request(c.Key); {
	case c.Open() && seen && r.Decided == nil:
		f.Paused.What += "it asks you to raise it: " + r.Handle
	case c.Open():
		f.Paused.What += "it asks you to raise it"
	default:
		f.Paused.What += "it was not raised"
	}
}

// asks takes the fact that a request waits, and for whom. An answered one waits for nobody.
func (k *probe) asks(c *control.Call, f *MemberFacts) {
	r, seen := k.s.Lead.Request(c.Key)
	m, _ := k.s.Lead.ByInstance(c.Instance)
	what := k.questionOf(m, c)
	decider := k.s.Lead.Policy.DeciderOf(record.GateOf(c.Kind))
	byLead := m != nil && m.Leads() // which the operator has to answer
	ofLead := k.led && (decider == policy.DecideLeader || decider == policy.DecideTwo) && (!seen || k.s.Lead.ForLead(r)) && !byLead
	out := ""
	if ofLead {
		out = decide.LeadOut(k.s.Lead, record.GateOf(c.Kind))
	}
	switch {
	case seen && r.Decided != nil:
		f.Turn = &Waits{What: "has a turn; the answer to " + r.Handle + " is on its way", Since: r.At}
		return
	case out != "":
		what += ", " + out
	case ofLead && decider == policy.DecideLeader:
		f.Asks = &Waits{What: what + ", the lead's agent answers", Since: c.Asked, Peer: true}
		return
	}
	f.Asks = &Waits{What: what, Since: c.Asked}
}

// questionOf says what a call waits to have answered, and its risk, with what people type for it once a leader has
// recorded it.
func (k *probe) questionOf(m *control.Member, c *control.Call) string {
	asks := "asks: "
	if r, ok := k.s.Lead.Request(c.Key); ok && r.Handle != "" {
		asks = "asks " + r.Handle + ": "
	}
	return asks + brief(decide.Gist(c.Kind, c.Ask)) + " (" + string(decide.RiskOf(m, &control.Request{Key: c.Key, Ask: c.Ask})) + ")"
}

// todo finds the members whose tasks a member's task waits for.
func (k *probe) todo(m *control.Member, t *control.TaskState, f *MemberFacts) {
	f.Held, f.Begins = "has task "+t.ID+" to begin", true
	for _, mine := range k.tasks {
		if string(mine.ID) != t.ID {
			continue
		}
		for _, id := range task.Blocked(mine, k.tasks) {
			for _, other := range k.tasks {
				if other.ID == id && other.Owner != "" && !protocol.SameName(protocol.MemberName(other.Owner), m.Name) {
					f.Todo = &Waits{What: fmt.Sprintf("its task %s waits for task %s of %s, which is %s", t.ID, id, other.Owner, other.Status), Since: f.Since, For: other.Owner}
					return
				}
			}
			f.Held, f.Unowned = fmt.Sprintf("has task %s to do, which waits for task %s", t.ID, id), "task "+string(id)
		}
	}
}

// failedText names a task that failed, and says why.
func failedText(t task.Task, why string) string {
	what := operator.Visible(cut.Runes(t.Subject, 40)) + " (task " + string(t.ID) + ")"
	if why == "" {
		return what + " failed"
	}
	return what + ": " + why
}

// failures finds a task of a member that failed, one that waits for such a task of anybody, and the newest
// that the member alone says is done.
func (k *probe) failures(m *control.Member, f *MemberFacts) {
	states := board.States(k.s.Lead, k.tasks)
	for _, t := range k.tasks {
		if !protocol.SameName(protocol.MemberName(t.Owner), m.Name) {
			continue
		}
		switch states[t.ID] {
		case board.StateCompleted:
			if board.Unchecked(m, t.ID) {
				f.Said = fmt.Sprintf("says task %s is done", t.ID)
			}
		case board.StateFailed:
			if why, ok := board.Failed(k.s.Lead, t); ok && f.Failed == nil {
				f.Failed = &Waits{What: failedText(t, why), Since: m.IdleAt}
			}
		case board.StateBlocked:
			if f.HeldUp == nil {
				f.HeldUp = &Waits{What: fmt.Sprintf("its task %s waits for a task that failed", t.ID), Since: f.Since, For: culprit(t, k.tasks, states)}
			}
		}
	}
}

// culprit is the failed task for which a blocked one waits, also by others, after its owner: ann/3. Tasks may wait for
// each other in a circle: other programs write them.
func culprit(t task.Task, tasks []task.Task, states map[task.ID]board.TaskState) string {
	seen := map[task.ID]bool{}
	for todo := task.Blocked(t, tasks); len(todo) > 0; {
		id := todo[0]
		todo = todo[1:]
		i := slices.IndexFunc(tasks, func(o task.Task) bool { return o.ID == id })
		if i < 0 || seen[id] {
			continue
		}
		seen[id] = true
		switch {
		case states[id] == board.StateBlocked:
			todo = append(todo, task.Blocked(tasks[i], tasks)...)
		case states[id] == board.StateFailed && tasks[i].Owner == "":
			return "task " + string(id)
		case states[id] == board.StateFailed:
			return tasks[i].Owner + "/" + string(id)
		}
	}
	return "a task"
}

// orders finds the orders that the member should have applied. The age of an older order is counted
// from the start of its process.
func (k *probe) orders(m *control.Member, w *control.Worker, f *MemberFacts, g *Evidence) {
	for _, ord := range k.s.Lead.Unclosed(m.Instance) {
		if ord.Words != nil || !w.Wants(ord) {
			continue
		}
		if g.Orders.Unapplied++; f.Overdue != nil {
			continue
		}
		at := ord.At
		if m.ProcAt.After(at) {
			at = m.ProcAt
		}
		watched := k.watched[m.Instance]
		if k.oldest[m.Instance] != uint64(ord.Seq) {
			watched = 0
		}
		k.oldest[m.Instance] = uint64(ord.Seq)
		f.Overdue = &Overdue{What: "the " + ord.What() + " for it", Since: at, Watched: watched}
		g.Orders.Oldest, g.Orders.Watched = at, watched
	}
}

// watchEvery is the interval at which unapplied orders are checked again.
const watchEvery = 100 * time.Millisecond

// confirm watches members with old orders, until the orders are applied or have stayed unapplied
// for stallWatched. It waits by timers, which stand still while the machine sleeps, so that a sleep
// alone is never reported as a stall.
func (k *probe) confirm(ctx context.Context) error {
	late := time.NewTimer(stallWatched)
	defer late.Stop()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	was := maps.Clone(k.oldest)
	for over := false; !over; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			over = true
		case <-tick.C:
		}
		if err := k.s.Journal.Refresh(ctx); err != nil {
			return err
		}
		for i, seq := range was {
			if m, ok := k.s.Lead.ByInstance(i); !ok || k.first(m) != seq {
				delete(was, i) // the member has applied it
			}
		}
		over = over || len(was) == 0
	}
	for i := range was {
		k.watched[i] = stallWatched
	}
	k.now = k.o.Minter.Now()
	if k.s.Damaged != nil || k.s.Lead.Ended != nil {
		return nil
	}
	_, err := k.o.Preview(ctx, k.s) // Refresh has dropped what the first Preview folded
	return err
}

// first returns the seq of the oldest order that a member has not applied, 0 for none.
func (k *probe) first(m *control.Member) uint64 {
	w, err := k.s.Worker(m.Instance)
	if err != nil {
		return 0
	}
	var f MemberFacts
	fresh := &probe{s: k.s, oldest: map[record.Instance]uint64{}}
	fresh.orders(m, w, &f, &Evidence{})
	return fresh.oldest[m.Instance]
}

// suspect reports facts that are a stall if watching confirms them.
func (f MemberFacts) suspect() bool {
	if f.Overdue == nil || f.Overdue.Watched > 0 {
		return false
	}
	o := *f.Overdue
	o.Watched, f.Overdue = stallWatched, &o
	return f.Health().State == StateStalled && f.Process == spawn.Running
}

// briefly is how many characters of a command a line of status shows.
const briefly = 60

func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > briefly {
		s = string(r[:briefly]) + "…"
	}
	return s
}
