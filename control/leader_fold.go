package control

import (
	"fmt"
	"slices"

	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Apply implements journal.Fold. After an error the fold is not used further: every later Apply
// returns that error, unless the record may be set aside.
//
// Apply distinguishes two cases. A record that its writer was not allowed to write, or that decides
// a decided request, has no effect and is listed in Ignored. A record that only a defective program
// writes is an error.
func (l *Leader) Apply(r journal.Record) error {
	if l.failed != nil {
		return l.failed
	}
	err := l.apply(r)
	if !l.MaySetAside(r.Kind) {
		l.failed = err
	}
	if l.brief {
		l.forget(r.Kind)
	}
	return err
}

func (l *Leader) apply(r journal.Record) error {
	fn, ok := leaderRecords[r.Kind]
	switch {
	case !ok && r.Must:
		return &journal.FutureError{What: fmt.Sprintf("record kind %q", r.Kind)}
	case !ok:
		return nil
	case l.Instance == "" && r.Kind != record.KindOpened:
		return fmt.Errorf("%s before the journal was opened", r.Kind)
	case l.Instance != "" && r.Kind != record.KindProcess && r.Kind != record.KindOpened && !l.fromLead(r.Writer):
		return l.ignore(r, "only the lead and the operator write it")
	}
	return fn(l, r)
}

// decoded is a method of a fold that takes the body of a record, as one that reads it.
func decoded[F, T any](fn func(F, journal.Record, T) error) func(F, journal.Record) error {
	return func(f F, r journal.Record) error {
		b, err := record.Body[T](r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Kind, err)
		}
		return fn(f, r, b)
	}
}

// operatorOnly is a method of the fold for a record that only the operator writes: from another it has no effect.
func operatorOnly[T any](why string, fn func(*Leader, journal.Record, T) error) func(*Leader, journal.Record, T) error {
	return func(l *Leader, r journal.Record, b T) error {
		if !r.Writer.Operator {
			return l.ignore(r, why)
		}
		return fn(l, r, b)
	}
}

var leaderRecords = map[string]func(*Leader, journal.Record) error{
	record.KindOpened:       decoded((*Leader).openedRec),
	record.KindPolicy:       decoded(operatorOnly("only the operator sets the policy", (*Leader).policyRec)),
	record.KindJoined:       decoded((*Leader).joinedRec),
	record.KindProcess:      decoded((*Leader).processRec),
	record.KindLeft:         decoded((*Leader).leftRec),
	record.KindLeading:      decoded((*Leader).leadingRec),
	record.KindDied:         decoded((*Leader).diedRec),
	record.KindStopping:     decoded((*Leader).stoppingRec),
	record.KindEnding:       decoded(operatorOnly("only the operator ends the team", (*Leader).endingRec)),
	record.KindDetached:     decoded(operatorOnly("only the operator detaches", (*Leader).detachedRec)),
	record.KindSeen:         decoded((*Leader).seenRec),
	record.KindDecided:      decoded((*Leader).decidedRec),
	record.KindVoted:        decoded((*Leader).votedRec),
	record.KindCommanded:    decoded((*Leader).commandedRec),
	record.KindSent:         decoded((*Leader).sentRec),
	record.KindClosed:       decoded((*Leader).closedRec),
	record.KindSaid:         decoded((*Leader).saidRec),
	record.KindTaken:        decoded(operatorOnly("only the operator reads the lead's mailbox", (*Leader).takenRec)),
	record.KindUnverified:   decoded((*Leader).unverifiedRec),
	record.KindNoticed:      decoded((*Leader).noticedRec),
	record.KindDiverged:     decoded((*Leader).divergedRec),
	record.KindAcknowledged: decoded(operatorOnly("only the operator acknowledges", (*Leader).acknowledgedRec)),
	record.KindDone:         decoded(operatorOnly("only the operator sets a task done", (*Leader).doneRec)),
	record.KindEnded:        decoded((*Leader).endedRec),
	record.KindBudget:       decoded(operatorOnly("only the operator sets a budget", (*Leader).budgetRec)),
	record.KindSpent:        decoded((*Leader).spentRec),
	record.KindBorrowed:     decoded((*Leader).borrowedRec),
	record.KindSlept:        decoded((*Leader).sleptRec),
	record.KindReturned:     decoded((*Leader).returnedRec),
	record.KindHalted:       decoded(operatorOnly("only the operator halts the team", (*Leader).haltedRec)),
	record.KindResumed:      decoded(operatorOnly("only the operator lets the team go on", (*Leader).resumedRec)),
	record.KindTakenBack:    decoded(operatorOnly("only the operator takes an answer back", (*Leader).takenBackRec)),
	record.KindBegun:        decoded((*Leader).begunRec),
}

