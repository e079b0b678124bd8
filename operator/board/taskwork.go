package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

// TaskResult is the outcome of a step on a task.
type TaskResult struct {
	Task    TaskView `json:"task"`
	Changed bool     `json:"changed"` // false: the task was in this state already
	// Ordered says that the leader's journal has a new order for the task. The order makes a member
	// that waggle runs do the task.
	Ordered bool `json:"ordered"`
}

// NewTask is a task to put on the board.
type NewTask struct {
	Subject     string
	Description string // for an exec member without a command of its own: its command
	ActiveForm  string // shown while the task is in progress
	After       []task.ID
	Before      []task.ID // tasks that wait for it
	Owner       protocol.MemberName
	Terms       Terms // with an owner
	Typed       bool  // the operator has typed the description
}

// Terms are what an order adds to a task.
type Terms struct {
	Plan    bool // a plan must be approved first
	Timeout time.Duration
	Cwd     string        // relative to the member's directory
	Check   *record.Check // that decides whether it is done; nil: the member's
	As      string        // the member that assigns, in a team that waggle does not lead; "": the operator

	typed string // SHA-256 of instructions that the operator has typed
}

// AddTask puts a task on the board and, when an owner is named, assigns it, which
// takes a leader pass when nobody leads. When the task is on the board and has no owner, the result with the
// error has its id.
func (o Operator) AddTask(ctx context.Context, name protocol.TeamName, n NewTask) (*TaskResult, error) {
	const op = "task add"
	if strings.TrimSpace(n.Subject) == "" {
		return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: "a task needs a subject"}
	}
	if n.Owner == "" && n.Terms != (Terms{As: n.Terms.As}) {
		return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: "a check, a timeout, a directory and a plan are of an assignment", Advice: "name the owner too, or give them to task assign"}
	}
	for _, s := range []string{n.Subject, n.Description, n.ActiveForm} {
		if len(s) > protocol.MaxText || !utf8.ValidString(s) {
			return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: fmt.Sprintf("the texts of a task must be UTF-8 of at most %d bytes", protocol.MaxText)}
		}
	}
	b, err := o.board(ctx, op, name, true)
	if err != nil {
		return nil, err
	}
	var owner *team.Member
	if n.Owner != "" { // before there is a task
		if owner, err = o.owner(ctx, b, n.Owner); err != nil {
			return nil, err
		}
	}
	t, err := b.list.Create(ctx, task.Task{Subject: n.Subject, Description: n.Description, ActiveForm: n.ActiveForm, BlockedBy: n.After, Blocks: n.Before})
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	if owner == nil {
		v, err := b.viewNow(ctx, t)
		return &TaskResult{Task: v, Changed: true}, err
	}
	if n.Typed && o.Role() == policy.RoleOperator {
		n.Terms.typed = record.HashText(n.Description)
	}
	r, err := o.assign(ctx, b, t, owner, n.Terms)
	if err != nil {
		return &TaskResult{Task: TaskView{ID: t.ID}}, fmt.Errorf("task %s was made and has no owner: %w", t.ID, err)
	}
	r.Changed = true
	return r, nil
}

// guardBoard refuses a member's process that calls what only the operator may do.
func (o Operator) guardBoard(ctx context.Context, b *board) error {
	if b.s == nil {
		return nil
	}
	return o.Guard(ctx, b.s, b.op)
}

// owner finds the member that shall own a task, and refuses as guardBoard does.
func (o Operator) owner(ctx context.Context, b *board, name protocol.MemberName) (*team.Member, error) {
	if b.cfg == nil {
		return nil, &operator.Error{Kind: operator.NotFound, Op: b.op, Msg: fmt.Sprintf("team %s is gone; only its task list is still there", b.team)}
	}
	m, ok := b.cfg.Member(name)
	if !ok || m.Gone() {
		return nil, &team.NotFoundError{What: "member", Name: string(name), Near: b.cfg.Near(string(name))}
	}
	return m, o.guardBoard(ctx, b)
}

