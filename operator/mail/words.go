package mail

import (
	"context"
	"errors"
	"fmt"

	"waggle/agent"
	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// JournalOf opens the journal that holds the operator's messages to a team: the leader's, or the
// operator's own beside a team that waggle does not lead.
func (o Operator) JournalOf(ctx context.Context, cfg *team.Config) (s *operator.State, led bool, err error) {
	s, err = o.Open(ctx, cfg.Name, operator.Act)
	if !operator.Unled(err) {
		return s, true, err
	}
	if err := o.Moved(cfg); err != nil {
		return nil, false, err
	}
	s = o.OpenKnown(home.Known{Dir: o.Home.Dir(o.RootURL, cfg.Name, operator.UIDOf(cfg)), Team: cfg.Name, Foreign: true})
	return s, false, s.Damaged
}

// begin makes the operator's own journal when there is none.
func (o Operator) begin(ctx context.Context, s *operator.State) error {
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
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if s.Lead.Instance != "" {
			return nil, nil
		}
		return []journal.Draft{{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: s.Team, Root: o.RootURL, UID: s.Dir.UID,
			Instance: record.Instance(instance), Name: "operator", Epoch: 1, Version: o.Version}}}, nil
	})
	return err
}

// Append appends the operator's records to the team's journal.
func (o Operator) Append(ctx context.Context, s *operator.State, propose func() ([]journal.Draft, error)) error {
	_, err := s.Journal.Append(ctx, o.Writer(), propose)
	return err
}

// presentAs returns the membership of a name, nil for the lead and for a member that waggle does
// not run.
func presentAs(s *operator.State, name protocol.MemberName) *control.Member {
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil || m.Trust == record.FileTrust {
		return nil
	}
	return m
}

// leads reports whether a process leads a team.
func leads(s *operator.State) bool { return s.Lead.Led != nil && s.Lead.Led.ID.Alive() }

// waits is what a person has to do before a member reads a message: the zero Next when the member, or the
// process that leads, does it.
func waits(s *operator.State, m *control.Member) operator.Next {
	if m == nil || m.Backend == operator.BackendMCP || leads(s) || m.Process != nil && !operator.Gone(m.Process.ID) {
		return operator.Next{}
	}
	return operator.Next{Step: operator.NextResumeTeam, Team: s.Team}
}

// receives refuses a recipient that will never take a message. A member that is busy, idle, not
// started yet, or dead and to be restarted will take it.
func receives(s *operator.State, name protocol.MemberName) error {
	m, ok := s.Lead.Member(name)
	if !ok {
		return nil // the lead, or a member that waggle does not run
	}
	refuse := func(why string, next operator.Step) error {
		return &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("%s cannot receive messages: %s", name, why),
			Next: operator.Next{Step: next, Team: s.Team, Member: m.Name}}
	}
	switch {
	case m.Left != nil:
		next := operator.NextReturnMember
		switch {
		case operator.Unreturning(m) != "":
			next = operator.NextWhoIsThere
		case !leads(s):
			next = operator.NextLeadReturn
		}
		return refuse(fmt.Sprintf("it left at %s (%s)", protocol.FormatTime(m.LeftAt), m.Left.How), next)
	case m.State() == machine.Terminated:
		return refuse("it has agreed to shut down", operator.NextWhoIsThere)
	case m.Process == nil || m.Restart != nil && (m.Died == nil || !m.Died.GaveUp):
		return nil // the leader, or waggle resume, restarts a dead member
	}
	if alive, err := m.Process.ID.Check(); err == nil && !alive {
		why := fmt.Sprintf("its process %d is gone, and it is not started again", m.Process.ID.PID)
		if m.Died != nil && m.Died.GaveUp {
			why = fmt.Sprintf("its process %d is gone; it was started again too often, and is given up", m.Process.ID.PID)
		}
		next := operator.NextResumeMember
		if !leads(s) {
			next = operator.NextResumeTeam
		}
		return refuse(why, next)
	}
	return nil
}

// busy returns why a member does not read a message at once, "" when no reason is known.
func busy(s *operator.State, m *control.Member, p record.Priority) string {
	if m == nil {
		return ""
	}
	switch {
	case m.Process == nil && m.Backend == operator.BackendMCP:
		return "no client is connected as it"
	case m.Process == nil:
		return "it has not started yet"
	}
	if alive, err := m.Process.ID.Check(); err == nil && !alive {
		return "its process has died; it reads it when it is started again"
	}
	w, err := s.Worker(m.Instance)
	if err != nil || w.Epoch == 0 {
		return ""
	}
	t := w.Turn()
	switch {
	case s.Lead.Halt != nil:
		return "all work is stopped; it reads it when that is over"
	case w.State() == machine.ShuttingDown:
		return "it was asked to end"
	case t == nil:
		return ""
	case p == record.PriorityInterrupt:
		return "its turn is stopped"
	}
	what := "busy with messages"
	if t.Task != "" {
		what = "busy with task " + t.Task
	}
	switch {
	case p != record.PriorityNextTool:
	case agent.Hears(m.Agent):
		what += ", told before its next tool call"
	default:
		what += "; an " + m.Agent + " member reads nothing during a turn, so it is told after it"
	}
	return what
}