// did reports the move of a member from the state before.
func (l *Leader) did(m *Member, from machine.State, on machine.Event, r journal.Record, request string) error {
	if from != m.State() {
		m.Since = r.Time
	}
	return l.tell(machine.Observation{Machine: machine.Leader, Member: string(m.Name), Instance: m.Instance, From: from, On: on, To: m.State(), Request: request}, r)
}

// tell reports a move to the observer; see machine.Notifier.Notify for its error.
func (l *Leader) tell(o machine.Observation, r journal.Record) error {
	o.Team, o.Seq, o.Time = l.Team, uint64(r.Seq), r.Time
	return l.notifier.Notify(o)
}

// advance moves a request and reports the move.
func (l *Leader) advance(req *Request, on machine.Event, to machine.State, r journal.Record) error {
	from := req.State
	req.State = to
	return l.tell(machine.Observation{Machine: machine.Request, Member: string(l.byInst[req.Instance].Name), Instance: req.Instance,
		From: from, On: on, To: to, Request: string(req.ID)}, r)
}

// moved reports the move of the team itself from the state before.
func (l *Leader) moved(from machine.State, on machine.Event, r journal.Record) error {
	return l.tell(machine.Observation{Machine: machine.Team, Member: string(protocol.Lead), Instance: l.Instance, From: from, On: on, To: l.State()}, r)
}

// State is where the team is: "" before its journal was opened.
func (l *Leader) State() machine.State {
	switch {
	case l.Ended != nil:
		return machine.Over
	case l.Instance != "":
		return machine.Leading
	}
	return ""
}

func (l *Leader) ignore(r journal.Record, why string) error {
	l.Ignored = append(l.Ignored, record.IgnoredAt{Seq: r.Seq, Kind: r.Kind, Why: why})
	return nil
}

// fromLead reports whether a record may carry the leader's or the operator's
// word.
func (l *Leader) fromLead(w journal.Writer) bool {
	return w.Operator || w.Instance == string(l.Instance) && w.Epoch == l.Epoch
}

func (l *Leader) openedRec(r journal.Record, b record.Opened) error {
	switch {
	case !r.Writer.Operator && (r.Writer.Instance != string(b.Instance) || r.Writer.Epoch != b.Epoch):
		return l.ignore(r, "only the lead and the operator write it")
	case b.UID == "" || b.Instance == "":
		return fmt.Errorf("opened without a team or an instance")
	case l.Instance != "" && (b.UID != l.UID || b.Instance != l.Instance):
		return fmt.Errorf("opened for %q of team %q in the journal of %q of team %q", b.Instance, b.UID, l.Instance, l.UID)
	case b.Epoch <= l.Epoch:
		return fmt.Errorf("opened by epoch %d after epoch %d", b.Epoch, l.Epoch)
	}
	from := l.State()
	if l.Instance == "" {
		l.Team, l.Root, l.UID, l.Instance = b.Team, b.Root, b.UID, b.Instance
		for _, e := range b.Baseline {
			own(l.entries, r, e)
		}
	}
	l.Epoch = b.Epoch
	return l.moved(from, machine.EvOpened, r)
}

