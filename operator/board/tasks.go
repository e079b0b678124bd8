package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/cut"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

// TaskView is a task as `task list` shows it (commands §4).
type TaskView struct {
	ID        task.ID     `json:"id"`
	Subject   string      `json:"subject"`
	Owner     string      `json:"owner"`
	Status    task.Status `json:"status"`     // as the file has it: of a failed or blocked task pending
	State     TaskState   `json:"state"`      // Status, failed or blocked
	BlockedBy []task.ID   `json:"blocked_by"` // as the file has it, with completed ones
	Blocked   bool        `json:"blocked"`    // one of BlockedBy is neither completed nor removed
	WaitsFor  []task.ID   `json:"waits_for"`  // the tasks of BlockedBy that are open
	// Note has what the board does not show: that the last run failed and how, who released the
	// task, that no member has an order for it.
	Note operator.Sentence `json:"note"`
}

// ForAgents is the task as the lead's agent and the clients of members get it.
func (t TaskView) ForAgents() agent.BoardTask {
	return agent.BoardTask{ID: string(t.ID), Subject: t.Subject, Owner: t.Owner, Status: string(t.Status), BlockedBy: protocol.Strings(t.WaitsFor)}
}

// ForAgents lists the tasks as agents get them.
func (o Operator) ForAgents(ctx context.Context, team protocol.TeamName) ([]agent.BoardTask, error) {
	list, err := o.Tasks(ctx, team, false)
	if err != nil {
		return nil, err
	}
	ts := []agent.BoardTask{}
	for _, t := range list.Tasks {
		ts = append(ts, t.ForAgents())
	}
	return ts, nil
}

// TaskList is a team's list.
type TaskList struct {
	Team     protocol.TeamName
	Tasks    []TaskView    // in order of id
	Forest   []task.Branch // the same tasks, in the order for people
	Problems []string      // files that cannot be read, or have an error
	Hidden   int           // the number of tasks of Claude Code's own harness that are left out
}

// TaskDetail is one task whole.
type TaskDetail struct {
	TaskView
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"active_form"`
	Blocks      []task.ID                  `json:"blocks"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
	Order       *TaskOrder                 `json:"order"` // nil: no member has an order from waggle
}

// TaskOrder is the newest order to do a task, as the leader's journal has it.
type TaskOrder struct {
	Member protocol.MemberName `json:"member"`
	Seq    uint64              `json:"seq"`
	At     time.Time           `json:"at"`
	By     policy.Role         `json:"by"`
	Sent   bool                `json:"sent"` // the message is in the member's mailbox
	SHA256 string              `json:"sha256"`
	Check  string              `json:"check,omitempty"` // decides whether it is done; "": the member's agent or its command
}

// board is a team's task list, with the team's registry and journal.
type board struct {
	op   string
	team protocol.TeamName
	list *task.List      // nil: the team has no list, and create was not set
	cfg  *team.Config    // nil: the team's directory is gone, and its list exists
	s    *operator.State // nil: waggle does not lead the team
}

// board opens a team's list. create makes a missing list.
func (o Operator) board(ctx context.Context, op string, name protocol.TeamName, create bool) (*board, error) {
	b := &board{op: op, team: name}
	dir := o.Root.TasksDir(name)
	_, none := os.Lstat(dir)
	var err error
	var missing *team.NotFoundError
	switch b.cfg, err = o.Registry(ctx, name); {
	case errors.As(err, &missing) && none == nil: // a list outlives its session
		b.cfg = nil
	case err != nil:
		return nil, err
	default:
		if b.s, err = o.Open(ctx, name, operator.Act); operator.Unled(err) {
			err = o.Moved(b.cfg)
		}
		if err != nil {
			return nil, err
		}
	}
	if errors.Is(none, fs.ErrNotExist) {
		switch {
		case !create:
			return b, nil
		case b.s != nil: // it was made with the team
			return nil, &operator.Error{Kind: operator.NotFound, Op: op, Msg: fmt.Sprintf("the task list of team %s is not there any more: %s was moved or deleted", name, dir), Advice: "put the directory back there"}
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, &operator.Error{Kind: operator.Failed, Op: op, Err: err}
		}
	}
	if b.list, err = task.Open(dir, name, task.Options{Queue: o.Root.Queue(name)}); err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: op, Err: err}
	}
	return b, nil
}