// replaced finds the messages that a new one replaces: to the same recipient, and not taken yet.
func (o Operator) replaced(ctx context.Context, s *operator.State, to protocol.MemberName, id string) (*control.Order, error) {
	old, err := spoken(s, id)
	switch {
	case err != nil:
		return nil, err
	case old.Mail.To != to:
		return nil, &operator.Error{Kind: operator.Usage, Op: "send", Msg: fmt.Sprintf("%s went to %s, not to %s", id, old.Mail.To, to)}
	}
	if err := untaken(s, old); err != nil {
		return nil, err
	}
	if old.Instance == "" { // only the mailbox says whether it was read
		if err := o.pull(ctx, s, old); err != nil {
			return nil, err
		}
	}
	return old, nil
}

// spoken finds messages of the operator by their msg_id or its beginning.
func spoken(s *operator.State, id string) (*control.Order, error) {
	found := s.Lead.SpokenAs(id)
	switch {
	case len(found) == 0 || len(id) < shortID:
		return nil, &team.NotFoundError{What: "message", Name: id}
	case len(found) > 1:
		e := &operator.Error{Kind: operator.Usage, Op: "msg", Msg: id + " begins several messages"}
		for _, f := range found {
			e.Near = append(e.Near, f.MsgID)
		}
		return nil, e
	}
	return found[0], nil
}

// shortID is the shortest beginning of a msg_id that names a message.
const shortID = 6

// untaken refuses messages that the recipient's journal has already.
func untaken(s *operator.State, o *control.Order) error {
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
	return &operator.Error{Kind: operator.Refused, Op: "msg", Msg: fmt.Sprintf("too late: %s has taken %s already", o.Mail.To, o.MsgID),
		Next: operator.Next{Step: operator.NextShowMessage, ID: o.MsgID}}
}

// pull removes a message from the mailbox of a recipient that has no journal here. Only an unread
// entry can be removed.
func (o Operator) pull(ctx context.Context, s *operator.State, ord *control.Order) error {
	if s.JournalName == operator.OwnJournal && ord.Mail.To == protocol.Lead {
		return &operator.Error{Kind: operator.Refused, Op: "msg", Msg: "team " + string(s.Team) + " has another leader, and its mailbox is not ours to change",
			Advice: "send another message"}
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

// unwrite removes the unread entries of a message from their mailbox.
func (o Operator) unwrite(ctx context.Context, s *operator.State, ord *control.Order) (removed bool, err error) {
	box, err := o.Box(&team.Config{Name: s.Team}, ord.Mail.To, nil)
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

// Withdraw takes back a message that was not taken. A worker of waggle either has it in its
// journal, and then it is too late, or never takes it; for a mailbox that another program reads the
// entry is checked under the lock. Errors: not found (9), too late (6).
func (o Operator) Withdraw(ctx context.Context, name protocol.TeamName, id string) (Sent, error) {
	cfg, err := o.Registry(ctx, name)
	if err != nil {
		return Sent{}, err
	}
	s, _, err := o.JournalOf(ctx, cfg)
	if err != nil {
		return Sent{}, err
	}
	ord, err := spoken(s, id)
	if err != nil {
		return Sent{}, err
	}
	if err := o.Guard(ctx, s, "withdraw"); err != nil {
		return Sent{}, err
	}
	res := Sent{To: string(ord.Mail.To), MsgID: ord.MsgID, State: Withdrawn, team: name}
	if ord.Closed && ord.End == record.Withdrawn {
		return res, nil
	}
	if err := untaken(s, ord); err != nil {
		return res, err
	}
	if ord.Instance == "" && !ord.Closed {
		if err := o.pull(ctx, s, ord); err != nil {
			return res, err
		}
	}
	err = o.Append(ctx, s, func() ([]journal.Draft, error) { return s.Lead.Unsay(ord, record.Withdrawn) })
	if err != nil {
		return res, err
	}
	return res, o.confirm(ctx, s, ord)
}

// confirm checks, after the withdrawal is recorded, whether the member took the message before it
// could see that record. It checks under the lock of the member's journal: a later take reads the
// record first. Then the entry is removed from the mailbox.
func (o Operator) confirm(ctx context.Context, s *operator.State, ord *control.Order) error {
	if ord.Instance == "" {
		return nil
	}
	w := control.NewWorker(nil)
	j, err := s.Dir.OpenJournal(journal.Name(ord.Instance), w, s.JournalOptions)
	if err != nil {
		return err
	}
	if w.Epoch > 0 { // else the member has not started, and reads the record first
		if _, err := j.Append(ctx, o.Writer(), func() ([]journal.Draft, error) { return nil, nil }); err != nil {
			return err
		}
	}
	if w.HasTaken(ord) {
		return tooLate(ord)
	}
	_, err = o.unwrite(ctx, s, ord)
	var locked *mailbox.LockedError
	if errors.As(err, &locked) {
		return nil // the entry stays in the mailbox and is never delivered
	}
	return err
}

// steeringGuard refuses what only the lead itself may do with messages.
func (o Operator) steeringGuard(ctx context.Context, s *operator.State, led bool, m Message) error {
	if m.Priority == record.PriorityNormal {
		return nil
	}
	what := "send --priority " + string(m.Priority)
	switch {
	case !led:
		return &operator.Error{Kind: operator.Refused, Op: "send", Msg: "another program leads this team, and nothing here can reach into its members' turns",
			Next: operator.NextSendPlain.With()}
	case m.As != "":
		return &operator.Error{Kind: operator.Refused, Op: "send", Msg: "only the lead's own words go by " + string(m.Priority), Next: operator.NextSendAsLead.With()}
	}
	return o.Guard(ctx, s, what)
}