// AssignTask makes a member the owner of a task. For a member that waggle runs it appends an order
// to the leader's journal; only that order makes the member run the task (trust §1). A member that
// works on the task already gets no second order. Any other member gets a task_assignment in its
// mailbox (protocol §4). Assigning a task again to the member that failed it makes a new order. It
// takes a leader pass when no process leads.
func (o Operator) AssignTask(ctx context.Context, name protocol.TeamName, id task.ID, owner protocol.MemberName, terms Terms) (*TaskResult, error) {
	b, err := o.board(ctx, "task assign", name, false)
	if err != nil {
		return nil, err
	}
	m, err := o.owner(ctx, b, owner)
	if err != nil {
		return nil, err
	}
	if b.s != nil {
		if _, err := o.Pass(ctx, b.s); err != nil {
			return nil, err
		}
	}
	t, err := b.get(ctx, id)
	if err != nil {
		return nil, err
	}
	return o.assign(ctx, b, t, m, terms)
}

// assign gives a task that was read just now to a member.
func (o Operator) assign(ctx context.Context, b *board, seen task.Task, m *team.Member, terms Terms) (*TaskResult, error) {
	if seen.Status == task.Completed {
		return nil, b.refusal(&task.StateError{ID: seen.ID, Status: seen.Status, Owner: seen.Owner, Why: task.AlreadyResolved})
	}
	switch at, err := b.working(seen.ID); {
	case err != nil:
		return nil, err
	case at != nil && at.Name == m.Name:
		v, err := b.viewNow(ctx, seen)
		return &TaskResult{Task: v}, err
	case at != nil:
		return nil, b.busy(seen.ID, at)
	case !b.runs(m.Name) && (terms.Timeout != 0 || terms.Cwd != "" || terms.Check != nil):
		return nil, &operator.Error{Kind: operator.Usage, Op: b.op, Msg: fmt.Sprintf("waggle does not run %s, and cannot give it a timeout, a directory or a check", m.Name)}
	}
	by, err := o.assigner(ctx, b, m, terms.As)
	if err != nil {
		return nil, err
	}
	t, news, err := b.list.Handover(ctx, seen, m.Name, by, o.Minter.Now())
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	r := &TaskResult{Changed: news != nil}
	switch ours := b.ours(m.Name); {
	case ours != nil:
		ordered, err := o.order(ctx, b, ours.Instance, t, terms)
		if err != nil {
			return nil, fmt.Errorf("task %s is %s's on the board, and was not ordered (the same command again orders it): %w", t.ID, m.Name, err)
		}
		r.Changed, r.Ordered = r.Changed || ordered, ordered && b.runs(m.Name)
	case news != nil && (b.s == nil || m.Name != protocol.Lead):
		if err := o.tellOwner(ctx, b, m.Name, news, terms.Plan, by); err != nil {
			err = fmt.Errorf("task %s was not assigned: the message to %s failed: %w", t.ID, m.Name, err)
			if _, _, uerr := b.list.Handover(ctx, t, protocol.MemberName(seen.Owner), by, o.Minter.Now()); uerr != nil {
				err = fmt.Errorf("%w; and the board still names the new owner: %w", err, uerr)
			}
			return nil, err
		}
	}
	r.Task, err = b.viewNow(ctx, t)
	return r, err
}

// ours returns the member in the leader's journal, nil when it has no journal of waggle.
func (b *board) ours(name protocol.MemberName) *control.Member {
	if b.s == nil {
		return nil
	}
	if m, ok := b.s.Lead.Member(name); ok && m.Left == nil {
		return m
	}
	return nil
}

// runs reports whether waggle runs the member.
func (b *board) runs(name protocol.MemberName) bool {
	m := b.ours(name)
	return m != nil && m.Trust != record.FileTrust
}

// assigner returns the sender of an assignment. In a team that waggle leads it is the lead, by an
// order in the journal; an owner that only the registry has is appended to the journal now. In
// another program's team it is a member that was registered here.
func (o Operator) assigner(ctx context.Context, b *board, owner *team.Member, as string) (protocol.MemberName, error) {
	if b.s != nil {
		if b.ours(owner.Name) != nil || owner.IsLead() {
			return protocol.Lead, nil
		}
		if err := mail.Of(o.Operator).Admit(ctx, b.cfg, *owner); err != nil {
			return "", err
		}
		return protocol.Lead, b.s.Journal.Refresh(ctx)
	}
	if as != "" {
		if _, err := protocol.ParseMember(as); err != nil {
			return "", &operator.Error{Kind: operator.Usage, Op: b.op, Err: err}
		}
	}
	s, _, err := mail.Of(o.Operator).JournalOf(ctx, b.cfg)
	if err != nil {
		return "", err
	}
	return mail.Of(o.Operator).Signer(ctx, s, b.cfg, false, as)
}

