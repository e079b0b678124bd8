package control_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

const uid = record.TeamUID("0123456789abcdef0123456789abcdef")

var start = time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)

// sameFold compares two folds, unexported state included.
var sameFold = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b json.RawMessage) bool { return string(a) == string(b) }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".notifier" && p.Last().Type() == notifierType }, cmp.Ignore()),
}

// notifierType is the field with which a fold notifies observers: it is not part of its state.
var notifierType = func() reflect.Type { f, _ := reflect.TypeFor[control.Leader]().FieldByName("notifier"); return f.Type }()

// record makes a record as a journal would hand it to a fold.
func recordOf(t testing.TB, seq int, kind string, w journal.Writer, body any) journal.Record {
	t.Helper()
	b, err := json.Marshal(body)
	testenv.Must(t, err)
	return journal.Record{V: journal.Version, Must: true, Seq: journal.Seq(seq), Time: start, Writer: w, Kind: kind, Body: b}
}

// folded applies records to a fold.
func folded[F journal.Fold](t tb, f F, recs []journal.Record) F {
	t.Helper()
	for _, r := range recs {
		testenv.Must(t, f.Apply(r))
	}
	return f
}

// entry is one message in a mailbox.
type entry struct {
	id     string
	env    protocol.Envelope
	forged bool // its sender may not send it
}

// box is a mailbox in memory.
type box struct{ entries []entry }

func (b *box) put(env protocol.Envelope, forged bool) entry {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %q", env.From, env.Text, env.Timestamp, env.MsgID)))
	hash, n := hex.EncodeToString(sum[:]), 1
	for _, e := range b.entries {
		if e.id[:64] == hash {
			n++
		}
	}
	e := entry{fmt.Sprintf("%s#%d", hash, n), env, forged}
	b.entries = append(b.entries, e)
	return e
}

// tb is what a world needs of a test; *rapid.T has it too.
type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// world is a team in memory: one leader, its members, their journals and
// mailboxes, and a clock that only the test moves.
type world struct {
	t       tb
	now     time.Time
	n       int                                   // names given out
	mem     *journal.Memory                       // nil when the leader's journal is in files
	open    func(*control.Leader) journal.Journal // the leader's journal, once more
	j       journal.Journal
	l       *control.Leader
	box     box
	members []*member
	peers   map[record.Instance]*peer
	observe machine.Observer
}

type peer struct {
	j *journal.Handle
	w *control.Worker
}

// member is one process of a member and what outlives it.
type member struct {
	*world
	name     protocol.MemberName
	instance record.Instance
	epoch    uint64
	mem      *journal.Memory
	j        *journal.Handle
	w        *control.Worker
	lj       journal.Journal // its own view of the leader's journal
	lead     *control.Leader
	box      *box
	sent     map[journal.Seq]bool
}

var operator = journal.Writer{Operator: true, PID: 1}

func (w *world) lead() journal.Writer {
	return journal.Writer{Instance: "lead-instance", Epoch: 1, PID: 2}
}

func newWorld(t tb, p record.PolicySet, o machine.Observer) *world {
	w := &world{t: t, now: start, peers: map[record.Instance]*peer{}, observe: o}
	w.mem = journal.NewMemory(string(uid), journal.Leader, func() time.Time { return w.now })
	w.open = func(l *control.Leader) journal.Journal { return w.mem.Open(l) }
	return w.begin(p)
}

// withAnn is a world with one member, which has no work.
func withAnn(t tb) (*world, *member) {
	w := newWorld(t, record.PolicySet{}, nil)
	return w, w.join("ann", false)
}

// newWorldAt is newWorld with the leader's journal in files.
func newWorldAt(t tb, d journal.Dir, p record.PolicySet) *world {
	w := &world{t: t, now: start, peers: map[record.Instance]*peer{}}
	w.open = func(l *control.Leader) journal.Journal {
		j, err := d.Open(journal.Leader, l, journal.Options{})
		w.must(err)
		return j
	}
	return w.begin(p)
}

func (w *world) begin(p record.PolicySet) *world {
	w.restart()
	if p.Policy.Version == 0 {
		p.Policy.Version = 1
	}
	w.append(operator, record.KindOpened, record.Opened{Team: "api", UID: uid, Instance: "lead-instance", Name: protocol.Lead, Epoch: 1})
	w.append(operator, record.KindPolicy, p)
	return w
}