// get reads one task.
func (b *board) get(ctx context.Context, id task.ID) (task.Task, error) {
	if b.list == nil {
		return task.Task{}, b.explain(ctx, &task.NotFoundError{ID: id})
	}
	t, err := b.list.Get(ctx, id)
	if err == nil && t.Status == task.Deleted {
		err = &task.NotFoundError{ID: id}
	}
	return t, b.explain(ctx, err)
}

// Tasks lists a team's tasks. It records nothing: the note of a task whose owner has ended says
// that it was not released yet. Tasks of Claude Code's own harness are left out unless all is set.
func (o Operator) Tasks(ctx context.Context, name protocol.TeamName, all bool) (*TaskList, error) {
	b, err := o.board(ctx, "task list", name, false)
	if err != nil {
		return nil, err
	}
	l := &TaskList{Team: name, Tasks: []TaskView{}}
	if b.s != nil {
		if _, err := o.Preview(ctx, b.s); err != nil {
			l.Problems = append(l.Problems, "the team is not up to date: "+err.Error())
		}
	}
	if b.list == nil {
		return l, nil
	}
	tasks, problems, err := b.list.All(ctx)
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	l.Problems = append(l.Problems, problems...)
	shown := slices.DeleteFunc(slices.Clone(tasks), func(t task.Task) bool { return t.Status == task.Deleted || t.Internal() && !all })
	l.Forest = task.Forest(shown)
	for _, t := range tasks {
		if t.Internal() && t.Status != task.Deleted && !all {
			l.Hidden++
		}
	}
	states := States(b.lead(), tasks)
	for _, t := range shown {
		l.Tasks = append(l.Tasks, b.view(t, task.Blocked(t, tasks), states[t.ID]))
	}
	return l, nil
}

// Task returns one task with all details. It records nothing.
func (o Operator) Task(ctx context.Context, name protocol.TeamName, id task.ID) (*TaskDetail, error) {
	b, err := o.board(ctx, "task show", name, false)
	if err != nil {
		return nil, err
	}
	t, err := b.get(ctx, id)
	if err != nil {
		return nil, err
	}
	if b.s != nil {
		if _, err := o.Preview(ctx, b.s); err != nil {
			return nil, err
		}
	}
	v, err := b.viewNow(ctx, t)
	if err != nil {
		return nil, err
	}
	d := &TaskDetail{TaskView: v, Description: t.Description, ActiveForm: t.ActiveForm, Blocks: ids(t.Blocks), Metadata: t.Metadata}
	if d.Metadata == nil {
		d.Metadata = map[string]json.RawMessage{}
	}
	if order, m, ok := b.order(id); ok {
		d.Order = &TaskOrder{Member: m.Name, Seq: uint64(order.Seq), At: order.At, By: order.Commanded.By,
			Sent: order.Sent, SHA256: order.Commanded.Task.SHA256}
		if check, _ := b.checkOf(t); check != nil {
			d.Order.Check = check.Command
		}
	}
	return d, nil
}

// ids is a list that is never null.
func ids(in []task.ID) []task.ID { return append([]task.ID{}, in...) }

func (b *board) view(t task.Task, waits []task.ID, state TaskState) TaskView {
	t.Owner = lastOwner(b.lead(), t)
	return TaskView{ID: t.ID, Subject: t.Subject, Owner: t.Owner, Status: t.Status, State: state, BlockedBy: ids(t.BlockedBy),
		Blocked: len(waits) > 0 && t.Status != task.Completed, WaitsFor: ids(waits), Note: b.note(t)}
}

// viewNow is view for a task whose blockers have not been read.
func (b *board) viewNow(ctx context.Context, t task.Task) (TaskView, error) {
	waits, err := b.list.Blockers(ctx, t.ID)
	if err != nil {
		return TaskView{}, b.explain(ctx, err)
	}
	tasks := []task.Task{t}
	if len(waits) > 0 && b.s != nil {
		if tasks, _, err = b.list.All(ctx); err != nil {
			return TaskView{}, b.explain(ctx, err)
		}
	}
	return b.view(t, waits, States(b.lead(), tasks)[t.ID]), nil
}

// lead is the fold of the leader's journal, nil for a team that waggle does not lead.
func (b *board) lead() *control.Leader {
	if b.s == nil {
		return nil
	}
	return b.s.Lead
}

