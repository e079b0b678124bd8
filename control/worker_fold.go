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

// Apply implements journal.Fold. After an error the fold is not used further:
// every later Apply returns that error, unless the record may be set aside.
func (w *Worker) Apply(r journal.Record) error {
	if w.failed != nil {
		return w.failed
	}
	err := w.apply(r)
	if !w.MaySetAside(r.Kind) {
		w.failed = err
	}
	return err
}

func (w *Worker) apply(r journal.Record) error {
	fn, ok := workerRecords[r.Kind]
	if !ok {
		if r.Must {
			return &journal.FutureError{What: fmt.Sprintf("record kind %q", r.Kind)}
		}
		return nil
	}
	if r.Kind != record.KindOpened {
		switch {
		case w.Epoch == 0:
			return fmt.Errorf("%s before the journal was opened", r.Kind)
		case r.Writer.Instance != string(w.Instance) || r.Writer.Epoch != w.Epoch:
			return fmt.Errorf("%s by epoch %d of %q in the journal of epoch %d of %q", r.Kind, r.Writer.Epoch, r.Writer.Instance, w.Epoch, w.Instance)
		}
	}
	if err := fn(w, r); err != nil {
		return err
	}
	if slices.Contains(workedOn, r.Kind) {
		w.works(r.Time)
	}
	w.Last = Moment{r.Kind, r.Time}
	return nil
}

var workerRecords = map[string]func(*Worker, journal.Record) error{
	record.KindOpened:     decoded((*Worker).openedRec),
	record.KindAsked:      decoded((*Worker).askedRec),
	record.KindSaid:       decoded((*Worker).saidRec),
	record.KindAnswered:   decoded((*Worker).answeredRec),
	record.KindStarted:    decoded((*Worker).startedRec),
	record.KindFinished:   decoded((*Worker).finishedRec),
	record.KindUnknown:    decoded((*Worker).unknownRec),
	record.KindApplied:    decoded((*Worker).appliedRec),
	record.KindTaken:      decoded((*Worker).takenRec),
	record.KindHeard:      decoded((*Worker).heardRec),
	record.KindUnverified: decoded((*Worker).unverifiedRec),
	record.KindNoticed:    decoded((*Worker).noticedRec),
	record.KindReady:      decoded((*Worker).readyRec),

	record.KindConversation: decoded((*Worker).conversationRec),
	record.KindUsed:         decoded((*Worker).usedRec),
	record.KindSteps:        decoded((*Worker).stepsRec),

	record.KindPaused:  decoded((*Worker).pausedRec),
	record.KindLimited: decoded((*Worker).limitedRec),
	record.KindPane:    decoded((*Worker).paneRec),
	record.KindChecked: decoded((*Worker).checkedRec),
	record.KindYielded: decoded((*Worker).yieldedRec),
	record.KindRests:   decoded((*Worker).restsRec),
}

// did reports the move from the state before; see machine.Notifier.Notify for its error.
func (w *Worker) did(from machine.State, on machine.Event, r journal.Record, request string) error {
	return w.notifier.Notify(machine.Observation{Team: w.Team, Machine: machine.Worker, Member: string(w.Name), Instance: w.Instance, From: from, On: on, To: w.State(),
		Request: request, Seq: uint64(r.Seq), Time: r.Time})
}

func (w *Worker) openedRec(r journal.Record, b record.Opened) error {
	from := w.State()
	switch {
	case b.Instance == "" || r.Writer.Instance != string(b.Instance) || r.Writer.Epoch != b.Epoch:
		return fmt.Errorf("opened for epoch %d of %q by epoch %d of %q", b.Epoch, b.Instance, r.Writer.Epoch, r.Writer.Instance)
	case b.Epoch <= w.Epoch:
		return fmt.Errorf("opened by epoch %d after epoch %d", b.Epoch, w.Epoch)
	case w.Epoch > 0 && (b.Instance != w.Instance || b.UID != w.UID || b.Guest != w.Guest):
		return fmt.Errorf("opened for %q of team %q in the journal of %q of team %q", b.Instance, b.UID, w.Instance, w.UID)
	}
	first := w.Epoch == 0
	w.Epoch, w.Ready, w.Pane, w.narrowed, w.denied = b.Epoch, nil, "", "", nil
	if !first {
		until := w.Last.At
		if b.Ended != nil && b.Ended.After(until) && !b.Ended.After(r.Time) {
			until = *b.Ended
		}
		w.rests(until)
		return w.did(from, machine.EvReopened, r, "")
	}
	w.Team, w.UID, w.Instance, w.Name, w.Guest = b.Team, b.UID, b.Instance, b.Name, b.Guest
	w.base = machine.Idle
	return w.did(from, machine.EvReady, r, "")
}