// restart starts a new process of the lead, which folds the journals anew.
func (w *world) restart() {
	w.l = control.NewLeader(w.observe)
	w.j = w.open(w.l)
	w.must(w.j.Refresh(context.Background()))
	for i := range w.peers {
		delete(w.peers, i)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	testenv.Must(w.t, err)
}

// envelopeOf is the message that a record holds.
func envelopeOf(t tb, m *record.Mail) protocol.Envelope {
	t.Helper()
	env, err := m.Open()
	testenv.Must(t, err)
	return env
}

// do appends what a step of the leader drafts. The fold must accept it.
func (w *world) do(by journal.Writer, step func() ([]journal.Draft, error)) []journal.Record {
	w.t.Helper()
	recs, err := w.j.Append(context.Background(), by, understood(w.t, step))
	w.must(err)
	return recs
}

// append appends a record that no step drafts.
func (w *world) append(by journal.Writer, kind string, body any) {
	w.t.Helper()
	_, err := w.j.Append(context.Background(), by, drafting(kind, body))
	w.must(err)
}

// drafting is a step that drafts one record.
func drafting(kind string, body any) func() ([]journal.Draft, error) {
	return func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil }
}

// passedOver are the kinds that a program which does not know them may read past. It must
// understand all others.
var passedOver = map[string]bool{record.KindDone: true, record.KindConversation: true, record.KindUsed: true, record.KindSteps: true, record.KindSpent: true, record.KindLimited: true}

// understood is a step whose drafts must be understood, but for the kinds that may be passed over.
func understood(t tb, step func() ([]journal.Draft, error)) func() ([]journal.Draft, error) {
	return func() ([]journal.Draft, error) {
		t.Helper()
		ds, err := step()
		for _, d := range ds {
			if d.Must == passedOver[d.Kind] {
				t.Errorf("a draft %s: must %v", d.Kind, d.Must)
			}
		}
		return ds, err
	}
}

func (w *world) mint() record.Mint {
	w.n++
	return record.Mint{Now: w.now, MsgID: fmt.Sprintf("00000000-0000-4000-8000-%012d", w.n), Nonce: fmt.Sprintf("%07d", w.n)}
}

// join makes a member and starts its first process.
func (w *world) join(name protocol.MemberName, plan bool, change ...func(*record.Joined)) *member {
	w.t.Helper()
	m := w.enlist(name, plan, change...)
	m.boot()
	return m
}

// enlist makes a member and starts nothing.
func (w *world) enlist(name protocol.MemberName, plan bool, change ...func(*record.Joined)) *member {
	w.t.Helper()
	w.n++
	m := &member{world: w, name: name, instance: record.Instance(fmt.Sprintf("%s-%d", name, w.n)), box: &box{}, sent: map[journal.Seq]bool{}}
	m.mem = journal.NewMemory(string(uid), journal.Name(m.instance), func() time.Time { return w.now })
	b := record.Joined{Instance: m.instance, Name: name, Color: "blue", Agent: "exec", Cwd: "/work",
		PlanRequired: plan, Backend: "process", Trust: record.Cooperative}
	for _, f := range change {
		f(&b)
	}
	w.append(operator, record.KindJoined, b)
	w.members = append(w.members, m)
	m.open()
	return m
}

// boot starts a process of the member: it takes the next epoch, folds its journal and records what
// was lost.
func (m *member) boot() {
	m.t.Helper()
	m.epoch++
	m.world.append(journal.Writer{Instance: string(m.instance)}, record.KindProcess,
		record.Process{Instance: m.instance, Epoch: m.epoch, ID: spawn.Identity{PID: 100 + int(m.epoch)}})
	m.open()
	m.do(func() ([]journal.Draft, error) {
		return m.w.Open(record.Opened{Team: "api", UID: uid, Instance: m.instance, Name: m.name, Epoch: m.epoch})
	})
	m.do(func() ([]journal.Draft, error) { return m.w.Lost("the process ended"), nil })
}

// open folds the member's journals anew.
func (m *member) open() {
	m.t.Helper()
	m.w, m.lead = control.NewWorker(m.observe), control.NewLeader(nil)
	m.j, m.lj = m.mem.Open(m.w), m.world.open(m.lead)
	m.must(m.j.Refresh(context.Background()))
	m.must(m.lj.Refresh(context.Background()))
}

func (m *member) writer() journal.Writer {
	return journal.Writer{Instance: string(m.instance), Epoch: m.epoch, PID: 100 + int(m.epoch)}
}

// do appends what a step of the worker drafts. The fold must accept it.
func (m *member) do(step func() ([]journal.Draft, error)) []journal.Record {
	m.t.Helper()
	recs, err := m.try(step)
	m.must(err)
	return recs
}

