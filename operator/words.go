package operator

import (
	"context"
	"errors"
	"fmt"

	"waggle"
	"waggle/agent"
	"waggle/control"
	"waggle/internal/atomicfile"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/team"
	"waggle/transport"
)

// ownJournal is where the operator's words to a team that another program leads
// are on record.
const ownJournal journal.Name = "operator"

// ledger opens the journal that holds the operator's words to a team: the
// leader's, or the operator's own beside a team that waggle does not lead.
func (o Operator) ledger(ctx context.Context, cfg *team.Config) (s *State, led bool, err error) {
	s, err = o.State(ctx, cfg.Name)
	if err != nil || s != nil {
		return s, true, err
	}
	s, err = o.openJournal(o.Home.Dir(o.RootURL, cfg.Name, uidOf(cfg)), cfg.Name, ownJournal)
	return s, false, err
}

// begin makes the operator's own journal when there is none.
func (o Operator) begin(ctx context.Context, s *State) error {
	if s.Lead.Instance != "" {
		return nil
	}
	instance, err := o.Minter.UID()
	if err != nil {
		return err
	}
	if _, err := o.Home.Create(o.RootURL, s.Team, s.Dir.UID); err != nil {
		return err
	}
	_, err = s.Journal.Append(ctx, o.writer(), func() ([]journal.Draft, error) {
		if s.Lead.Instance != "" {
			return nil, nil
		}
		return []journal.Draft{{Kind: control.RecOpened, Must: true, Body: control.Opened{Team: s.Team, Root: o.RootURL, UID: s.Dir.UID,
			Instance: control.Instance(instance), Name: "operator", Epoch: 1, Version: o.Version}}}, nil
	})
	return err
}

// sendMember records words and puts them into a member's mailbox.
func (o Operator) sendMember(ctx context.Context, s *State, way transport.Sender, to waggle.Address, env waggle.Envelope, m Message) Sent {
	res := Sent{To: to.String(), MsgID: env.MsgID, State: Failed, team: s.Team}
	fail := func(state Delivery, err error) Sent {
		res.State, res.Error, res.err = state, err.Error(), err
		return res
	}
	if err := s.receives(to.Member); err != nil {
		return fail(Refused, err)
	}
	if m.Want == Acknowledged && s.present(to.Member) == nil {
		return fail(Refused, &Error{Code: CodeRefused, Op: "send", Hint: "--wait delivered",
			Msg: fmt.Sprintf("%s is not run by waggle and acknowledges nothing: it was not sent", to.Member)})
	}
	ord, err := o.record(ctx, s, to.Member, env, m)
	if err != nil {
		return fail(Refused, err)
	}
	if old := ord.Words.Supersedes; old > 0 {
		if err := o.confirm(ctx, s, s.Lead.OrderAt(journal.Seq(old))); err != nil {
			res.Detail = err.Error() + ", and this one is sent as well"
		}
	}
	mem := s.present(to.Member)
	receipt, err := way.Send(ctx, to, env)
	var locked *mailbox.LockedError
	switch {
	case errors.As(err, &locked) && mem != nil:
		// On record, so that it cannot get lost: whoever leads sends it, and the
		// member fetches what is overdue itself.
		res.State, res.Detail = Queued, "its mailbox is locked; it is sent as soon as that ends"
		return res
	case err != nil:
		evidence := control.Failed + ": " + err.Error()
		return fail(Failed, errors.Join(err, o.append(ctx, s, func() ([]journal.Draft, error) { return s.Lead.Unsay(ord, evidence) })))
	}
	res.State, res.Ahead = Written, receipt.Ahead
	if err := o.append(ctx, s, func() ([]journal.Draft, error) {
		if ord.Sent {
			return nil, nil
		}
		return []journal.Draft{{Kind: control.RecSent, Must: true, Body: control.Sent{Ref: uint64(ord.Seq)}}}, nil
	}); err != nil {
		return fail(Written, fmt.Errorf("it is written, and the record of that is not: %w", err))
	}
	if why := s.busy(mem, m.Priority); res.Detail == "" {
		res.Detail = why
	}
	return res
}

func (o Operator) append(ctx context.Context, s *State, propose func() ([]journal.Draft, error)) error {
	_, err := s.Journal.Append(ctx, o.writer(), propose)
	return err
}