func (w *Worker) readyRec(r journal.Record, b record.Ready) error {
	if b.Epoch != w.Epoch {
		return fmt.Errorf("epoch %d is ready in epoch %d", b.Epoch, w.Epoch)
	}
	w.Ready, w.ReadyAt = &b, r.Time
	if _, limited := w.LimitedUntil(r.Time); !limited && !w.lent && !(w.budget != nil && w.budget.Open()) { // nothing keeps it from its turn
		w.works(r.Time)
	}
	return nil
}

// mayAsk is what holds for asking and for being answered by the rules alike.
func (w *Worker) mayAsk(k record.Key, d record.Digest, a record.Ask) error {
	if err := a.CheckSum(k.Kind); err != nil {
		return err
	}
	switch {
	case w.leaving || w.gone:
		return fmt.Errorf("request %s while shutting down", k.ID)
	case w.turn == nil:
		return fmt.Errorf("request %s outside a turn", k.ID)
	case k.Instance != w.Instance || !record.IsRequest(k.Kind):
		return fmt.Errorf("request %s of kind %q for %q", k.ID, k.Kind, k.Instance)
	case d != record.DigestOf(w.UID, k, a):
		return fmt.Errorf("request %s does not have its digest", k.ID)
	}
	return nil
}

func (w *Worker) askedRec(r journal.Record, b record.Asked) error {
	from := w.State()
	if err := w.mayAsk(b.Key, b.Digest, b.Ask); err != nil {
		return err
	}
	c, again := w.byKey[b.Key]
	switch {
	case !again && (b.Mail == nil) != (b.Kind == record.KindQuestion):
		return fmt.Errorf("request %s has no message, or is a question and has one", b.ID)
	case again && (!c.Open() || b.Mail != nil || b.Digest != c.Digest || w.waits(c)):
		return fmt.Errorf("request %s was asked twice", b.ID)
	case !again:
		c = &Call{Key: b.Key, Digest: b.Digest, Ask: b.Ask, AskedSeq: r.Seq, Asked: r.Time}
		w.add(c)
		if b.Mail != nil {
			w.vouch(b.Mail, b.ID, &Vouched{Mark: markOf(r), Call: c})
		}
	}
	c.Task, c.Epoch, c.turn = b.Task, w.Epoch, w.turn
	w.asked[b.Key] = c
	ev := machine.EvAskedTool
	switch b.Kind {
	case protocol.KindSandboxPermissionRequest:
		ev = machine.EvAskedHost
	case record.KindQuestion:
		ev = machine.EvAskedWords
	case protocol.KindPlanApprovalRequest:
		ev = machine.EvAskedPlan
		w.base = machine.PlanProposed
		for _, old := range w.Calls { // what it replaces cannot be claimed any more
			old.used = old.used || old != c && old.Kind == b.Kind
		}
	}
	return w.did(from, ev, r, string(b.ID))
}

func (w *Worker) add(c *Call) {
	w.Calls = append(w.Calls, c)
	w.byKey[c.Key] = c
	w.byAsk[questionOf(c.Kind, c.Ask)] = c
}

func (w *Worker) vouch(m *record.Mail, id protocol.RequestID, v *Vouched) {
	w.Outbox = append(w.Outbox, Sending{v, m})
	k := voucher{m.Kind, id, m.SHA256}
	w.vouched[k] = append(w.vouched[k], v)
}