// order returns the newest order for a task, and its member.
func (b *board) order(id task.ID) (*control.Order, *control.Member, bool) {
	if b.s == nil {
		return nil, nil, false
	}
	order, ok := b.s.Lead.Assignment(string(id))
	if !ok {
		return nil, nil, false
	}
	m, ok := b.s.Lead.ByInstance(order.Instance)
	return order, m, ok
}

// doneNote is what the board does not show of a completed task.
func (b *board) doneNote(t task.Task) string {
	check, state := b.checkOf(t)
	_, m, ordered := b.order(t.ID)
	switch {
	case ordered && Unchecked(m, t.ID):
		return SaysItIsDone
	case check != nil && state != nil && state.Checked != nil && !state.Checked.Passed:
		return "completed on the board alone: its check failed (" + state.Checked.Why + "): " + check.Command
	case check != nil && (state == nil || state.Checked == nil):
		return "completed on the board alone: its check has not run"
	}
	return ""
}

// SaysItIsDone is what people are told of an Unchecked task.
const SaysItIsDone = "its agent says it is done; no check says so"

// note returns what the board does not show, and the step that it suggests.
func (b *board) note(t task.Task) operator.Sentence {
	says := func(text string) operator.Sentence { return operator.Sentence{Text: text} }
	if t.Status == task.Completed {
		return says(b.doneNote(t))
	}
	if r, ok := t.Released(); ok && t.Owner == "" {
		return says(fmt.Sprintf("given back: %s %s", r.From, r.Why))
	}
	order, m, ok := b.order(t.ID)
	if ok && protocol.SameName(m.Name, protocol.MemberName(t.Owner)) {
		switch turn, claim := m.Turns[string(t.ID)], m.Claimed[string(t.ID)]; {
		case claim != nil && m.Left == nil:
			return operator.Sentence{Text: fmt.Sprintf("%s says by file that it is done%s", m.Name, operator.Suffix(claim.Note)), Do: operator.Next{Step: operator.NextConfirmTask, ID: string(t.ID)}}
		case turn != nil && turn.Failed && m.Left == nil:
			return operator.Sentence{Text: "failed: " + turn.Note, Do: operator.Next{Step: operator.NextRepeatTask, ID: string(t.ID), Member: m.Name}}
		case turn != nil && turn.Failed:
			return says("failed: " + turn.Note)
		case m.Left != nil && b.s.Lead.Ended == nil:
			return says("its owner has ended")
		case record.HashText(t.Description) != order.Commanded.Task.SHA256:
			return says("its text is not the one that was assigned: it will not run")
		}
		return operator.Sentence{}
	}
	if b.s == nil || t.Owner == "" {
		return operator.Sentence{}
	}
	if m, ok := b.s.Lead.Member(protocol.MemberName(t.Owner)); ok && m.Left == nil && runsOrdersOnly(m) {
		return operator.Sentence{Text: "nobody ordered it", Do: operator.Next{Step: operator.NextOrderTask, ID: string(t.ID), Member: protocol.MemberName(t.Owner)}}
	}
	return operator.Sentence{}
}

// Unsettled is the note of the newest task of a member, "" when that is done or has none: a person has to look at it.
func Unsettled(s *operator.State, tasks []task.Task, m *control.Member) string {
	for _, t := range slices.Backward(tasks) {
		if protocol.SameName(protocol.MemberName(t.Owner), m.Name) {
			if t.Status == task.Completed {
				return ""
			}
			return (&board{s: s}).note(t).Text
		}
	}
	return ""
}

// runsOrdersOnly reports a member that runs nothing but orders: it does not read the board (trust
// §1).
func runsOrdersOnly(m *control.Member) bool { return m.Agent == "exec" || m.Agent == "script" }

// working returns the member whose turn runs the task.
func (b *board) working(id task.ID) (*control.Member, error) {
	if b.s == nil {
		return nil, nil
	}
	for _, m := range b.s.Lead.Live() {
		w, err := b.s.Worker(m.Instance)
		if operator.Broken(err) {
			continue // a member that has ended does not keep others from the task
		}
		if err != nil {
			return nil, err
		}
		if t := w.Turn(); t != nil && t.Task == string(id) {
			return m, nil
		}
	}
	return nil, nil
}

