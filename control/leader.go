package control

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"waggle/internal/budget"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Leader is the fold of the leader's journal: the roster, every request and its
// decision, every command, and what of it still has to reach a mailbox. Reading
// it needs the same care as the journal it is the fold of.
type Leader struct {
	Team     protocol.TeamName
	Root     string
	UID      record.TeamUID
	Instance record.Instance // the leader's own
	Epoch    uint64

	Policy     record.PolicySet // the newest
	Requests   []*Request
	Members    []*Member // in order of joining, the departed included
	Unverified []record.UnverifiedAt
	Continued  journal.Seq            // the newest record that continued this journal after a break; 0: it was never broken
	Divergence *record.DivergedAt     // nil when the journals agree
	Noticed    *record.Noticed        // the last; nil before the first
	Led        *record.LeadingProcess // the last that said so; nil before the first
	Closing    *record.Ending         // the operator wants the team to end, and no leader has begun since
	Detached   bool                   // the operator wants Led to go on without a terminal
	Halt       *Halt                  // the operator has stopped all work; nil: it goes on
	Slept      *record.Slept          // the last time that its machine was suspended, until SleptAt; nil: it never was
	SleptAt    time.Time
	Ended      *record.Ended
	Ignored    []record.IgnoredAt // records that had no effect

	sleeps   []Spell   // times in which its machine was suspended, the newest of them
	ledSince time.Time // since when Led leads
	version  uint64    // the newest of a policy or a mode
	byInst   map[record.Instance]*Member
	current  map[protocol.MemberName]*Member
	byKey    map[record.Key]*Request
	pending  []*Request
	handles  record.Handles
	entries  map[string]*Intake
	heard    map[peerSeq]bool // records of members' journals whose message was seen
	excused  map[peerSeq]bool // divergences that the operator has looked at
	orders   map[journal.Seq]*Order
	tasks    map[string]*Order // task id: its newest assignment
	open     []*Order          // not closed
	vouched  map[addressed][]*Order
	words    map[string]*Order // by the hash of their entry
	sends    []*Order          // orders and words, in order
	news     []News            // for the lead's session, in order
	stirred  bool              // something was given out since all were idle
	failed   error             // what Apply returned
	brief    bool              // keeps only what is open
	budgets  budget.Account
	notifier *machine.Notifier
}

// peerSeq names a record: one that a member's journal holds, or one that it
// says the leader's holds.
type peerSeq struct {
	Instance record.Instance
	Seq      uint64
}

// addressed identifies a message of the leader by what ties it to a record.
type addressed struct {
	To   record.Instance
	Kind protocol.Kind
	SHA  string
}

// Member is the leader's record of one membership.
type Member struct {
	record.Joined
	JoinedAt time.Time
	Process  *record.Process // newest start; nil before the first
	ProcAt   time.Time
	Died     *record.Died // the end of its newest start, while there is no newer one
	DiedAt   time.Time
	diedSeen bool             // Lost
	Deaths   []time.Time      // of earlier starts too, oldest first
	Stopping *record.Stopping // its processes are being ended
	StopAt   time.Time        // when a process that does not lead began that; zero when it was the one that leads
	Left     *record.Left
	LeftAt   time.Time
	LeftSeq  journal.Seq
	Since    time.Time // of the present state
	Shutdown *Order    // outstanding or approved
	Approved bool      // the member said yes to it
	Rejected string    // reason of the last no
	LastIdle *record.Seen
	IdleAt   time.Time // when that was seen
	// AgreedAt is when a member that uses files approved its shutdown; zero: it has not. The next pass records
	// it as left. The author of the file is unknown: it only shortens the wait for an end that was ordered.
	AgreedAt time.Time
	Claimed  map[string]*record.Seen // task id: the completions that such a member reported; no effect follows from them
	Done     map[string]*record.Seen // task id: its task_completed
	Turns    map[string]*record.Seen // task id: the idle notice that ended its turn
	Mode     policy.Mode             // set by a mode command; "" means the policy's own
	ModeBy   policy.Role             // who set it
	Spelling protocol.Dialect        // of a member that uses files: the one it spoke last, in which it is written to; "": the wire's
	Broken   bool                    // its journal is broken, and the operator has looked at that
	Borrowed *Borrowing              // nil: it has its conversation
	Begun    bool                    // it was taken out of the queue (Joined.Queued)

	base        machine.State
	modeVersion uint64 // under which Mode was set
	idleDue     bool   // words or work went to it, and its first idle after them has not come
	pending     int
	assigned    map[string]uint64 // task id: seq of its newest assignment
}