// waits reports whether a session of this process waits for the answer. After a restart none does
// until the call is asked again.
func (w *Worker) waits(c *Call) bool { return w.asked[c.Key] == c && c.Epoch == w.Epoch }

func (w *Worker) answeredRec(r journal.Record, b record.Answered) error {
	from := w.State()
	if !record.Decides(b.Kind, b.Decision) {
		return fmt.Errorf("answer %q to %s", b.Decision, b.ID)
	}
	c, ok := w.byKey[b.Key]
	if !ok {
		return w.ruled(r, b)
	}
	switch {
	case b.Channel != "" && (!w.Guest || b.Channel != policy.ChannelFile || b.Leader != 0 || b.Waited || b.Revoked || b.UpdatedInput != ""):
		return fmt.Errorf("answer to %s by %s", b.ID, b.Channel)
	case b.Revoked && (b.Decision != record.DecisionDeny || b.By != policy.RoleSystem || b.Leader != 0 || b.Waited):
		return fmt.Errorf("request %s is closed by other than the worker", b.ID)
	case b.Revoked && c.revocable() && b.Digest == c.Digest:
		c.lost = true
		return nil
	case !c.Open():
		return fmt.Errorf("request %s was answered twice", b.ID)
	case b.Digest != c.Digest:
		return fmt.Errorf("answer to another request than %s", b.ID)
	case b.Waited && b.Decision != record.DecisionDeny:
		return fmt.Errorf("the end of waiting for %s allows it", b.ID)
	case !record.Updates(w.UID, b.Key, c.Ask, b.Decision, b.UpdatedInput, b.UpdatedDigest):
		return fmt.Errorf("the changed input of %s does not have its digest", b.ID)
	case !record.Replied(c.Ask, b.Decision, b.Answers):
		return fmt.Errorf("the answers to %s are not those of its questions", b.ID)
	}
	waiting, blocked := w.waits(c), w.asked[b.Key] != nil
	c.late = !blocked && c.Answer != nil && c.Answer.Waited
	c.Answer, c.took = &b, own(w.entries, r, b.Entry)
	if !blocked {
		return nil // the session had stopped waiting; the grant may be claimed later
	}
	delete(w.asked, b.Key)
	ev := machine.EvAnswered
	if b.Kind == protocol.KindPermissionRequest && b.Decision == record.DecisionDeny {
		ev = machine.EvDenied
	}
	if waiting && !b.Waited && b.Kind != protocol.KindPermissionRequest {
		c.used = true // a tool call is used up by its start
	}
	if waiting && b.Kind == protocol.KindPlanApprovalRequest {
		ev = machine.EvPlanRejected
		if b.Decision == record.DecisionAllow {
			ev, w.base = machine.EvPlanApproved, machine.Executing
		}
	}
	return w.did(from, ev, r, string(b.ID))
}

// ruled records a question that the rules answered, so that none was sent.
func (w *Worker) ruled(r journal.Record, b record.Answered) error {
	switch {
	case b.Ask == nil:
		return fmt.Errorf("answer to %s, which was never asked", b.ID)
	case b.Kind == record.KindQuestion || len(b.Answers) > 0:
		return fmt.Errorf("question %s was answered by a rule", b.ID)
	case b.By != policy.RoleRules || b.Leader != 0 || b.Waited || b.Revoked || b.UpdatedInput != "" || b.UpdatedDigest != "":
		return fmt.Errorf("answer to %s, which was never asked, by other than the rules", b.ID)
	}
	if err := w.mayAsk(b.Key, b.Digest, *b.Ask); err != nil {
		return err
	}
	w.add(&Call{Key: b.Key, Digest: b.Digest, Ask: *b.Ask, Task: w.turn.Task, Asked: r.Time, Answer: &b,
		Epoch: w.Epoch, turn: w.turn, used: true})
	own(w.entries, r, b.Entry)
	return nil
}