// record puts words on record, with what they replace.
func (o Operator) record(ctx context.Context, s *State, to waggle.MemberName, env waggle.Envelope, m Message) (*control.Order, error) {
	w := control.Words{Priority: m.Priority, By: policy.RoleOperator}
	if m.inside != nil {
		w.By = policy.RoleWorker
	}
	if m.Expires > 0 {
		t := o.Minter.Now().Add(m.Expires).UTC()
		w.Expires = &t
	}
	if m.Supersedes != "" {
		old, err := o.replaced(ctx, s, to, m.Supersedes)
		if err != nil {
			return nil, err
		}
		w.Supersedes = uint64(old.Seq)
	}
	err := o.append(ctx, s, func() ([]journal.Draft, error) { return s.Lead.Say(s.present(to), to, env, w) })
	if err != nil {
		return nil, err
	}
	ord := s.Lead.Spoken(env.Hash())
	if ord == nil {
		return nil, &Error{Code: CodeRefused, Op: "send", Msg: string(to) + " has just ended", Hint: "waggle status shows who is there"}
	}
	return ord, nil
}

// present is the membership of a name, nil for the lead and for a member
// that waggle does not run.
func (s *State) present(name waggle.MemberName) *control.Member {
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil || m.Trust == control.FileTrust {
		return nil
	}
	return m
}

// receives refuses a recipient that will never take a message. One that is busy,
// idle or not started yet will.
func (s *State) receives(name waggle.MemberName) error {
	m, ok := s.Lead.Member(name)
	if !ok {
		return nil // the lead, or a member that waggle does not run
	}
	refuse := func(why, hint string) error {
		return &Error{Code: CodeRefused, Op: "send", Msg: fmt.Sprintf("%s cannot receive messages: %s", name, why), Hint: hint}
	}
	switch {
	case m.Left != nil:
		return refuse(fmt.Sprintf("it left at %s (%s)", waggle.FormatTime(m.LeftAt), m.Left.How), "waggle status shows who is there")
	case m.State() == control.Terminated:
		return refuse("it has agreed to shut down", "waggle status shows who is there")
	case m.Process == nil:
		return nil
	}
	if alive, err := m.Process.ID.Check(); err == nil && !alive {
		return refuse(fmt.Sprintf("its process %d is gone", m.Process.ID.PID), "waggle status says how it ended")
	}
	return nil
}

// busy says what keeps a member from reading words at once, "" when nothing is
// known to.
func (s *State) busy(m *control.Member, p control.Priority) string {
	if m == nil {
		return ""
	}
	if m.Process == nil {
		return "it has not started yet"
	}
	w, err := s.Worker(m.Instance)
	if err != nil || w.Epoch == 0 {
		return ""
	}
	t := w.Turn()
	switch {
	case w.State() == control.ShuttingDown:
		return "it was asked to end"
	case t == nil:
		return ""
	case p == control.PriorityInterrupt:
		return "its turn is stopped"
	}
	what := "busy with messages"
	if t.Task != "" {
		what = "busy with task " + t.Task
	}
	switch {
	case p != control.PriorityNextTool:
	case agent.Hears(m.Agent):
		what += ", told before its next tool call"
	default:
		what += "; an " + m.Agent + " member reads nothing during a turn, so it is told after it"
	}
	return what
}

// replaced finds the words that others are to replace: to the same recipient, and
// not taken yet.
func (o Operator) replaced(ctx context.Context, s *State, to waggle.MemberName, id string) (*control.Order, error) {
	old, err := s.spoken(id)
	switch {
	case err != nil:
		return nil, err
	case old.Mail.To != to:
		return nil, &Error{Code: CodeUsage, Op: "send", Msg: fmt.Sprintf("%s went to %s, not to %s", id, old.Mail.To, to)}
	}
	if err := s.untaken(old); err != nil {
		return nil, err
	}
	if old.Instance == "" { // only the mailbox says whether it was read
		if err := o.pull(ctx, s, old); err != nil {
			return nil, err
		}
	}
	return old, nil
}

// spoken finds words of the operator by their msg_id or its beginning.
func (s *State) spoken(id string) (*control.Order, error) {
	found := s.Lead.SpokenAs(id)
	switch {
	case len(found) == 0 || len(id) < shortID:
		return nil, &team.NotFoundError{What: "message", Name: id}
	case len(found) > 1:
		e := &Error{Code: CodeUsage, Op: "msg", Msg: id + " begins several messages"}
		for _, f := range found {
			e.Near = append(e.Near, f.MsgID)
		}
		return nil, e
	}
	return found[0], nil
}

// shortID is how much of a msg_id names a message.
const shortID = 6

// untaken refuses words whose recipient's journal has them already.
func (s *State) untaken(o *control.Order) error {
	if o.Instance == "" {
		return nil
	}
	w, err := s.Worker(o.Instance)
	if err != nil {
		return err
	}
	if w.HasTaken(o) {
		return tooLate(o)
	}
	return nil
}

