package control

import (
	"errors"
	"maps"
	"slices"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Worker is the fold of a worker's journal. Reading it needs the same care as
// the journal it is the fold of: one goroutine at a time.
type Worker struct {
	Team     protocol.TeamName
	UID      record.TeamUID
	Instance record.Instance
	Name     protocol.MemberName
	Epoch    uint64
	Guest    bool // another program leads its team

	// PolicyVersion is the newest policy or mode that was applied.
	PolicyVersion uint64

	Shutdown   *record.Applied // the shutdown that is being decided, or was
	Unverified int             // audit records
	Noticed    *record.Noticed // the last; nil before the first
	Last       Moment          // the newest record
	TurnAt     time.Time       // when the turn that runs began
	Ready      *record.Ready   // of this epoch; nil until it takes work
	ReadyAt    time.Time
	// Conversation, Usage and Steps are what the agent says of itself: the newest, in all, and those of
	// the turn that runs.
	Conversation *record.Conversation
	Usage        record.Usage
	Steps        []record.Step
	Limited      *record.Limited // the usage limit that has cut the turn short; nil: none has
	LimitedAt    time.Time
	// Pane is what the program in the member's pane waits for, "" when it does not, and PaneAt since when.
	Pane   string
	PaneAt time.Time
	// Yielded is the newest borrowing, by its seq in the leader's journal, for which the conversation was
	// let go.
	Yielded uint64
	// Rested is the newest halt, by its seq in the leader's journal, for which nothing of the member runs.
	Rested  uint64
	Tasks   []*TaskState
	Calls   []*Call // in order of first record
	Outbox  []Sending
	NewsSeq journal.Seq // of the leader's journal: events up to it were given to this session of the lead

	base        machine.State
	turn        *record.Taken
	turnTask    *TaskState           // the task of turn, nil for chat
	heard       []string             // what the turn's session was given since
	spells      []Spell              // of the turn
	newsBefore  journal.Seq          // NewsSeq before the turn
	lent        bool                 // a person has had the conversation since the last record of it
	turnsBefore int64                // Usage.Turns before the turn
	asked       map[record.Key]*Call // the calls for which the session waits
	byKey       map[record.Key]*Call
	byAsk       map[question]*Call // the newest call that asks for this
	budget      *Call              // the newest request for a larger budget; nil: there was none
	entries     map[string]*Intake // mailbox entries that this journal owns
	commands    map[uint64]*Intake // leader seqs that were applied
	applied     []record.Applied
	spoke       map[protocol.MemberName]time.Time // the recipients of words, with the time of the last
	vouched     map[voucher][]*Vouched
	narrowed    policy.Mode   // of a guest: the widest mode that its lead leaves it, since this start; "": it said nothing
	denied      []policy.Rule // of a guest: what its lead denies it, since this start
	leaving     bool
	gone        bool
	failed      error // what Apply returned
	notifier    *machine.Notifier
}

// Moment is a record by its kind and when it was written.
type Moment struct {
	Kind string
	At   time.Time
}

// Running lists the tool calls that have a started record and no end, in the order of
// the records. After a crash their outcome is unknown.
func (w *Worker) Running() []*Call { return those(w.Calls, (*Call).running) }

// Leaving reports a worker that was asked to end and has not refused.
func (w *Worker) Leaving() bool { return w.leaving || w.gone }

// Sending is mail that a record of this journal calls for.
type Sending struct {
	*Vouched
	Mail *record.Mail
}

// Call is one gated question and what became of it.
type Call struct {
	record.Key
	Digest    record.Digest
	Ask       record.Ask
	Task      string
	AskedSeq  journal.Seq // 0: the rules decided
	Asked     time.Time
	Answer    *record.Answered
	Epoch     uint64 // which start of the worker asked last, then which one started it
	Started   bool   // a tool call was started
	StartedAt time.Time
	Finished  *record.Finished
	Unknown   bool

	turn *record.Taken // in which it was asked last
	took *Intake       // its answer
	used bool          // the answer to a plan or a host was acted on
	lost bool          // the allow was taken back before anything started
	late bool          // it was answered after its session had been told to come back
	past bool          // it is of the part of its turn before a halt: it is answered from the record, as after a crash
	redo bool          // that halt has interrupted it: it is asked again
}

// Open reports whether the question waits for an answer from the leader.
func (c *Call) Open() bool { return c.AskedSeq != 0 && (c.Answer == nil || c.Answer.Waited) }

// allowed reports an allow that was given, used or not.
func (c *Call) allowed() bool {
	return c.Answer != nil && !c.Answer.Waited && c.Answer.Decision == record.DecisionAllow && !c.lost
}

// granted reports an allow or an answer that was given, used or not.
func (c *Call) granted() bool {
	return c.allowed() || c.Kind == record.KindQuestion && c.Answer != nil && c.Answer.Decision == record.DecisionAnswer && !c.lost
}

// Late are the calls that were allowed, or answered, after their session had been told to come back, and
// that may still be asked again.
func (w *Worker) Late(now time.Time) []*Call {
	return those(w.Calls, func(c *Call) bool { return c.late && c.claimable(now) })
}

// Input is the input that runs: the one that was asked, unless the answer changed it.
func (c *Call) Input() string {
	if c.Answer != nil && c.Answer.UpdatedInput != "" {
		return c.Answer.UpdatedInput
	}
	return c.Ask.Input
}

// Run is the call that runs: the one that was asked, unless the answer changed its input.
func (c *Call) Run() record.Ask {
	if c.Answer != nil && c.Answer.UpdatedInput != "" {
		return c.Ask.With(c.Answer.UpdatedInput)
	}
	return c.Ask
}

// RunDigest is the digest of what runs.
func (c *Call) RunDigest() record.Digest {
	if c.Answer != nil && c.Answer.UpdatedDigest != "" {
		return c.Answer.UpdatedDigest
	}
	return c.Digest
}

// question is what two calls have in common that ask for the same.
type question struct {
	Sum       int // the call of an older program is asked again
	Is        record.Digest
	Sandboxed bool // what was allowed for the sandbox is no allow outside of it
}

// questionOf is the content of a call without its sender and time: its digest without a name.
func questionOf(kind protocol.Kind, a record.Ask) question {
	return question{a.Sum(), record.DigestOf("", record.Key{Kind: kind}, a), a.Sandboxed}
}

// TaskState is an assigned task as this worker has it.
type TaskState struct {
	record.Task
	Ref    uint64 // leader seq of the assignment
	Taken  bool
	Ended  bool
	Failed bool
	Note   string
	// Checks is how often its check has run, and Checked the last of these runs; nil: none.
	Checks  int
	Checked *record.Checked
}

// voucher identifies a message by what ties it to a record.
type voucher struct {
	Kind protocol.Kind
	ID   protocol.RequestID
	SHA  string
}

// Vouched is the record behind a message of this worker: Call for a request,
// Said for anything else.
type Vouched struct {
	Mark
	Call *Call
	Said *record.Said
}

// NewWorker returns an empty fold.
func NewWorker(o machine.Observer) *Worker {
	return &Worker{base: machine.Booting, asked: map[record.Key]*Call{}, byKey: map[record.Key]*Call{}, byAsk: map[question]*Call{},
		entries: map[string]*Intake{}, commands: map[uint64]*Intake{}, vouched: map[voucher][]*Vouched{}, spoke: map[protocol.MemberName]time.Time{}, notifier: &machine.Notifier{Observe: o}}
}

// State is where the worker is now.
func (w *Worker) State() machine.State {
	switch {
	case w.gone:
		return machine.Terminated
	case w.leaving:
		return machine.ShuttingDown
	}
	return w.within()
}

// within is the state apart from shutting down.
func (w *Worker) within() machine.State {
	for _, b := range blocks {
		for k := range w.asked {
			if k.Kind == b.by {
				return b.state
			}
		}
	}
	return w.base
}

// blocks has the questions that block a session: the first that it waits for is its state.
var blocks = []struct {
	by    protocol.Kind
	state machine.State
}{
	{protocol.KindPermissionRequest, machine.BlockedPermission},
	{protocol.KindSandboxPermissionRequest, machine.BlockedSandbox},
	{record.KindQuestion, machine.BlockedQuestion},
}

// Turn is the work of the turn that runs, nil when idle.
func (w *Worker) Turn() *record.Taken { return w.turn }

// Owns reports whether a mailbox entry was taken, applied, answered by or found
// unverified.
func (w *Worker) Owns(entry string) bool { return w.entries[entry] != nil }

// hasApplied reports whether the leader's command with this seq was applied.
func (w *Worker) hasApplied(ref uint64) bool { return w.commands[ref] != nil }

// Wants reports whether an order of the leader has still to have its effect here.
func (w *Worker) Wants(o *Order) bool {
	switch {
	case w.gone:
		return false
	case o.Words != nil:
		return !o.Closed && !w.HasTaken(o)
	case o.Decided != nil:
		c, ok := w.byKey[o.Decided.Key]
		return ok && c.Open()
	}
	return !w.hasApplied(uint64(o.Seq)) && !w.outdated(o.Commanded)
}

// outdated reports whether a command sets a policy or a mode that a newer one
// has replaced.
func (w *Worker) outdated(c *record.Commanded) bool {
	return (c.What == record.CommandMode || c.What == record.CommandPolicy) && w.replaced(c.What, c.Version)
}

// replaced reports whether a version is older than what was applied. Several frames carry one
// version of the policy; a mode has one of its own.
func (w *Worker) replaced(what string, version uint64) bool {
	return version < w.PolicyVersion || version == w.PolicyVersion && what == record.CommandMode
}

// Call finds a question by its key.
func (w *Worker) Call(k record.Key) (*Call, bool) { c, ok := w.byKey[k]; return c, ok }

// Blocking lists the questions that the session waits for, in order of asking.
func (w *Worker) Blocking() []*Call {
	return slices.SortedFunc(maps.Values(w.asked), func(a, b *Call) int { return int(a.AskedSeq) - int(b.AskedSeq) })
}

// Vouches lists the records of this journal that hold a message: same kind, same
// id, same text (trust §1, "the same the other way"). None: the message is
// unverified and inert. Several: the same text was said as often.
func (w *Worker) Vouches(kind protocol.Kind, id protocol.RequestID, sha string) []*Vouched {
	return w.vouched[voucher{kind, id, sha}]
}

// ErrSuperseded: a newer start of this instance has taken over, and an older one does nothing any
// more. Journals refuse its appends (journal.StaleError).
var ErrSuperseded = errors.New("another process of this member has taken over")

// task finds the newest assignment of a task.
func (w *Worker) task(id string) *TaskState {
	for i := len(w.Tasks) - 1; i >= 0; i-- {
		if id != "" && w.Tasks[i].ID == id {
			return w.Tasks[i]
		}
	}
	return nil
}

// Waiting lists the assigned tasks that no turn has taken, oldest first.
func (w *Worker) Waiting() []*TaskState {
	return those(w.Tasks, func(t *TaskState) bool { return !t.Taken && !t.Ended })
}

// readOnly are the tools that policy.ModePlan allows by their names.
var readOnly = []string{"Read", "NotebookRead", "Glob", "Grep", "LS",
	"TaskList", "TaskGet", "ListAgents", "EnterPlanMode", "ExitPlanMode"}

// ReadOnly reports whether a tool cannot change anything: a worker may run it before its plan is
// approved. A shell text that only reads may run too: the rules find that (record.Started.Reads).
func ReadOnly(tool string) bool { return slices.Contains(readOnly, tool) }