func (w *Worker) startedRec(r journal.Record, b record.Started) error {
	from := w.State()
	c, ok := w.byKey[b.Key]
	tool := b.Kind == protocol.KindPermissionRequest
	switch {
	case !ok:
		return fmt.Errorf("start of %s, which was never asked", b.ID)
	case c.Started || !tool && c.used:
		return fmt.Errorf("second start of %s", b.ID)
	case !c.granted():
		return fmt.Errorf("start of %s without a matching allow", b.ID)
	case b.Digest != c.RunDigest() || b.Tool != c.Ask.Tool:
		return fmt.Errorf("start of %s with another digest than was allowed", b.ID)
	case w.leaving || w.gone:
		return fmt.Errorf("start of %s while shutting down", b.ID)
	case w.turn == nil:
		return fmt.Errorf("start of %s outside a turn", b.ID)
	case tool && w.base == machine.PlanProposed && !ReadOnly(b.Tool) && !b.Reads:
		return fmt.Errorf("start of %s before the plan was approved", b.ID)
	}
	c.Task, c.Epoch, c.turn = b.Task, w.Epoch, w.turn
	if tool {
		c.Started, c.StartedAt = true, r.Time
		return nil
	}
	c.used = true
	if b.Kind != protocol.KindPlanApprovalRequest {
		return nil
	}
	w.base = machine.Executing
	return w.did(from, machine.EvPlanApproved, r, string(b.ID))
}

func (w *Worker) finishedRec(_ journal.Record, b record.Finished) error {
	c, ok := w.byKey[b.Key]
	if !ok || !c.running() {
		return fmt.Errorf("end of %s, which does not run", b.ID)
	}
	c.Finished = &b
	return nil
}

func (w *Worker) unknownRec(_ journal.Record, b record.UnknownEnd) error {
	c, ok := w.byKey[b.Key]
	if !ok || !c.running() {
		return fmt.Errorf("unknown end of %s, which does not run", b.ID)
	}
	c.Unknown = true
	return nil
}

// running reports whether the call was started and its end is not on record.
func (c *Call) running() bool { return c.Started && c.Finished == nil && !c.Unknown }

func (w *Worker) appliedRec(r journal.Record, b record.Applied) error {
	from := w.State()
	switch {
	case b.Channel != "" && (!w.Guest || b.Channel != policy.ChannelFile || b.Ref != 0 || b.What == record.CommandAssigned):
		return fmt.Errorf("command %q by %s", b.What, b.Channel)
	case b.Narrows() && b.Channel == "", b.Channel != "" && b.What != record.CommandShutdown && !b.Narrows():
		return fmt.Errorf("command %q by %q that narrows nothing, or narrows by order", b.What, b.Channel)
	case b.Channel == "" && w.hasApplied(b.Ref):
		return fmt.Errorf("command %d was applied twice", b.Ref)
	}
	w.applied = append(w.applied, b)
	if took := own(w.entries, r, b.Entry); b.Channel == "" {
		w.commands[b.Ref] = took
	}
	ev := machine.EvApplied
	switch b.What {
	case record.CommandShutdown:
		if !w.gone {
			if !w.leaving {
				ev = machine.EvShutdownAsked
			}
			w.leaving, w.Shutdown = true, &b
		}
	case record.CommandAssigned:
		if b.Task == nil || b.Task.ID == "" {
			return fmt.Errorf("assignment without a task")
		}
		for _, t := range w.Tasks { // a new assignment replaces one that waits
			if t.ID == b.Task.ID && !t.Taken && !t.Ended {
				t.Ended, t.Note = true, "assigned again"
			}
		}
		w.Tasks = append(w.Tasks, &TaskState{Task: *b.Task, Ref: b.Ref})
	case record.CommandMode, record.CommandPolicy:
		if b.Channel == policy.ChannelFile {
			w.narrow(b)
			break
		}
		if w.replaced(b.What, b.Version) {
			return fmt.Errorf("policy version %d after %d", b.Version, w.PolicyVersion)
		}
		w.PolicyVersion = b.Version
	default:
		return &journal.FutureError{What: fmt.Sprintf("command %q", b.What)}
	}
	return w.did(from, ev, r, string(b.ID))
}