func (l *Leader) policyRec(_ journal.Record, b record.PolicySet) error {
	if b.Policy.Version <= l.version {
		return fmt.Errorf("policy version %d after %d", b.Policy.Version, l.version)
	}
	l.Policy, l.version = b, b.Policy.Version
	return nil
}

func (l *Leader) joinedRec(r journal.Record, b record.Joined) error {
	if b.Instance == "" || b.Instance == l.Instance || l.byInst[b.Instance] != nil {
		return fmt.Errorf("instance %q cannot join", b.Instance)
	}
	if b.Lead != "" && b.Name != protocol.Lead {
		return fmt.Errorf("the agent behind the lead cannot join as %s", b.Name)
	}
	if old := l.current[b.Name]; old != nil && old.Left == nil {
		return fmt.Errorf("member %s joined twice", b.Name)
	}
	m := &Member{Joined: b, JoinedAt: r.Time, Since: r.Time, base: machine.Spawning,
		Done: map[string]*record.Seen{}, Turns: map[string]*record.Seen{}, assigned: map[string]uint64{}}
	l.Members = append(l.Members, m)
	l.byInst[b.Instance], l.current[b.Name] = m, m
	l.stirred = l.stirred || !m.Leads()
	return l.did(m, "", machine.EvJoined, r, "")
}

func (l *Leader) processRec(r journal.Record, b record.Process) error {
	if r.Writer.Instance != string(b.Instance) && !l.fromLead(r.Writer) {
		return l.ignore(r, "it is about another instance than its writer's")
	}
	m := l.byInst[b.Instance]
	if m == nil {
		return fmt.Errorf("process of unknown instance %q", b.Instance)
	}
	if b.Epoch == 0 || m.Process != nil && b.Epoch <= m.Process.Epoch {
		return fmt.Errorf("epoch %d of %s is not newer", b.Epoch, m.Name)
	}
	m.Process, m.ProcAt, m.Died = &b, r.Time, nil
	return l.did(m, m.State(), machine.EvProcess, r, "")
}

func (l *Leader) leftRec(r journal.Record, b record.Left) error {
	m := l.byInst[b.Instance]
	if m == nil {
		return fmt.Errorf("unknown instance %q left", b.Instance)
	}
	if m.Left != nil {
		return l.ignore(r, "it had left")
	}
	from := m.State()
	m.Left, m.LeftAt, m.LeftSeq = &b, r.Time, r.Seq
	l.departed(m, r, b)
	l.open = slices.DeleteFunc(l.open, func(o *Order) bool { // no reader will report that it took them
		return o.Sent && o.Words != nil && o.Instance == "" && o.Mail.To == m.Name
	})
	for _, o := range l.Unclosed(b.Instance) { // the recipient has ended
		l.close(o)
		if o.Decided == nil {
			continue
		}
		req := l.byKey[o.Decided.Key]
		req.Closed = "its member has ended"
		if err := l.advance(req, machine.EvGone, machine.RequestClosed, r); err != nil {
			return err
		}
	}
	return l.did(m, from, machine.EvGone, r, "")
}