// try is do for a step that may refuse.
func (m *member) try(step func() ([]journal.Draft, error)) ([]journal.Record, error) {
	m.t.Helper()
	m.must(m.lj.Refresh(context.Background()))
	return m.j.Append(context.Background(), m.writer(), understood(m.t, step))
}

// flush puts what is on record into mailboxes.
func (m *member) flush() {
	for _, s := range m.w.Outbox {
		if m.sent[s.Seq] {
			continue
		}
		m.sent[s.Seq] = true
		env, err := s.Mail.Open()
		m.must(err)
		if s.Mail.To == protocol.Lead {
			m.world.box.put(env, false)
		}
	}
}

// incoming decodes an entry as the loop does.
func incoming(name protocol.MemberName, e entry) message.Incoming {
	return message.Incoming{Entry: e.id, Box: name, Envelope: e.env, Decoded: protocol.Decode(e.env)}
}

// receive hands one entry to the member's machine.
func (m *member) receive(e entry) []journal.Record {
	m.t.Helper()
	return m.do(func() ([]journal.Draft, error) { return m.w.Receive(incoming(m.name, e), m.lead), nil })
}

// poll receives everything that is new.
func (m *member) poll() {
	m.t.Helper()
	m.do(func() ([]journal.Draft, error) { return m.w.TakeAnswers(m.lead), nil })
	for _, e := range m.box.entries {
		m.receive(e)
	}
}

// of is the member with a name, the newest one.
func (w *world) of(name protocol.MemberName) *member {
	for i := len(w.members) - 1; i >= 0; i-- {
		if w.members[i].name == name {
			return w.members[i]
		}
	}
	return nil
}

// byInstance is the member of an instance.
func (w *world) byInstance(i record.Instance) *member {
	for _, m := range w.members {
		if m.instance == i {
			return m
		}
	}
	return nil
}

// peer is the leader's fold of a member's journal.
func (w *world) peer(i record.Instance) *control.Worker {
	w.t.Helper()
	m := w.byInstance(i)
	if m == nil {
		return nil
	}
	p := w.peers[i]
	if p == nil {
		fold := control.NewWorker(nil)
		p = &peer{m.mem.Open(fold), fold}
		w.peers[i] = p
	}
	w.must(p.j.Refresh(context.Background()))
	return p.w
}

// see hands one entry to the leader's machine.
func (w *world) see(e entry) []journal.Record {
	w.t.Helper()
	return w.do(w.lead(), func() ([]journal.Draft, error) {
		var from *control.Worker
		if m, ok := w.l.Member(protocol.MemberName(e.env.From)); ok {
			from = w.peer(m.Instance)
		}
		return w.l.See(incoming(protocol.Lead, e), from), nil
	})
}

// seeAll hands every entry to the leader's machine.
func (w *world) seeAll() {
	w.t.Helper()
	for _, e := range w.box.entries {
		w.see(e)
	}
}

// pass is one pass of the leader.
func (w *world) pass() {
	w.t.Helper()
	w.seeAll()
	for _, v := range w.l.Due(w.now) {
		w.decide(v, w.lead())
	}
	w.settle()
	w.deliver()
}

func (w *world) settle() {
	for _, m := range w.l.Live() {
		w.do(w.lead(), func() ([]journal.Draft, error) { return w.l.Settle(w.peer(m.Instance)), nil })
	}
}

// deliver puts orders into mailboxes and says so.
func (w *world) deliver() {
	w.t.Helper()
	for _, o := range w.l.Outbox() {
		env := envelopeOf(w.t, o.Mail)
		w.byInstance(o.Instance).box.put(env, false)
		w.append(w.lead(), record.KindSent, record.Sent{Ref: uint64(o.Seq)})
	}
}

// decide gives a verdict and appends what it comes to.
func (w *world) decide(v control.Answer, by journal.Writer) control.Outcome {
	w.t.Helper()
	var out control.Outcome
	ignored := len(w.l.Ignored)
	w.do(by, func() (ds []journal.Draft, err error) {
		out, err = w.l.Decide(v, by, w.mint())
		return out.Drafts, err
	})
	if len(w.l.Ignored) != ignored {
		w.t.Fatalf("the fold ignored what Decide drafted: %v", w.l.Ignored[ignored:])
	}
	return out
}

// verdict is the operator's answer to a request.
func verdict(r *control.Request, allow bool) control.Answer {
	return control.Answer{Key: r.Key, Digest: r.Digest, Allow: allow, By: policy.RoleOperator, Channel: policy.ChannelOperator, Via: "approve"}
}