// idle returns an error when a member other than but is working on the task.
func (b *board) idle(id task.ID, but protocol.MemberName) error {
	m, err := b.working(id)
	if err != nil || m == nil || protocol.SameName(m.Name, but) {
		return err
	}
	return b.busy(id, m)
}

// busy refuses a task that a member is working on.
func (b *board) busy(id task.ID, m *control.Member) error {
	return &operator.Error{Kind: operator.Refused, Op: b.op, Msg: fmt.Sprintf("%s is working on task %s", m.Name, id), Next: operator.NextAwaitEnd.With()}
}

// explain adds to an error of the list the reason in words and the next step.
func (b *board) explain(ctx context.Context, err error) error {
	var state *task.StateError
	var missing *task.NotFoundError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return &operator.Error{Kind: operator.NotFound, Op: b.op, Msg: fmt.Sprintf("team %s has no task %s", b.team, clean(string(missing.ID))), Next: operator.NextListTasks.With(),
			Near: b.near(ctx), Err: err}
	case errors.As(err, &state):
		return b.refusal(state)
	}
	return err
}

// clean makes typed text fit for a message.
func clean(s string) string { return operator.Visible(cut.Runes(s, 40)) }

// near returns some ids of the list, for an error.
func (b *board) near(ctx context.Context) []string {
	if b.list == nil {
		return nil
	}
	all, _, err := b.list.All(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range all {
		if t.Status != task.Deleted && !t.Internal() && len(out) < 8 {
			out = append(out, string(t.ID))
		}
	}
	return out
}

func (b *board) refusal(e *task.StateError) error {
	out := &operator.Error{Kind: operator.Refused, Op: b.op, Err: e}
	say := func(next operator.Step, id, format string, args ...any) error {
		out.Next, out.Msg = operator.Next{Step: next, ID: id}, fmt.Sprintf(format, args...)+" ("+e.Why+")"
		return out
	}
	others := strings.Join(Texts(e.Tasks), ", ")
	switch e.Why {
	case task.AlreadyClaimed:
		return say(operator.NextReleaseOrAssign, string(e.ID), "task %s is %s's, %s", e.ID, e.Owner, e.Status)
	case task.AlreadyResolved:
		return say(operator.NextAddTask, "", "task %s is completed", e.ID)
	case task.IsBlocked:
		return say(operator.NextListOwners, "", "task %s waits for %s", e.ID, others)
	case task.AgentBusy:
		return say(operator.NextFinishTask, others, "the claimant has %s in progress", others)
	case task.Delisted:
		return say(operator.NextShowMembers, "", "the claimant has left team %s", b.team)
	case task.NothingToClaim:
		return say(operator.NextListTasks, "", "no task is pending, nobody's and ready")
	case task.NotOwner:
		return say(operator.NextClaimTask, string(e.ID), "task %s is nobody's", e.ID)
	case task.UnknownBlocker:
		return say(operator.NextListTasks, "", "there is no task %s to wait for", others)
	case task.Cycle:
		return say(operator.NextUnblockTask, "", "%s would wait for each other", circle(e.Tasks))
	case task.Changed:
		return say(operator.NextShowTask, string(e.ID), "somebody else changed task %s meanwhile: %s, owner %q", e.ID, e.Status, e.Owner)
	case task.BadStatus:
		out.Advice = "its file was written by another program"
		return say("", "", "task %s has the status %s, which nobody knows", e.ID, clean(string(e.Status)))
	}
	return out
}

// circle writes the tasks of a cycle in order. The new task of a cycle has no id.
func circle(ids []task.ID) string {
	if len(ids) == 1 {
		return "task " + string(ids[0]) + " and itself"
	}
	return "tasks " + strings.Join(Texts(ids), " → ")
}

// Texts returns ids as strings.
func Texts(ids []task.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = clean(string(id))
	}
	return out
}

// OpenTasks returns the unfinished tasks of a list, without those that another program keeps for itself.
// A list may exist without its team.
func (o Operator) OpenTasks(ctx context.Context, name protocol.TeamName) ([]task.Task, error) {
	list, err := task.Open(o.Root.TasksDir(name), name, task.Options{})
	if err != nil {
		return nil, err
	}
	all, _, err := list.All(ctx)
	if err != nil {
		return nil, err
	}
	var out []task.Task
	for _, t := range all {
		if t.Status != task.Deleted && t.Status != task.Completed && !t.Internal() {
			out = append(out, t)
		}
	}
	return out, nil
}