func (l *Leader) seenRec(r journal.Record, b record.Seen) error {
	m := l.byInst[b.Instance]
	if m == nil {
		return fmt.Errorf("message of unknown instance %q", b.Instance)
	}
	if l.Owns(b.Entry) {
		return l.ignore(r, "the entry was seen before")
	}
	own(l.entries, r, b.Entry).Of = b.Kind
	ref := peerSeq{b.Instance, b.Ref}
	file := b.ChannelOf() == policy.ChannelFile
	if file != (m.Trust == record.FileTrust) {
		return l.ignore(r, "a member that waggle does not run, and no other, is heard by file")
	}
	m.Spelling = b.Spelling
	if m.asked(b) {
		m.Shutdown.Reply = &b
	}
	switch {
	case record.IsRequest(b.Kind):
		return l.requested(m, r, b)
	case file:
		return l.saidByFile(m, r, b)
	case l.heard[ref]:
		return l.ignore(r, "a copy of a message that was seen before")
	}
	l.heard[ref] = true
	from := m.State()
	switch b.Kind {
	case protocol.KindIdleNotification:
		m.LastIdle, m.IdleAt, m.base = &b, r.Time, machine.Idle
		if m.current(b) {
			m.Turns[b.Task] = &b
		}
		l.report(m, r, b)
		return l.did(m, from, machine.EvIdle, r, "")
	case protocol.KindTaskCompleted:
		if m.current(b) && !b.Failed { // how it failed is in the notice that follows
			m.Done[b.Task] = &b
			l.report(m, r, b)
		}
	case protocol.KindShutdownApproved:
		if m.asked(b) {
			m.Approved = true
			l.close(m.Shutdown)
			return l.did(m, from, machine.EvShutdownYes, r, string(b.ID))
		}
	case protocol.KindShutdownRejected:
		if m.asked(b) && !m.Approved {
			l.close(m.Shutdown)
			m.Shutdown, m.Rejected = nil, refusal(&b)
			return l.did(m, from, machine.EvShutdownNo, r, string(b.ID))
		}
	}
	return nil
}

// current reports whether what a member says of a task is about its newest
// assignment.
func (m *Member) current(b record.Seen) bool {
	return b.Task != "" && b.Assignment == m.assigned[b.Task]
}

// asked reports whether a message answers the shutdown that the member was asked for.
func (m *Member) asked(b record.Seen) bool {
	answer := b.Kind == protocol.KindShutdownApproved || b.Kind == protocol.KindShutdownRejected
	return answer && m.Shutdown != nil && m.Shutdown.Commanded.ID == b.ID
}

// requested opens a question. The first digest under an id owns it.
func (l *Leader) requested(m *Member, r journal.Record, b record.Seen) error {
	k := record.Key{Instance: b.Instance, Kind: b.Kind, ID: b.ID}
	if known := l.byKey[k]; known != nil {
		if known.Digest != b.Digest {
			return l.ignore(r, "another request owns this id")
		}
		// The member asks again, so it has not got the answer (L5).
		if known.Order != nil && !known.Order.Closed {
			known.Order.Sent = false
		}
		return l.advance(known, machine.EvAsked, known.State, r)
	}
	if b.Ask == nil {
		return l.unknown(fmt.Errorf("request %s has no question and no digest of one", b.ID))
	}
	if err := b.Ask.CheckSum(b.Kind); err != nil {
		return err
	}
	if b.Digest != record.DigestOf(l.UID, k, *b.Ask) {
		return fmt.Errorf("request %s does not have its digest", b.ID)
	}
	from := m.State()
	req := &Request{Key: k, Digest: b.Digest, Ask: *b.Ask, Spelling: b.Spelling, Task: b.Task, Seq: r.Seq, Seen: r.Time, Expires: b.Expires}
	l.mintHandle(req, r)
	l.Requests, l.pending = append(l.Requests, req), append(l.pending, req)
	l.byKey[k] = req
	m.pending++
	if m.base == machine.Spawning {
		m.base = machine.Busy
	}
	if err := l.advance(req, machine.EvAsked, machine.RequestPending, r); err != nil {
		return err
	}
	return l.did(m, from, machine.EvAsked, r, string(b.ID))
}