func tooLate(o *control.Order) error {
	return &Error{Code: CodeRefused, Op: "msg", Msg: fmt.Sprintf("too late: %s has taken %s already", o.Mail.To, o.MsgID),
		Hint: "waggle msg show " + o.MsgID}
}

// pull takes words out of the mailbox of a recipient that has no journal here.
// Only an unread entry can be.
func (o Operator) pull(ctx context.Context, s *State, ord *control.Order) error {
	if s.journal == ownJournal && ord.Mail.To == waggle.Lead {
		return &Error{Code: CodeRefused, Op: "msg", Msg: "team " + string(s.Team) + " has another leader, and its mailbox is not ours to change",
			Hint: "send another message"}
	}
	gone, err := o.unwrite(ctx, s, ord)
	if err != nil {
		return err
	}
	if !gone {
		return tooLate(ord)
	}
	return nil
}

// unwrite removes the unread entries of words from their mailbox.
func (o Operator) unwrite(ctx context.Context, s *State, ord *control.Order) (removed bool, err error) {
	box, err := o.box(&team.Config{Name: s.Team}, ord.Mail.To, nil)
	if err != nil {
		return false, err
	}
	entries, err := box.Entries(ctx)
	if err != nil {
		return false, err
	}
	var ids []mailbox.ID
	for _, e := range entries {
		if e.Err == nil && e.ID.Hash == ord.Hash {
			ids = append(ids, e.ID)
		}
	}
	gone, err := box.Withdraw(ctx, ids...)
	return len(gone) > 0, err
}

// Withdraw takes back words that nobody has taken. A worker of waggle's either has
// them in its journal, and then it is too late, or never takes them; a mailbox
// that another program reads is asked under its lock. Errors: not found (9), too
// late (6).
func (o Operator) Withdraw(ctx context.Context, name waggle.TeamName, id string) (Sent, error) {
	s, ord, err := o.find(ctx, name, id)
	if err != nil {
		return Sent{}, err
	}
	if err := o.guard(ctx, s, "withdraw"); err != nil {
		return Sent{}, err
	}
	res := Sent{To: string(ord.Mail.To), MsgID: ord.MsgID, State: Withdrawn, team: name}
	if ord.Closed && ord.End == control.Withdrawn {
		return res, nil
	}
	if err := s.untaken(ord); err != nil {
		return res, err
	}
	if ord.Instance == "" && !ord.Closed {
		if err := o.pull(ctx, s, ord); err != nil {
			return res, err
		}
	}
	err = o.append(ctx, s, func() ([]journal.Draft, error) { return s.Lead.Unsay(ord, control.Withdrawn) })
	if err != nil {
		return res, err
	}
	return res, o.confirm(ctx, s, ord)
}

func (o Operator) find(ctx context.Context, name waggle.TeamName, id string) (*State, *control.Order, error) {
	reg, err := team.Open(o.Root, name, atomicfile.Options{})
	if err != nil {
		return nil, nil, err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, _, err := o.ledger(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	ord, err := s.spoken(id)
	return s, ord, err
}

// confirm looks, once the record says that words were taken back, whether the
// member took them before it could see that. It looks under the lock of the
// member's journal: what the member takes later, it takes with that record before
// its eyes. Then the entry leaves the mailbox.
func (o Operator) confirm(ctx context.Context, s *State, ord *control.Order) error {
	if ord.Instance == "" {
		return nil
	}
	w := control.NewWorker(nil)
	j, err := s.Dir.Journals().Open(journal.Name(ord.Instance), w, s.jopts)
	if err != nil {
		return err
	}
	if w.Epoch > 0 { // else it has not started, and begins by reading the record
		if _, err := j.Append(ctx, o.writer(), func() ([]journal.Draft, error) { return nil, nil }); err != nil {
			return err
		}
	}
	if w.HasTaken(ord) {
		return tooLate(ord)
	}
	_, err = o.unwrite(ctx, s, ord)
	var locked *mailbox.LockedError
	if errors.As(err, &locked) {
		return nil // it stays there and is never delivered
	}
	return err
}

// steeringGuard refuses what only the lead itself may do with words.
func (o Operator) steeringGuard(ctx context.Context, s *State, led bool, m Message) error {
	if m.Priority == control.PriorityNormal {
		return nil
	}
	what := "send --priority " + string(m.Priority)
	switch {
	case !led:
		return &Error{Code: CodeRefused, Op: "send", Msg: "another program leads this team, and nothing here can reach into its members' turns",
			Hint: "send it without --priority"}
	case m.As != "":
		return &Error{Code: CodeRefused, Op: "send", Msg: "only the lead's own words go by " + string(m.Priority), Hint: "--as never carries authority; leave it out"}
	}
	return o.guard(ctx, s, what)
}
