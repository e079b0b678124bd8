package leader_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/message"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// rig is a leader over memory, and members that the test plays by hand.
type rig struct {
	t      *testing.T
	now    time.Time
	asleep time.Duration // the machine was suspended for as long
	mint   poll.Minter
	record *journal.Memory
	fold   *control.Leader
	box    mailbox.Store
	boxes  map[protocol.MemberName]*switchable
	member map[protocol.MemberName]*member
	dead   map[int]bool // pids
	gone   []string
	parted error // the error that Gone returns
	log    *bytes.Buffer
	agent  agent.Decider
	wrap   func(journal.Journal) journal.Journal // of the next leader's own journal; nil: it is left as it is
	others []protocol.MemberName                 // whom waggle does not run
	l      *leader.Leader

	dismiss, supervise bool
}

// member is the journal of one.
type member struct {
	name  protocol.MemberName
	inst  record.Instance
	mem   *journal.Memory
	j     journal.Journal
	fold  *control.Worker
	epoch uint64
	read  error // what reading its journal fails with
	pause bool  // a reader that found a break does not look again
}

const leadInstance record.Instance = "1ead"

// vital is a record that every reader has to know.
func vital(kind string, body any) journal.Draft {
	return journal.Draft{Kind: kind, Must: true, Body: body}
}

// founding are the first records of a team.
var founding = []journal.Draft{
	vital(record.KindOpened, record.Opened{Team: "sim", UID: "uid", Instance: leadInstance, Name: protocol.Lead, Epoch: 1}),
	vital(record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 1, Mode: policy.ModeDefault}, By: policy.RoleOperator}),
}

func newRig(t *testing.T, names ...protocol.MemberName) *rig {
	t.Helper()
	r := &rig{t: t, dismiss: true, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), boxes: map[protocol.MemberName]*switchable{}, member: map[protocol.MemberName]*member{},
		dead: map[int]bool{}, log: &bytes.Buffer{}, box: mailbox.NewMemory(mailbox.Options{})}
	clock := func() time.Time { return r.now }
	r.mint = poll.Minter{Now: clock, Rand: rand.Reader}
	r.record = journal.NewMemory("uid", journal.Leader, clock)
	r.records(founding...)
	for i, n := range names {
		r.join(n, record.Instance(strings.Repeat("a", i+1)), i+1)
	}
	r.open()
	return r
}

// open makes a new leader process.
func (r *rig) open() {
	r.fold = control.NewLeader(nil)
	var j journal.Journal = r.record.Open(r.fold)
	if r.wrap != nil {
		j = r.wrap(j)
	}
	testenv.Must(r.t, j.Refresh(r.t.Context()))
	r.l = leader.New(leader.Parts{Journal: j, Fold: r.fold, Writer: journal.Writer{Instance: string(leadInstance), Epoch: 1}, Box: r.box, Mark: true, Dismiss: r.dismiss, Supervise: r.supervise, Minter: r.mint,
		Agent:  r.agent,
		Others: func(context.Context) ([]protocol.MemberName, error) { return r.others, nil },
		Member: func(n protocol.MemberName) (mailbox.Store, error) { return r.boxes[n], nil },
		Peers: func(i record.Instance) (journal.Journal, *control.Worker, error) {
			for _, m := range r.member {
				if m.inst == i {
					w := control.NewWorker(nil)
					return &unreadable{m.mem.Open(w), m, nil}, w, nil
				}
			}
			return nil, nil, errors.New("no such member")
		},
		Alive:  func(id spawn.Identity) bool { return !r.dead[id.PID] },
		Asleep: func() time.Duration { return r.asleep },
		Gone: func(_ context.Context, m *control.Member) error {
			if r.parted == nil {
				r.gone = append(r.gone, string(m.Name)+" "+m.Left.How)
			}
			return r.parted
		},
		Log: slog.New(slog.NewTextHandler(r.log, nil))})
}

// unreadable is a member's journal whose reading may fail.
type unreadable struct {
	journal.Journal
	m    *member
	last error
}

func (u *unreadable) Refresh(ctx context.Context) error {
	if u.m.read != nil {
		u.last = u.m.read
		return u.m.read
	}
	if u.m.pause && u.last != nil {
		return u.last
	}
	return u.Journal.Refresh(ctx)
}

// switchable is a mailbox that may fail.
type switchable struct {
	mailbox.Store
	err   error
	tried int
	// before is called before an append takes the lock.
	before func()
}

func newBox() *switchable { return &switchable{Store: mailbox.NewMemory(mailbox.Options{})} }

func (s *switchable) Append(ctx context.Context, es ...protocol.Envelope) error {
	s.tried++
	if s.err != nil {
		return s.err
	}
	if s.before != nil {
		s.before()
	}
	return s.Store.Append(ctx, es...)
}

func (r *rig) operate(propose func(l *control.Leader) ([]journal.Draft, error)) {
	r.t.Helper()
	fold := control.NewLeader(nil)
	if _, err := r.record.Open(fold).Append(r.t.Context(), journal.Writer{Operator: true}, func() ([]journal.Draft, error) { return propose(fold) }); err != nil {
		r.t.Fatal(err)
	}
}

// records is operate for records that need no fold.
func (r *rig) records(ds ...journal.Draft) {
	r.t.Helper()
	r.operate(func(*control.Leader) ([]journal.Draft, error) { return ds, nil })
}