// misdecided says why an answer on record has no effect, "" when it has
// (trust §3): the request is not open or is another one, its principal or its
// writer had no right to it under the policy of that version, or it is not whole.
func (l *Leader) misdecided(r journal.Record, b record.Decided) string {
	req := l.byKey[b.Key]
	switch {
	case req == nil:
		return "there is no such request"
	case req.State != machine.RequestPending:
		return "the request is " + string(req.State)
	case req.Digest != b.Digest:
		return "it decides another request of this id"
	case !record.Decides(b.Kind, b.Decision):
		return "it is no decision of that kind"
	case !record.Replied(req.Ask, b.Decision, b.Answers):
		return "its answers are not those of the questions"
	case !record.Updates(l.UID, b.Key, req.Ask, b.Decision, b.UpdatedInput, b.UpdatedDigest):
		return "the changed input does not have its digest"
	case l.Divergence != nil:
		return "the journals disagree"
	case b.Policy != l.Policy.Policy.Version:
		return fmt.Sprintf("it was made under policy version %d", b.Policy)
	}
	if ok, why := l.mayDecide(req, b.By, b.Decision != record.DecisionDeny, r.Writer); !ok {
		return why
	}
	return ""
}

func (l *Leader) decidedRec(r journal.Record, b record.Decided) error {
	if why := l.misdecided(r, b); why != "" {
		return l.ignore(r, why)
	}
	req, m := l.byKey[b.Key], l.byInst[b.Instance]
	switch {
	case !b.MailFits(m.Name):
		return l.ignore(r, "it holds no answer to send")
	case l.needsTwo(req, b.Decision == record.DecisionAllow) && req.second(b) == nil:
		return l.ignore(r, "it takes two, and nobody else has allowed it")
	}
	from := m.State()
	req.Decided, req.At = &b, r.Time
	l.raised(req, b)
	l.settled(req, m)
	req.Order = l.order(&Order{Mark: markOf(r), Instance: b.Instance, Mail: b.Mail, Decided: &b})
	if err := l.advance(req, machine.EvDecided, machine.RequestDecided, r); err != nil {
		return err
	}
	return l.did(m, from, machine.EvDecided, r, string(b.ID))
}

// settled removes a request from the list of the open ones.
func (l *Leader) settled(req *Request, m *Member) {
	l.pending = slices.DeleteFunc(l.pending, func(r *Request) bool { return r == req })
	m.pending--
}

func (l *Leader) votedRec(r journal.Record, b record.Decided) error {
	if b.Decision == record.DecisionEscalate {
		return l.escalatedRec(r, b)
	}
	if why := l.misdecided(r, b); why != "" {
		return l.ignore(r, why)
	}
	req := l.byKey[b.Key]
	if !l.needsTwo(req, b.Decision == record.DecisionAllow) {
		return l.ignore(r, "it does not take two")
	}
	req.Votes = append(slices.DeleteFunc(req.Votes, func(v record.Decided) bool { return v.By == b.By }), b)
	return l.advance(req, machine.EvVoted, req.State, r)
}

// escalatedRec passes a question on to the operator.
func (l *Leader) escalatedRec(r journal.Record, b record.Decided) error {
	req := l.byKey[b.Key]
	if req == nil || req.Digest != b.Digest {
		return l.ignore(r, "there is no such request")
	}
	if why := l.mayEscalate(req, b.By, r.Writer); why != "" {
		return l.ignore(r, why)
	}
	req.Escalated = &b
	return l.advance(req, machine.EvEscalated, req.State, r)
}

// second finds the vote that an allow completes: another principal's, under the
// same policy, for the same input.
func (req *Request) second(b record.Decided) *record.Decided {
	for i, v := range req.Votes {
		if v.By != b.By && v.Policy == b.Policy && v.Digest == b.Digest && v.UpdatedDigest == b.UpdatedDigest &&
			(v.By == policy.RoleOperator || b.By == policy.RoleOperator) {
			return &req.Votes[i]
		}
	}
	return nil
}

// order puts a decision or a command on its way.
func (l *Leader) order(o *Order) *Order {
	l.orders[o.Seq] = o
	l.open, l.sends = append(l.open, o), append(l.sends, o)
	if o.Mail == nil {
		return o
	}
	k := addressed{o.Instance, o.Mail.Kind, o.Mail.SHA256}
	l.vouched[k] = append(l.vouched[k], o)
	return o
}

func (l *Leader) close(o *Order) {
	o.Closed = true
	l.open = slices.DeleteFunc(l.open, func(x *Order) bool { return x == o })
}