// order appends to the leader's journal that a member is to do a task, and sends the message. It
// does not repeat a standing order, unless its turn has ended.
func (o Operator) order(ctx context.Context, b *board, i record.Instance, t task.Task, terms Terms) (news bool, err error) {
	want := record.Task{ID: string(t.ID), Subject: t.Subject, Instructions: t.Description, SHA256: record.HashText(t.Description),
		Cwd: terms.Cwd, TimeoutMS: terms.Timeout.Milliseconds(), PlanRequired: terms.Plan, Check: terms.Check}
	if terms.typed == want.SHA256 {
		want.Words = record.WordsOfOperator
	}
	if had, ok := b.s.Lead.Assignment(want.ID); ok { // an assignment keeps those of the task's terms that it does not set
		old := had.Commanded.Task
		want.Cwd, want.TimeoutMS = cmp.Or(want.Cwd, old.Cwd), cmp.Or(want.TimeoutMS, old.TimeoutMS)
		want.PlanRequired, want.Check, want.Optional = want.PlanRequired || old.PlanRequired, cmp.Or(want.Check, old.Check), old.Optional
		if old.SHA256 == want.SHA256 {
			want.Words = cmp.Or(want.Words, old.Words)
		}
	}
	w, err := b.s.Worker(i)
	if err != nil {
		return false, err
	}
	over := map[uint64]bool{}
	for _, ts := range w.Tasks {
		over[ts.Ref] = ts.Ended
	}
	mint, err := o.Minter.Mint()
	if err != nil {
		return false, err
	}
	_, err = b.s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		m, ok := b.s.Lead.ByInstance(i)
		if !ok || m.Left != nil {
			return nil, &control.RefusedError{Why: "that member has ended"}
		}
		if had, ok := b.s.Lead.Assignment(want.ID); ok && had.Instance == i && had.Commanded.Task.Equal(want) && !over[uint64(had.Seq)] {
			return nil, nil
		}
		news = true
		return b.s.Lead.Assign(m, want, o.Role(), mint)
	})
	if err != nil {
		return false, err
	}
	_, err = o.Pass(ctx, b.s)
	return news, err
}

// tellOwner writes a task_assignment into the mailbox of a member that waggle does not run. It has
// no more authority than any other message there.
func (o Operator) tellOwner(ctx context.Context, b *board, to protocol.MemberName, news *protocol.TaskAssignment, plan bool, by protocol.MemberName) error {
	from := string(by)
	news.AssignedBy, news.PlanModeRequired = from, plan
	text, err := protocol.Encode(*news, protocol.DialectWire)
	if err != nil {
		return err
	}
	mint, err := o.Minter.Mint()
	if err != nil {
		return err
	}
	env := protocol.Envelope{From: from, Text: text, Timestamp: protocol.FormatTime(mint.Now), MsgV: 1, MsgID: mint.MsgID, Type: "message"}
	if m, ok := b.cfg.Member(protocol.MemberName(from)); ok && m.Name != protocol.Lead {
		env.Color = m.Color
	}
	if env, err = mail.Extras(b.s, env, mail.Message{}); err != nil {
		return err
	}
	box, err := o.Box(b.cfg, to, nil)
	if err != nil {
		return err
	}
	return box.Append(ctx, env)
}