// decide answers a request as the operator.
func (r *rig) decide(k record.Key, allow bool) (control.Outcome, error) {
	r.t.Helper()
	fold := control.NewLeader(nil)
	j := r.record.Open(fold)
	testenv.Must(r.t, j.Refresh(r.t.Context()))
	req, _ := fold.Request(k)
	return leader.Decide(r.t.Context(), j, fold, journal.Writer{Operator: true}, r.mint, control.Answer{Key: k, Digest: req.Digest, Allow: allow,
		By: policy.RoleOperator, Channel: policy.ChannelOperator})
}

// join makes a member whose process runs.
func (r *rig) join(name protocol.MemberName, inst record.Instance, pid int) {
	r.t.Helper()
	m := &member{name: name, inst: inst, fold: control.NewWorker(nil), epoch: 1,
		mem: journal.NewMemory("uid", journal.Name(inst), func() time.Time { return r.now })}
	m.j = m.mem.Open(m.fold)
	r.member[name] = m
	if r.boxes[name] == nil {
		r.boxes[name] = newBox()
	}
	r.records(vital(record.KindJoined, record.Joined{Instance: inst, Name: name, Agent: "exec", Backend: "process", Trust: record.Cooperative}))
	r.starts(inst, 1, pid)
	r.write(m, func() ([]journal.Draft, error) {
		return m.fold.Open(record.Opened{Team: "sim", UID: "uid", Instance: inst, Name: name, Epoch: 1})
	})
}

// write appends to a member's journal.
func (r *rig) write(m *member, propose func() ([]journal.Draft, error)) {
	r.t.Helper()
	if _, err := m.j.Append(r.t.Context(), journal.Writer{Instance: string(m.inst), Epoch: m.epoch}, propose); err != nil {
		r.t.Fatal(err)
	}
}

// mintOf is a mint of the rig's.
func (r *rig) mintOf() record.Mint {
	r.t.Helper()
	m, err := r.mint.Mint()
	testenv.Must(r.t, err)
	return m
}

// take makes a member read its mailbox and take its next task.
func (r *rig) take(name protocol.MemberName) {
	r.t.Helper()
	m := r.member[name]
	es, err := r.boxes[name].Entries(r.t.Context())
	testenv.Must(r.t, err)
	for _, e := range es {
		in := message.Incoming{Entry: e.ID.String(), Box: name, Envelope: e.Envelope, Decoded: protocol.Decode(e.Envelope)}
		r.write(m, func() ([]journal.Draft, error) { return m.fold.Receive(in, r.view()), nil })
	}
	if waiting := m.fold.Waiting(); len(waiting) > 0 {
		r.write(m, func() ([]journal.Draft, error) { return m.fold.Take(record.Taken{Task: waiting[0].ID}, r.view()) })
	}
}

// view is the leader's journal as a member folds it.
func (r *rig) view() *control.Leader {
	r.t.Helper()
	fold := control.NewLeader(nil)
	testenv.Must(r.t, r.record.Open(fold).Refresh(r.t.Context()))
	return fold
}

// says puts what a member says on record and into the lead's mailbox.
func (r *rig) says(name protocol.MemberName, p protocol.Payload, s record.Said) {
	r.t.Helper()
	m := r.member[name]
	r.write(m, func() ([]journal.Draft, error) { return m.fold.Say(p, s, r.view(), r.mintOf()) })
	r.send(m)
}

// send puts the newest message of a member's outbox into the lead's mailbox.
func (r *rig) send(m *member) {
	r.t.Helper()
	env, err := m.fold.Outbox[len(m.fold.Outbox)-1].Mail.Open()
	if err == nil {
		err = r.box.Append(r.t.Context(), env)
	}
	testenv.Must(r.t, err)
}

// asks asks for a tool.
func (r *rig) asks(name protocol.MemberName, cmd string) record.Key {
	r.t.Helper()
	m := r.member[name]
	var key record.Key
	r.write(m, func() (ds []journal.Draft, err error) {
		key, ds, err = m.fold.Ask(protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: `{"command":"` + cmd + `"}`, Cwd: "/"}, r.view(), r.mintOf())
		return ds, err
	})
	r.send(m)
	return key
}

func (r *rig) idle(name protocol.MemberName, task string) {
	r.t.Helper()
	r.says(name, protocol.IdleNotification{From: string(name), Timestamp: protocol.FormatTime(r.now), IdleReason: "available"}, record.Said{Task: task})
}

func (r *rig) pass() {
	r.t.Helper()
	if err := r.l.Pass(r.t.Context()); err != nil {
		r.t.Fatalf("pass: %v", err)
	}
}

func (r *rig) assign(name protocol.MemberName, id string) {
	r.t.Helper()
	testenv.Must(r.t, r.l.Assign(r.t.Context(), name, record.Task{ID: id, Subject: "task " + id, Instructions: "do " + id}))
}

// got lists the tasks of the orders in a member's mailbox.
func (r *rig) got(name protocol.MemberName) (ids []string) {
	r.t.Helper()
	es, err := r.boxes[name].Entries(r.t.Context())
	testenv.Must(r.t, err)
	for _, e := range es {
		switch p := protocol.Decode(e.Envelope).Payload.(type) {
		case protocol.TaskAssignment:
			ids = append(ids, p.TaskID)
		default:
			ids = append(ids, string(p.Kind()))
		}
	}
	return ids
}

// left is how a member left, "" while it is there.
func (r *rig) left(name protocol.MemberName) (how string) {
	r.l.View(func(l *control.Leader) {
		if m, ok := l.Member(name); ok && m.Left != nil {
			how = m.Left.How
		}
	})
	return how
}

func (r *rig) tick(d time.Duration) { r.now = r.now.Add(d) }