// commands has, for each command, the kinds of message that carry it and the method that folds it.
var commands = map[string]struct {
	mail []protocol.Kind
	fold func(*Leader, journal.Record, *Member, *Order) error
}{
	record.CommandAssigned: {[]protocol.Kind{protocol.KindTaskAssignment}, (*Leader).assigned},
	record.CommandShutdown: {[]protocol.Kind{protocol.KindShutdownRequest}, (*Leader).shutdownSent},
	record.CommandMode:     {[]protocol.Kind{protocol.KindModeSetRequest}, (*Leader).modeSet},
	record.CommandPolicy:   {[]protocol.Kind{protocol.KindTeamPermissionUpdate, protocol.KindModeSetRequest}, (*Leader).policySent},
}

func (l *Leader) commandedRec(r journal.Record, b record.Commanded) error {
	c, ok := commands[b.What]
	if !ok {
		return &journal.FutureError{What: fmt.Sprintf("command %q", b.What)}
	}
	m := l.byInst[b.Instance]
	if m == nil || m.State() == machine.Terminated {
		return fmt.Errorf("command %s to %q, which is no member", b.What, b.Instance)
	}
	if b.Mail == nil || b.Mail.To != m.Name || !slices.Contains(c.mail, b.Mail.Kind) {
		return fmt.Errorf("command %s to %s without its message", b.What, m.Name)
	}
	if ok, why := policy.MaySend(b.Mail.Kind, b.By, policy.RoleWorker, policy.ChannelJournal); !ok {
		return l.ignore(r, why)
	}
	return c.fold(l, r, m, &Order{Mark: markOf(r), Instance: b.Instance, Mail: b.Mail, Commanded: &b})
}

func (l *Leader) assigned(r journal.Record, m *Member, o *Order) error {
	b, from := o.Commanded, m.State()
	if b.Task == nil || b.Task.ID == "" || b.Task.SHA256 != record.HashText(b.Task.Instructions) {
		return fmt.Errorf("assignment to %s without its task", m.Name)
	}
	if b.By == policy.RoleOperator && !r.Writer.Operator {
		return l.ignore(r, "only a process of the operator assigns in the operator's name")
	}
	l.tasks[b.Task.ID] = l.order(o)
	m.base = machine.Busy
	l.given(m)
	m.assigned[b.Task.ID] = uint64(r.Seq)
	delete(m.Done, b.Task.ID)
	delete(m.Turns, b.Task.ID)
	return l.did(m, from, machine.EvWork, r, b.Task.ID)
}

func (l *Leader) shutdownSent(r journal.Record, m *Member, o *Order) error {
	from := m.State()
	if m.Shutdown != nil {
		return fmt.Errorf("second shutdown of %s", m.Name) // a second call reuses the outstanding id (L9)
	}
	m.Shutdown = l.order(o)
	if m.Trust == record.FileTrust { // it is asked once: its last no is about an earlier request
		m.Rejected = ""
	}
	return l.did(m, from, machine.EvShutdownSent, r, string(o.Commanded.ID))
}

// modeSet records the mode of one member, which has a version like a policy.
func (l *Leader) modeSet(r journal.Record, m *Member, o *Order) error {
	b := o.Commanded
	if b.By == policy.RoleOperator && !r.Writer.Operator {
		return l.ignore(r, "only a process of the operator sets a mode in the operator's name")
	}
	if b.Version <= l.version {
		return fmt.Errorf("mode version %d after %d", b.Version, l.version)
	}
	if _, err := policy.ParseMode(string(b.Mode)); err != nil {
		return fmt.Errorf("mode of %s: %w", m.Name, err)
	}
	l.version = b.Version
	m.Mode, m.ModeBy, m.modeVersion = b.Mode, b.By, b.Version
	l.order(o)
	return nil
}