func (w *Worker) takenRec(r journal.Record, b record.Taken) error {
	from := w.State()
	t := w.task(b.Task)
	switch {
	case w.turn != nil:
		return fmt.Errorf("work taken while a turn runs")
	case b.Task != "" && (t == nil || t.Taken || t.Ended):
		return fmt.Errorf("task %s taken, which is not assigned", b.Task)
	case t != nil && t.PlanRequired && !b.Plan:
		return fmt.Errorf("task %s taken without its plan", b.Task)
	}
	for _, e := range b.Entries {
		own(w.entries, r, e)
	}
	w.newsBefore, w.NewsSeq = w.NewsSeq, max(w.NewsSeq, journal.Seq(b.News))
	w.turnsBefore, w.spells = w.Usage.Turns, nil
	w.turn, w.turnTask, w.heard, w.base, w.TurnAt, w.Steps, w.Pane = &b, t, nil, machine.Executing, r.Time, nil, ""
	w.works(r.Time)
	ev := machine.EvTaken
	if b.Plan {
		w.base, ev = machine.PlanProposed, machine.EvTakenPlan
	}
	if t != nil {
		t.Taken = true
	}
	return w.did(from, ev, r, b.Task)
}

// sayable are the kinds of a Said: a worker's reports to the lead, and plain words to any member.
var sayable = []protocol.Kind{protocol.KindText, protocol.KindIdleNotification, protocol.KindTaskProgress,
	protocol.KindTaskCompleted, protocol.KindShutdownApproved, protocol.KindShutdownRejected}

func (w *Worker) saidRec(r journal.Record, b record.Said) error {
	from := w.State()
	if b.Mail == nil || b.Mail.Kind != b.Kind || !slices.Contains(sayable, b.Kind) {
		return fmt.Errorf("%q was said", b.Kind)
	}
	v := &Vouched{Mark: markOf(r), Said: &b}
	w.vouch(b.Mail, b.ID, v)
	switch b.Kind {
	case protocol.KindText:
		w.spoke[b.Mail.To] = r.Time
	case protocol.KindTaskCompleted:
		w.endTask(b)
	case protocol.KindIdleNotification:
		w.endTask(b)
		if w.turn == nil {
			return nil // a repeated notice: harmless
		}
		w.gave(v)
		w.turn, w.turnTask, w.base, w.Limited = nil, nil, machine.Idle, nil
		if w.Usage.Turns == w.turnsBefore {
			w.Usage.Turns++ // its agent counts none
		}
		clear(w.asked) // the session waits for nothing; open requests stay in Calls
		if b.Failed {
			return w.did(from, machine.EvTurnFailed, r, b.Task)
		}
		return w.did(from, machine.EvTurnEnded, r, b.Task)
	case protocol.KindShutdownApproved, protocol.KindShutdownRejected:
		if !w.leaving || w.gone || w.Shutdown == nil || w.Shutdown.ID != b.ID {
			return fmt.Errorf("%s of %s, which is not being decided", b.Kind, b.ID)
		}
		if b.Kind == protocol.KindShutdownApproved {
			w.gone = true
			return w.did(from, machine.EvShutdownApproved, r, string(b.ID))
		}
		w.leaving = false
		return w.did(from, machine.EvShutdownRejected, r, string(b.ID))
	}
	return nil
}

// endTask marks the task that a message says has ended.
func (w *Worker) endTask(b record.Said) {
	t := w.turnTask
	if t == nil || t.ID != b.Task {
		t = w.task(b.Task)
	}
	if t == nil || !t.Taken {
		return
	}
	t.Ended, t.Failed, t.Note = true, t.Failed || b.Failed, b.Note
}

func (w *Worker) unverifiedRec(r journal.Record, b record.Unverified) error {
	if w.Owns(b.Entry) {
		return nil
	}
	w.Unverified++
	own(w.entries, r, b.Entry).Why = b.Why
	return w.did(w.State(), machine.EvUnverified, r, string(b.ID))
}

func (w *Worker) noticedRec(_ journal.Record, b record.Noticed) error {
	w.Noticed = &b
	return nil
}