// ClaimTask makes a member the owner of a task without an owner and sets it in progress (protocol
// §4); id "" is the first available one. A member has one task in progress at a time. A claim
// changes the board and orders nothing: members that only run orders cannot claim. It takes a
// leader pass when no process leads.
func (o Operator) ClaimTask(ctx context.Context, name protocol.TeamName, id task.ID, as protocol.MemberName) (*TaskResult, error) {
	b, err := o.board(ctx, "task claim", name, false)
	if err != nil {
		return nil, err
	}
	if as, err = b.claimant(id, as); err != nil {
		return nil, err
	}
	if b.s != nil { // tasks of members that have ended have no owner
		if _, err := o.Pass(ctx, b.s); err != nil {
			return nil, err
		}
	}
	if b.list == nil && id == "" {
		return nil, b.refusal(&task.StateError{Why: task.NothingToClaim})
	}
	if id == "" {
		t, err := b.list.ClaimNext(ctx, as)
		return b.result(ctx, task.Task{}, t, err)
	}
	seen, err := b.get(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := b.list.ClaimIdle(ctx, id, as)
	return b.result(ctx, seen, t, err)
}

// claimant checks the member that claims.
func (b *board) claimant(id task.ID, as protocol.MemberName) (protocol.MemberName, error) {
	if b.cfg == nil || as == protocol.Lead {
		return as, nil
	}
	m, ok := b.cfg.Member(as)
	switch {
	case ok && m.Gone():
		return "", b.refusal(&task.StateError{ID: id, Why: task.Delisted})
	case !ok:
		return "", &team.NotFoundError{What: "member", Name: string(as), Near: b.cfg.Near(string(as))}
	}
	if ours := b.ours(m.Name); ours != nil && runsOrdersOnly(ours) {
		return "", &operator.Error{Kind: operator.Refused, Op: b.op, Msg: fmt.Sprintf("%s does only what it is ordered to do", m.Name), Next: operator.Next{Step: operator.NextAssignTask, ID: cmp.Or(string(id), "ID"), Member: m.Name}}
	}
	return m.Name, nil
}

// result returns the outcome of a step on the board.
func (b *board) result(ctx context.Context, seen, t task.Task, err error) (*TaskResult, error) {
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	v, err := b.viewNow(ctx, t)
	return &TaskResult{Task: v, Changed: seen.Status != t.Status || seen.Owner != t.Owner}, err
}

// StartTask sets a task in progress. as is its owner; "" is any owner.
func (o Operator) StartTask(ctx context.Context, name protocol.TeamName, id task.ID, as protocol.MemberName) (*TaskResult, error) {
	b, seen, err := o.step(ctx, "task start", name, id)
	if err != nil {
		return nil, err
	}
	t, err := b.list.Start(ctx, id, cmp.Or(as, protocol.MemberName(seen.Owner)))
	return b.result(ctx, seen, t, err)
}

// FinishTask sets a task completed. as is its owner; "" is any owner, or the lead when the task has
// none. It refuses a task that another member is working on, and a member that says that a task is done
// whose check has not passed: only the operator does.
func (o Operator) FinishTask(ctx context.Context, name protocol.TeamName, id task.ID, as protocol.MemberName) (*TaskResult, error) {
	b, seen, err := o.step(ctx, "task done", name, id)
	if err != nil {
		return nil, err
	}
	if err := b.idle(id, as); err != nil {
		return nil, err
	}
	if err := o.unchecked(b, seen, as); err != nil {
		return nil, err
	}
	said := as
	switch {
	case as == "" && seen.Owner == "":
		as = protocol.Lead
		if _, err := b.list.Claim(ctx, id, as); err != nil {
			return nil, b.explain(ctx, err)
		}
	case as == "":
		as = protocol.MemberName(seen.Owner)
	}
	t, err := b.list.Complete(ctx, id, as)
	if err == nil && b.s != nil {
		err = o.finish(ctx, b, id, said)
	}
	return b.result(ctx, seen, t, err)
}

// finish appends to the leader's journal that the operator has set a task done. What a member that waggle runs says of
// its own task is in that member's journal, and is not the operator's word: as is whose word it is, "" is that of
// whoever has typed the command.
func (o Operator) finish(ctx context.Context, b *board, id task.ID, as protocol.MemberName) error {
	_, m, ok := b.order(id)
	if !ok {
		return nil
	}
	if m.Trust != record.FileTrust {
		if as != "" {
			return nil
		}
		if callers, err := o.Callers(b.s); err != nil || len(callers) > 0 {
			return err
		}
	}
	return mail.Of(o.Operator).Append(ctx, b.s, func() ([]journal.Draft, error) { return b.s.Lead.Finish(string(id)), nil })
}

// unchecked refuses a member's word for a task whose check has not passed.
func (o Operator) unchecked(b *board, t task.Task, as protocol.MemberName) error {
	check, state := b.checkOf(t)
	if check == nil || state != nil && state.Ended && state.Checked != nil && state.Checked.Passed {
		return nil
	}
	if as == "" {
		callers, err := o.Callers(b.s)
		if err != nil || len(callers) == 0 {
			return err
		}
	}
	refused := &operator.Error{Kind: operator.Refused, Op: b.op, Msg: fmt.Sprintf("task %s has a check, which decides whether it is done, and has not passed: %s", t.ID, operator.Visible(check.Command)),
		Advice: "it runs when the member's turn on the task ends"}
	if state == nil {
		refused.Advice, refused.Next = "", operator.Next{Step: operator.NextOrderTask, ID: string(t.ID), Member: protocol.MemberName(t.Owner)}
	}
	return refused
}

// checkOf is the check of a task, by its order or the membership of its owner, and the task in the journal of
// that member; nil: there is none.
func (b *board) checkOf(t task.Task) (*record.Check, *control.TaskState) {
	order, m, ordered := b.order(t.ID)
	if !ordered {
		if m = b.ours(protocol.MemberName(t.Owner)); m == nil {
			return nil, nil
		}
	}
	w, err := b.s.Worker(m.Instance)
	if err != nil {
		w = control.NewWorker(nil) // without its journal nothing has passed
	}
	var state *control.TaskState
	for _, ts := range w.Tasks {
		if ordered && ts.Ref == uint64(order.Seq) {
			state = ts
		}
	}
	if !ordered {
		return m.CheckOf(nil), state
	}
	return m.CheckOf(order.Commanded.Task), state
}

// step opens the board for a change of one task.
func (o Operator) step(ctx context.Context, op string, name protocol.TeamName, id task.ID) (*board, task.Task, error) {
	b, err := o.board(ctx, op, name, false)
	if err != nil {
		return nil, task.Task{}, err
	}
	seen, err := b.get(ctx, id)
	return b, seen, err
}

// idleStep is step for what only the operator may do, and refuses a task that a member is working on.
func (o Operator) idleStep(ctx context.Context, op string, name protocol.TeamName, id task.ID) (*board, task.Task, error) {
	b, seen, err := o.step(ctx, op, name, id)
	if err == nil {
		err = o.guardBoard(ctx, b)
	}
	if err == nil {
		err = b.idle(id, "")
	}
	return b, seen, err
}

// ReleaseTask makes a task pending, without an owner. It refuses a task that a member is working
// on.
func (o Operator) ReleaseTask(ctx context.Context, name protocol.TeamName, id task.ID) (*TaskResult, error) {
	b, seen, err := o.idleStep(ctx, "task release", name, id)
	if err != nil {
		return nil, err
	}
	t, _, err := b.list.Handover(ctx, seen, "", protocol.Lead, o.Minter.Now())
	return b.result(ctx, seen, t, err)
}

// ReleaseAll releases every unfinished task of a member that has ended, and returns their ids. It
// serves members whose end waggle cannot see, and refuses a member that is known to run.
func (o Operator) ReleaseAll(ctx context.Context, name protocol.TeamName, owner protocol.MemberName) ([]task.ID, error) {
	b, err := o.board(ctx, "task release", name, false)
	if err != nil {
		return nil, err
	}
	if err := o.guardBoard(ctx, b); err != nil {
		return nil, err
	}
	if m := b.ours(owner); m != nil && m.Process != nil && m.Process.ID.Alive() {
		return nil, &operator.Error{Kind: operator.Refused, Op: b.op, Msg: fmt.Sprintf("%s runs as process %d", m.Name, m.Process.ID.PID), Next: operator.NextReleaseOne.With()}
	}
	if b.list == nil {
		return []task.ID{}, nil
	}
	released, err := b.list.ReleaseNoted(ctx, owner, task.NewReleased(owner, "was declared gone by the operator", o.Minter.Now()))
	return ids(released), b.explain(ctx, err)
}

// BlockTask adds and removes the tasks that a task waits for. all removes every one that is not
// added.
func (o Operator) BlockTask(ctx context.Context, name protocol.TeamName, id task.ID, add, drop []task.ID, all bool) (*TaskResult, error) {
	op := "task block"
	if len(add) == 0 {
		op = "task unblock"
	}
	b, seen, err := o.step(ctx, op, name, id)
	if err != nil {
		return nil, err
	}
	t, err := b.list.Update(ctx, id, func(t *task.Task) error {
		t.BlockedBy = slices.DeleteFunc(slices.Clone(t.BlockedBy), func(x task.ID) bool { return all || slices.Contains(drop, x) })
		for _, a := range add {
			if !slices.Contains(t.BlockedBy, a) {
				t.BlockedBy = append(t.BlockedBy, a)
			}
		}
		return nil
	})
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	v, err := b.viewNow(ctx, t)
	return &TaskResult{Task: v, Changed: !slices.Equal(seen.BlockedBy, t.BlockedBy)}, err
}

// RemoveTask removes a task as Claude Code does: its id is not used again, and tasks that waited
// for it stop waiting. It refuses a task that a member is working on.
func (o Operator) RemoveTask(ctx context.Context, name protocol.TeamName, id task.ID) error {
	b, _, err := o.idleStep(ctx, "task rm", name, id)
	if err != nil {
		return err
	}
	return b.explain(ctx, b.list.Delete(ctx, id))
}