// policySent records the message with which a member learns of the policy in force.
func (l *Leader) policySent(_ journal.Record, _ *Member, o *Order) error {
	if v := o.Commanded.Version; v != l.Policy.Policy.Version {
		return fmt.Errorf("message about policy version %d, and version %d is in force", v, l.Policy.Policy.Version)
	}
	l.order(o)
	return nil
}

func (l *Leader) sentRec(r journal.Record, b record.Sent) error {
	o := l.orders[journal.Seq(b.Ref)]
	if o == nil {
		return l.unknown(fmt.Errorf("sent: no order %d", b.Ref))
	}
	if o.Sent, o.File = true, b.File; o.Written.Seq == 0 {
		o.Written = markOf(r)
	}
	if b.Again != "" {
		o.Again = b.Again
	}
	l.passed(o)
	if o.Decided == nil {
		return nil
	}
	req := l.byKey[o.Decided.Key]
	to := req.State
	if to == machine.RequestDecided {
		to = machine.RequestSent
	}
	return l.advance(req, machine.EvSent, to, r)
}

func (l *Leader) closedRec(r journal.Record, b record.Closed) error {
	if b.Key != nil {
		return l.abandoned(r, *b.Key, b.Evidence)
	}
	o := l.orders[journal.Seq(b.Ref)]
	if o == nil {
		return l.unknown(fmt.Errorf("closed: no order %d", b.Ref))
	}
	if o.Closed {
		return l.ignore(r, "it was closed before")
	}
	l.close(o)
	o.End, o.Ended = b.Evidence, markOf(r)
	if o.Decided != nil {
		req := l.byKey[o.Decided.Key]
		req.Closed = b.Evidence
		return l.advance(req, machine.EvEffect, machine.RequestClosed, r)
	}
	return nil
}

// abandoned closes an open request without a waiting session (L8).
func (l *Leader) abandoned(r journal.Record, k record.Key, evidence string) error {
	req := l.byKey[k]
	if req == nil || req.State != machine.RequestPending {
		return l.ignore(r, "there is no such open request")
	}
	m := l.byInst[k.Instance]
	from := m.State()
	req.Closed = evidence
	l.settled(req, m)
	if err := l.advance(req, machine.EvRequestDropped, machine.RequestClosed, r); err != nil {
		return err
	}
	return l.did(m, from, machine.EvRequestDropped, r, string(k.ID))
}

func (l *Leader) unverifiedRec(r journal.Record, b record.Unverified) error {
	if l.Owns(b.Entry) {
		return l.ignore(r, "the entry was seen before")
	}
	own(l.entries, r, b.Entry).Why = b.Why
	l.Unverified = append(l.Unverified, record.UnverifiedAt{Unverified: b, Seq: r.Seq, Time: r.Time})
	return nil
}

func (l *Leader) noticedRec(_ journal.Record, b record.Noticed) error {
	l.Noticed = &b
	return nil
}

func (l *Leader) divergedRec(r journal.Record, b record.Diverged) error {
	if l.Divergence != nil {
		return l.ignore(r, "the journals disagree already")
	}
	l.Divergence = &record.DivergedAt{Diverged: b, Seq: r.Seq}
	return nil
}

func (l *Leader) acknowledgedRec(r journal.Record, b record.Acknowledged) error {
	d := l.Divergence
	switch {
	case b.Break != nil:
		if b.Break.Journal == journal.Leader {
			l.Continued = r.Seq
		} else if m := l.byInst[record.Instance(b.Break.Journal)]; m != nil {
			m.Broken = true
		}
		return nil
	case d == nil || d.Seq != journal.Seq(b.Ref):
		return l.ignore(r, "it names no open divergence")
	}
	l.excused[peerSeq{d.Instance, d.Leader}] = true
	l.Divergence = nil
	return nil
}

func (l *Leader) endedRec(r journal.Record, b record.Ended) error {
	if l.Ended != nil {
		return l.ignore(r, "the team had ended")
	}
	from := l.State()
	l.Ended = &b
	return l.moved(from, machine.EvEnded, r)
}