// answered brings a question to the lead, and the operator's answer to its member.
func (w *world) answered(k record.Key, allow bool) {
	w.t.Helper()
	w.round()
	w.decide(verdict(w.request(k), allow), operator)
	w.round()
}

// assign gives a task and brings it to its member.
func (w *world) assign(m *member, t record.Task) {
	w.t.Helper()
	w.command(m, func(lm *control.Member) ([]journal.Draft, error) {
		return w.l.Assign(lm, t, policy.RoleLeader, w.mint())
	})
}

func (w *world) command(m *member, step func(*control.Member) ([]journal.Draft, error)) {
	w.t.Helper()
	w.do(w.lead(), func() ([]journal.Draft, error) {
		lm, ok := w.l.ByInstance(m.instance)
		if !ok {
			return nil, fmt.Errorf("no member %s", m.name)
		}
		return step(lm)
	})
}

// ask asks a question and returns its key.
func (m *member) ask(kind protocol.Kind, a record.Ask) record.Key {
	m.t.Helper()
	var k record.Key
	m.do(func() (ds []journal.Draft, err error) {
		k, ds, err = m.w.Ask(kind, a, m.lead, m.mint())
		return ds, err
	})
	return k
}

// nextTask is the first assigned task that no turn has taken, nil when there is none.
func nextTask(w *control.Worker) *control.TaskState {
	if waiting := w.Waiting(); len(waiting) > 0 {
		return waiting[0]
	}
	return nil
}

// take begins a turn with the next task.
func (m *member) take() {
	m.t.Helper()
	m.do(func() ([]journal.Draft, error) { return m.w.Take(record.Taken{Task: nextTask(m.w).ID}, m.lead) })
}

// start claims a grant and reports why it could not.
func (m *member) start(k record.Key) error {
	m.t.Helper()
	_, err := m.try(func() ([]journal.Draft, error) { return m.w.Start(k, m.epoch, m.lead, m.now) })
	return err
}

func (m *member) finish(k record.Key) {
	m.t.Helper()
	code := 0
	m.do(func() ([]journal.Draft, error) {
		return m.w.Finish(record.Finished{Key: k, ExitCode: &code, Tail: "ok"}), nil
	})
}

// says puts a report to the lead on record.
func (m *member) says(p protocol.Payload, said record.Said) {
	m.t.Helper()
	m.do(func() ([]journal.Draft, error) { return m.w.Say(p, said, m.lead, m.mint()) })
}

// idle ends the turn.
func (m *member) idle() {
	m.t.Helper()
	task := ""
	if t := m.w.Turn(); t != nil {
		task = t.Task
	}
	m.says(protocol.IdleNotification{From: string(m.name), Timestamp: protocol.FormatTime(m.now), IdleReason: "available"}, record.Said{Task: task})
}

// round moves everything that is on its way.
func (w *world) round() {
	w.t.Helper()
	for _, m := range w.members {
		m.flush()
	}
	w.pass()
	for _, m := range w.members {
		m.poll()
	}
	w.settle()
}

var bash = record.Ask{Tool: "Bash", Input: `{"command":"go test ./..."}`, Cwd: "/work", Reason: "the task says so", ToolUseID: "toolu_1"}

const (
	tool = protocol.KindPermissionRequest
	plan = protocol.KindPlanApprovalRequest
	host = protocol.KindSandboxPermissionRequest

	words = record.KindQuestion
)

// asking asks for words, and answering answers it.
var (
	asking = record.Ask{N: record.SumQuestion, Input: record.QuestionInput([]record.Question{
		{Header: "DB", Text: "Which database?", Options: []record.Option{{Label: "Postgres", Description: "as now"}, {Label: "SQLite"}}},
		{Text: "Which of these?", Multiple: true, Options: []record.Option{{Label: "a"}, {Label: "b"}, {Label: "c"}}},
		{Text: "What name?"}})}
	answering = []record.Reply{{Question: "Which database?", Answer: "SQLite", Chosen: []int{2}}, {Question: "Which of these?", Answer: "a, c", Chosen: []int{1, 3}},
		{Question: "What name?", Answer: "bee & co"}}
)

// request finds a question in the leader's fold.
func (w *world) request(k record.Key) *control.Request {
	w.t.Helper()
	r, ok := w.l.Request(k)
	if !ok {
		w.t.Fatalf("the leader has no request %s", k.ID)
	}
	return r
}