// State is where the member is.
func (m *Member) State() machine.State {
	switch {
	case m.Left != nil || m.Approved:
		return machine.Terminated
	case m.Shutdown != nil:
		return machine.ShutdownRequested
	case m.pending > 0:
		return machine.AwaitingDecision
	}
	return m.base
}

// Request is a question and its one answer.
type Request struct {
	record.Key
	Digest  record.Digest
	Handle  string // what people type for it (trust §2)
	Ask     record.Ask
	Task    string
	Seq     journal.Seq // of the seen record
	Seen    time.Time
	Expires *time.Time
	State   machine.State
	Decided *record.Decided
	At      time.Time // of the decision
	Order   *Order
	Closed  string           // evidence
	Votes   []record.Decided // allows that wait for a second principal, one a principal
	// Escalated is who escalated it to the operator, who alone decides it then; nil: it was not
	// escalated.
	Escalated *record.Decided
	// Spelling is the dialect in which its asker is answered; "": the wire's. It is not in the digest.
	Spelling protocol.Dialect
}

// Gate is what the request is about.
func (r *Request) Gate() policy.Gate { return record.GateOf(r.Kind) }

// Order is a decision, a command or words being sent to a member.
type Order struct {
	Mark
	Instance  record.Instance
	Mail      *record.Mail // nil: the answer to a question, which its worker reads here
	Decided   *record.Decided
	Commanded *record.Commanded
	Words     *record.Words
	Hash      string // of the entry, for words
	MsgID     string // the same
	Sent      bool
	Written   Mark   // the first sent record
	File      int64  // Sent.File
	Again     string // why it was sent a second time
	Closed    bool
	End       string       // evidence of the closing; "" when its member left
	Ended     Mark         // the record with End
	Reply     *record.Seen // what a member said to a shutdown; nil: nothing yet
	TakenBack bool         // the operator has taken this answer back
}

// What names what an order is, as people are told.
func (o *Order) What() string {
	if o.Mail == nil {
		return "answer to a question"
	}
	return string(o.Mail.Kind)
}

// NewLeader returns an empty fold.
func NewLeader(o machine.Observer) *Leader {
	return &Leader{byInst: map[record.Instance]*Member{}, current: map[protocol.MemberName]*Member{}, byKey: map[record.Key]*Request{},
		entries: map[string]*Intake{}, heard: map[peerSeq]bool{}, excused: map[peerSeq]bool{}, orders: map[journal.Seq]*Order{}, tasks: map[string]*Order{},
		vouched: map[addressed][]*Order{}, words: map[string]*Order{}, notifier: &machine.Notifier{Observe: o}}
}

// Member finds the present member of a name.
func (l *Leader) Member(name protocol.MemberName) (*Member, bool) {
	m, ok := l.current[name]
	return m, ok
}

// Present finds the member of a name, in any case, that has not ended.
func (l *Leader) Present(name protocol.MemberName) (*Member, bool) {
	for _, m := range l.Members {
		if m.Left == nil && protocol.SameName(m.Name, name) {
			return m, true
		}
	}
	return nil, false
}

// ByInstance finds a membership, departed ones included.
func (l *Leader) ByInstance(i record.Instance) (*Member, bool) { m, ok := l.byInst[i]; return m, ok }

// Live lists the members that have not ended.
func (l *Leader) Live() []*Member {
	return those(l.Members, func(m *Member) bool { return m.Left == nil })
}

// those are the elements of a list of which something holds.
func those[T any](all []T, holds func(T) bool) (some []T) {
	for _, t := range all {
		if holds(t) {
			some = append(some, t)
		}
	}
	return some
}

// Request finds a question by its key.
func (l *Leader) Request(k record.Key) (*Request, bool) { r, ok := l.byKey[k]; return r, ok }

// RequestsByID lists the questions with this id; ids are unique only within a
// member and a kind.
func (l *Leader) RequestsByID(id protocol.RequestID) []*Request {
	return those(l.Requests, func(r *Request) bool { return r.ID == id })
}

// Pending lists the open questions, oldest first.
func (l *Leader) Pending() []*Request { return slices.Clone(l.pending) }

// Owns reports whether an entry of the lead's mailbox was seen or found
// unverified.
func (l *Leader) Owns(entry string) bool { return l.entries[entry] != nil }

// Outbox lists what still has to be put into mailboxes, in order.
func (l *Leader) Outbox() []*Order {
	return those(l.open, func(o *Order) bool { return !o.Sent && o.Mail != nil })
}

// Unclosed lists the orders to one member without a recorded effect, sent or not.
func (l *Leader) Unclosed(i record.Instance) []*Order {
	return those(l.open, func(o *Order) bool { return o.Instance == i })
}

// Assignment is the newest order to do a task, whichever member it went to, sent or not.
func (l *Leader) Assignment(id string) (*Order, bool) { o, ok := l.tasks[id]; return o, ok }

// Assignments lists the newest order of every task that was ever assigned, in
// the order of the journal.
func (l *Leader) Assignments() []*Order {
	return slices.SortedFunc(maps.Values(l.tasks), func(a, b *Order) int { return cmp.Compare(a.Seq, b.Seq) })
}

// Vouches lists the records behind a message of the leader to an instance: same
// recipient, same kind, same text (trust §1). None: the message is unverified and
// inert. Several: the same text was ordered as often, as a mode may be.
func (l *Leader) Vouches(to record.Instance, kind protocol.Kind, sha string) []*Order {
	return l.vouched[addressed{to, kind, sha}]
}

// Unheard reports whether a member has reported something to the lead that is not on record as
// seen. peer is its journal.
func (l *Leader) Unheard(peer *Worker) bool {
	return slices.ContainsFunc(peer.Outbox, func(o Sending) bool {
		return o.Mail.To == protocol.Lead && o.Mail.Kind != protocol.KindText && !record.IsRequest(o.Mail.Kind) && !l.heard[peerSeq{peer.Instance, uint64(o.Seq)}]
	})
}

// Version is the newest version of a policy or of a member's mode: one sequence.
func (l *Leader) Version() uint64 { return l.version }

// mintHandle gives a request its handle when it is seen. Handles of open requests
// stay taken however old they are.
func (l *Leader) mintHandle(req *Request, r journal.Record) {
	for _, p := range l.pending {
		if p.State == machine.RequestPending && p.Handle != "" && r.Time.Sub(p.Seen) > record.HandleWindow-time.Hour {
			l.handles.Given[p.Handle] = record.GivenHandle{Key: p.Key, At: r.Time}
		}
	}
	req.Handle = l.handles.Mint(req.Key, req.Digest, r.Time)
}

// ByHandle finds the request that a handle was given to: the newest, when a handle
// was given out again after its time. Case does not count.
func (l *Leader) ByHandle(handle string) (*Request, bool) {
	handle = record.CleanHandle(handle)
	for i := len(l.Requests) - 1; i >= 0 && handle != ""; i-- {
		if l.Requests[i].Handle == handle {
			return l.Requests[i], true
		}
	}
	return nil, false
}
