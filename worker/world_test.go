package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/worker"
)

// world is a team in memory: the state that survives its processes, the processes, and what an
// observer saw. It runs in a synctest bubble.
type world struct {
	t      testing.TB
	minter poll.Minter
	lead   *journal.Memory
	own    map[protocol.MemberName]*journal.Memory
	boxes  map[protocol.MemberName]mailbox.Store
	board  *board
	faults faults
	audit  audit

	gateWait time.Duration
	wrap     func(*worker.Parts) // of each process; nil: they are left as they are
	network  worker.Enforcer
	links    policy.Links
	log      *bytes.Buffer
	logger   *slog.Logger

	mu        sync.Mutex
	places    sync.Mutex // own and boxes
	nudges    []chan struct{}
	epochs    map[protocol.MemberName]int
	plays     map[string]play                  // the agent's actions for a task
	onChat    play                             // and for chat
	onRefresh atomic.Pointer[func()]           // after a worker has read the leader's journal
	ran       map[string]int                   // command: how often it was run
	read      []reading                        // chat that sessions were given
	heard     []string                         // answers that sessions were given
	lives     int                              // processes so far
	procs     map[protocol.MemberName]*process // the newest of each
	stopped   map[protocol.MemberName]bool
	wrong     []string // what broke a rule
	newest    map[protocol.MemberName]*worker.Worker
	posted    map[string]bool // ids of messages that come in by a socket
	desk      desk
}

// play is what an agent does in a turn.
type play func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error)

// reading is one chat message that one session was given.
type reading struct {
	session string // name and epoch
	text    string
}

const teamName protocol.TeamName = "sim"

const leadInstance record.Instance = "1ead"

// newWorld makes a team with members and a policy, whose operations have the given faults.
func newWorld(t testing.TB, set record.PolicySet, members ...record.Joined) *world {
	w := &world{t: t, minter: poll.Minter{Now: time.Now, Rand: rand.NewChaCha8([32]byte{1})}, own: map[protocol.MemberName]*journal.Memory{},
		boxes: map[protocol.MemberName]mailbox.Store{protocol.Lead: mailbox.NewMemory(mailbox.Options{})}, board: &board{tasks: map[task.ID]*task.Task{}},
		log: &bytes.Buffer{}, epochs: map[protocol.MemberName]int{}, plays: map[string]play{}, ran: map[string]int{}, stopped: map[protocol.MemberName]bool{}, procs: map[protocol.MemberName]*process{},
		newest: map[protocol.MemberName]*worker.Worker{}, posted: map[string]bool{}}
	w.minter.Rand = &lockedReader{r: w.minter.Rand}
	w.logger = slog.New(slog.NewTextHandler(&lockedWriter{w: w.log}, nil))
	w.lead = journal.NewMemory("uid", journal.Leader, nil)
	if set.Policy.Version == 0 {
		set.Policy.Version = 1
	}
	set.By = policy.RoleOperator
	w.operate(func(l *control.Leader) ([]journal.Draft, error) {
		return []journal.Draft{
			{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: teamName, UID: "uid", Instance: leadInstance, Name: protocol.Lead, Epoch: 1}},
			{Kind: record.KindPolicy, Must: true, Body: set}}, nil
	})
	for _, m := range members {
		w.join(m)
	}
	return w
}

// box and ownOf are a member's mailbox and journal: members join while the leader and others run.
func (w *world) box(n protocol.MemberName) mailbox.Store {
	w.places.Lock()
	defer w.places.Unlock()
	return w.boxes[n]
}

func (w *world) setBox(n protocol.MemberName, s mailbox.Store) {
	w.places.Lock()
	defer w.places.Unlock()
	w.boxes[n] = s
}

func (w *world) ownOf(n protocol.MemberName) *journal.Memory {
	w.places.Lock()
	defer w.places.Unlock()
	return w.own[n]
}

func (w *world) setOwn(n protocol.MemberName, j *journal.Memory) {
	w.places.Lock()
	defer w.places.Unlock()
	w.own[n] = j
}

func (w *world) join(m record.Joined) {
	if m.Instance == "" {
		m.Instance = record.Instance("1" + strings.Repeat("0", 8-len(m.Name)) + string(m.Name))
	}
	m.Agent, m.Cwd, m.Backend, m.Trust = "fake", "/work", "in-process", record.Cooperative
	if w.box(m.Name) == nil {
		w.setBox(m.Name, mailbox.NewMemory(mailbox.Options{}))
	}
	w.setOwn(m.Name, journal.NewMemory("uid", journal.Name(m.Instance), nil))
	w.operate(func(*control.Leader) ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindJoined, Must: true, Body: m}}, nil
	})
}

// operate appends to the leader's journal as the operator.
func (w *world) operate(propose func(l *control.Leader) ([]journal.Draft, error)) {
	w.t.Helper()
	fold := control.NewLeader(nil)
	_, err := w.lead.Open(fold).Append(context.Background(), journal.Writer{Operator: true, PID: 1},
		func() ([]journal.Draft, error) { return propose(fold) })
	if err != nil {
		w.t.Fatalf("operator: %v", err)
	}
	w.poke()
}

// command is operate for what needs a fresh id.
func (w *world) command(propose func(*control.Leader, record.Mint) ([]journal.Draft, error)) {
	w.t.Helper()
	w.operate(func(l *control.Leader) ([]journal.Draft, error) {
		m, err := w.minter.Mint()
		if err != nil {
			return nil, err
		}
		return propose(l, m)
	})
}

// assigned puts task 1 of ann on the board and on record, and sends nothing: nobody leads.
func (w *world) assigned() {
	w.t.Helper()
	w.board.add("1", "do 1", "ann")
	w.command(func(l *control.Leader, mint record.Mint) ([]journal.Draft, error) {
		m, _ := l.Member("ann")
		return l.Assign(m, record.Task{ID: "1", Subject: "one", Instructions: "do 1"}, policy.RoleOperator, mint)
	})
}

// leaderFold folds the leader's journal from its first record.
func (w *world) leaderFold() *control.Leader {
	w.t.Helper()
	fold := control.NewLeader(nil)
	if err := w.lead.Open(fold).Refresh(context.Background()); err != nil {
		w.t.Fatalf("leader's journal: %v", err)
	}
	return fold
}

// fold folds a member's journal from its first record.
func (w *world) fold(name protocol.MemberName) *control.Worker {
	w.t.Helper()
	fold := control.NewWorker(nil)
	if err := w.ownOf(name).Open(fold).Refresh(context.Background()); err != nil {
		w.t.Fatalf("journal of %s: %v", name, err)
	}
	return fold
}

func (w *world) instance(name protocol.MemberName) record.Instance {
	m, _ := w.leaderFold().Member(name)
	return m.Instance
}

// poke nudges every process.
func (w *world) poke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.nudges {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// nudged returns the nudges of a new process: at every change, and every second.
// They end with ctx.
func (w *world) nudged(ctx context.Context, wg *sync.WaitGroup) <-chan struct{} {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	w.nudges = append(w.nudges, c)
	w.mu.Unlock()
	wg.Go(func() {
		clock := time.NewTicker(time.Second)
		defer clock.Stop()
		for {
			select {
			case <-ctx.Done():
				w.mu.Lock()
				w.nudges = slices.DeleteFunc(w.nudges, func(o chan struct{}) bool { return o == c })
				w.mu.Unlock()
				return
			case <-clock.C:
				select {
				case c <- struct{}{}:
				default:
				}
			}
		}
	})
	return c
}

// wrongf notes a broken rule, once.
func (w *world) wrongf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := fmt.Sprintf(format, args...); !slices.Contains(w.wrong, s) {
		w.wrong = append(w.wrong, s)
	}
}

// chat puts plain words into a mailbox.
func (w *world) chat(to protocol.MemberName, from, text string) {
	w.t.Helper()
	id, err := w.minter.Mint()
	if err == nil {
		err = w.box(to).Append(context.Background(), protocol.Envelope{From: from, Text: text, Timestamp: protocol.FormatTime(time.Now()), MsgV: 1, MsgID: id.MsgID, Type: "message"})
	}
	if err != nil {
		w.t.Fatalf("chat: %v", err)
	}
	w.poke()
}

var errDead = errors.New("the process is dead")

const (
	none fault = iota
	dieBefore
	dieAfter
	failBefore
	failAfter
)

// audit is what an observer has read of the journals so far.
type audit struct {
	mu    sync.Mutex
	lead  *control.Leader
	leadJ *journal.Handle
	own   map[protocol.MemberName]*control.Worker
	ownJ  map[protocol.MemberName]*journal.Handle
}

// look refreshes an observer and passes the folded journals of the leader and of one member to fn.
func (w *world) look(name protocol.MemberName, fn func(*control.Leader, *control.Worker)) {
	a := &w.audit
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lead == nil {
		a.lead = control.NewLeader(nil)
		a.leadJ, a.own, a.ownJ = w.lead.Open(a.lead), map[protocol.MemberName]*control.Worker{}, map[protocol.MemberName]*journal.Handle{}
	}
	err := a.leadJ.Refresh(context.Background())
	if w.ownOf(name) != nil {
		if a.own[name] == nil {
			a.own[name] = control.NewWorker(nil)
			a.ownJ[name] = w.ownOf(name).Open(a.own[name])
		}
		err = errors.Join(err, a.ownJ[name].Refresh(context.Background()))
	}
	if err != nil {
		w.wrongf("a journal cannot be folded: %v", err)
		return
	}
	fn(a.lead, a.own[name])
}

// checkSent: a message goes out only after the record of it.
func (w *world) checkSent(by, to protocol.MemberName, e protocol.Envelope) {
	same := func(m *record.Mail) bool {
		env, err := m.Open()
		return err == nil && m.To == to && mailbox.HashOf(env) == mailbox.HashOf(e)
	}
	w.mu.Lock()
	ok := by == to && w.posted[e.MsgID]
	w.mu.Unlock()
	if ok {
		return
	}
	w.look(by, func(l *control.Leader, own *control.Worker) {
		if by == protocol.Lead || by == to { // a worker fetches what the leader ordered
			m, _ := l.Member(to)
			ok = l.Spoken(mailbox.HashOf(e)) != nil || slices.ContainsFunc(l.Vouches(m.Instance, protocol.Decode(e).Kind, record.HashText(e.Text)), func(o *control.Order) bool { return same(o.Mail) })
			if ok || by != protocol.Lead || own == nil { // own is the journal of the agent behind the lead
				return
			}
		}
		ok = slices.ContainsFunc(own.Outbox, func(s control.Sending) bool { return same(s.Mail) })
	})
	if !ok {
		w.wrongf("%s sent to %s what is not on record: %s", by, to, e.Text)
	}
}

// checkMarked: an entry is marked read only when the journal owns it.
func (w *world) checkMarked(name protocol.MemberName, ids []mailbox.ID) {
	w.look(name, func(l *control.Leader, own *control.Worker) {
		for _, id := range ids {
			if l.Unsaid(id.String(), w.minter.Now()) != "" || own != nil && own.Copy(id.String(), l) {
				continue // it is not given again
			}
			if !(name == protocol.Lead && l.Owns(id.String())) && !(own != nil && own.Owns(id.String())) {
				w.wrongf("%s marked an entry read that its journal does not own", name)
			}
		}
	})
}

// board is a task list in memory.
type board struct {
	mu    sync.Mutex
	tasks map[task.ID]*task.Task
	full  int // how many starts find no space
}

func (b *board) add(id, text string, owner protocol.MemberName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks[task.ID(id)] = &task.Task{ID: task.ID(id), Subject: id, Description: text, Owner: string(owner), Status: task.Pending}
}

func (b *board) Get(_ context.Context, id task.ID) (task.Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	if t == nil {
		return task.Task{}, &task.NotFoundError{ID: id}
	}
	return *t, nil
}

func (b *board) Blockers(_ context.Context, id task.ID) ([]task.ID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	if t == nil {
		return nil, &task.NotFoundError{ID: id}
	}
	var all []task.Task
	for _, x := range b.tasks {
		all = append(all, *x)
	}
	return task.Blocked(*t, all), nil
}

// block makes a task wait for another.
func (b *board) block(id, by task.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks[id].BlockedBy = append(b.tasks[id].BlockedBy, by)
}

func (b *board) set(id task.ID, owner protocol.MemberName, to task.Status) (task.Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	if to == task.InProgress && b.full > 0 {
		b.full--
		return task.Task{}, &fs.PathError{Op: "write", Path: string(id), Err: syscall.ENOSPC}
	}
	switch {
	case t == nil:
		return task.Task{}, &task.StateError{ID: id, Why: task.TaskNotFound}
	case t.Owner != string(owner), t.Status == task.Completed && to != task.Completed:
		return task.Task{}, &task.StateError{ID: id, Why: task.AlreadyResolved}
	}
	t.Status = to
	return *t, nil
}

func (b *board) Start(_ context.Context, id task.ID, owner protocol.MemberName) (task.Task, error) {
	return b.set(id, owner, task.InProgress)
}

func (b *board) Claim(_ context.Context, id task.ID, owner protocol.MemberName) (task.Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	switch {
	case t == nil:
		return task.Task{}, &task.StateError{ID: id, Why: task.TaskNotFound}
	case t.Owner != "" && t.Owner != string(owner):
		return task.Task{}, &task.StateError{ID: id, Why: task.AlreadyClaimed}
	}
	t.Owner, t.Status, t.Metadata = string(owner), task.InProgress, nil
	return *t, nil
}

// giveBack does what the leader does when it gives up a member that has the task.
func (b *board) giveBack(id task.ID, from protocol.MemberName) {
	note, err := json.Marshal(task.NewReleased(from, "died", time.Unix(0, 0)))
	if err != nil {
		panic(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[id]
	t.Owner, t.Status, t.Metadata = "", task.Pending, map[string]json.RawMessage{task.MetaReleased: note}
}

func (b *board) Complete(_ context.Context, id task.ID, owner protocol.MemberName) (task.Task, error) {
	return b.set(id, owner, task.Completed)
}

func (b *board) Pause(_ context.Context, id task.ID, owner protocol.MemberName) (task.Task, error) {
	return b.set(id, owner, task.Pending)
}

// session is the agent of one worker process.
type session struct {
	p    *process
	name string
	turn sync.Mutex
}

func (s *session) Turn(ctx context.Context, h agent.Host, work agent.Work) (agent.Result, error) {
	if !s.turn.TryLock() {
		s.p.w.wrongf("%s was given a turn while one ran", s.name)
		return agent.Result{}, nil
	}
	defer s.turn.Unlock()
	w := s.p.w
	w.mu.Lock()
	do := w.onChat
	if work.Task != nil {
		do = w.plays[work.Task.ID]
	}
	for _, m := range work.Mail {
		w.read = append(w.read, reading{s.name, m.Text})
	}
	w.mu.Unlock()
	if do == nil {
		return agent.Result{Summary: "done"}, nil
	}
	return do(ctx, h, work)
}

// Hear implements agent.Listener.
func (s *session) Hear(_ context.Context, mails []protocol.Mail) error {
	w := s.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range mails {
		w.read = append(w.read, reading{s.name + " mid-turn", m.Text})
	}
	return nil
}

// hear keeps the answer that a session got.
func (w *world) hear(what string, a agent.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, fmt.Sprintf("%s: %v by %s", what, a.Allowed, a.By))
}

// bash asks for a command and runs it when it is allowed.
func bash(cmd string) agent.Call {
	in, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil {
		panic(err)
	}
	return agent.Call{Tool: "Bash", Input: in, Cwd: "/work", Reason: "because"}
}

func (w *world) bash(ctx context.Context, h agent.Host, cmd string) (agent.Outcome, error) {
	out, err := h.Tool(ctx, bash(cmd), func(ctx context.Context, in json.RawMessage) agent.Ran {
		var m struct{ Command string }
		if err := json.Unmarshal(in, &m); err != nil {
			return agent.Ran{Failed: true, Err: err.Error()}
		}
		exit, err := h.Run(ctx, spawn.Command{Argv: []string{m.Command}})
		if err != nil {
			return agent.Ran{Failed: true, Err: err.Error()}
		}
		return agent.Ran{ExitCode: &exit.Code, Failed: exit.Code != 0, Tail: "ran " + m.Command}
	})
	if err == nil {
		w.hear(cmd, out.Decision)
	}
	return out, err
}

// startWorker starts a process of a member, as worker.Open does it, and returns
// when it has ended. restart is false when it must not be started again.
func (w *world) runWorker(ctx context.Context, name protocol.MemberName) (restart bool, err error) {
	p := w.process(ctx, name)
	defer p.wg.Wait()
	defer p.kill()
	parts, err := w.openWorker(p)
	if p.isDead() {
		return true, errDead
	}
	if err != nil {
		return !errors.Is(err, worker.ErrLeft), err
	}
	parts.Nudges = w.nudged(p.ctx, &p.wg)
	wk := worker.New(parts)
	w.mu.Lock()
	w.newest[name] = wk
	w.mu.Unlock()
	err = wk.Run(p.ctx)
	if p.isDead() {
		return true, errDead
	}
	return err != nil && ctx.Err() == nil && !errors.Is(err, worker.ErrLeft), err
}

// openWorker takes the next epoch of a member and makes the parts of a worker.
func (w *world) openWorker(p *process) (worker.Parts, error) {
	lead, fold := control.NewLeader(nil), control.NewWorker(nil)
	lj, oj := mortalJournal{p, w.lead.Open(lead), "leader"}, mortalJournal{p, w.ownOf(p.name).Open(fold), "own"}
	if err := errors.Join(lj.Refresh(p.ctx), oj.Refresh(p.ctx)); err != nil {
		return worker.Parts{}, err
	}
	m, ok := lead.Member(p.name)
	if !ok || m.Left != nil {
		return worker.Parts{}, worker.ErrLeft
	}
	var epoch uint64
	if _, err := lj.Append(p.ctx, journal.Writer{Instance: string(m.Instance), PID: 1}, func() ([]journal.Draft, error) {
		epoch = fold.Epoch + 1
		if m.Process != nil {
			epoch = max(epoch, m.Process.Epoch+1)
		}
		return []journal.Draft{{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: m.Instance, Epoch: epoch,
			ID: spawn.Identity{PID: int(epoch), Start: string(p.name), Boot: "boot"}}}}, nil
	}); err != nil {
		return worker.Parts{}, err
	}
	writer := journal.Writer{Instance: string(m.Instance), Epoch: epoch, PID: int(epoch)}
	if _, err := oj.Append(p.ctx, writer, func() ([]journal.Draft, error) {
		return fold.Open(record.Opened{Team: teamName, UID: "uid", Instance: m.Instance, Name: m.Name, Epoch: epoch})
	}); err != nil {
		return worker.Parts{}, err
	}
	box := func(n protocol.MemberName) mailbox.Store { return mortalBox{p, w.box(n), n} }
	parts := worker.Parts{Journal: oj, Fold: fold, Leader: lj, Lead: lead, Box: box(p.name), LeadBox: box(protocol.Lead),
		Peer: func(n protocol.MemberName) (mailbox.Store, error) {
			if _, ok := lead.Member(n); !ok {
				return nil, fmt.Errorf("no member %s", n)
			}
			return box(n), nil
		},
		Board: mortalBoard{p, w.board}, Agent: &session{p: p, name: fmt.Sprintf("%s/%d", p.name, epoch)}, Exec: mortalExec{p}, Network: w.network, Links: w.links, Output: io.Discard,
		Cwd: "/work", Minter: w.minter, Writer: writer, GateWait: w.gateWait, Log: w.logger,
		Status: w.desk.status(p.name), Files: w.desk.files}
	if w.wrap != nil {
		w.wrap(&parts)
	}
	return parts, nil
}

// desk keeps the statuses and artifacts that members leave in their directories.
type desk struct {
	mu     sync.Mutex
	states map[protocol.MemberName][]task.State
	made   []task.Artifact
	trip   string // a status at which showing it panics, once
}

func (d *desk) status(name protocol.MemberName) func(task.State) error {
	return func(s task.State) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.states == nil {
			d.states = map[protocol.MemberName][]task.State{}
		}
		if d.trip == s.Status {
			d.trip = ""
			panic("tripped over " + s.Status)
		}
		m := *s.Metrics
		s.Metrics = &m
		d.states[name] = append(d.states[name], s)
		return nil
	}
}

func (d *desk) files() ([]task.Artifact, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.made), nil
}

func (d *desk) make(path string, size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made = append(slices.DeleteFunc(d.made, func(a task.Artifact) bool { return a.Path == path }), task.Artifact{Kind: task.KindArtifact, Path: path, Size: size})
}

// openLeader makes a leader.
func (w *world) openLeader(p *process) (*leader.Leader, error) {
	fold := control.NewLeader(nil)
	j := mortalJournal{p, w.lead.Open(fold), "leader"}
	if err := j.Refresh(p.ctx); err != nil {
		return nil, err
	}
	return leader.New(leader.Parts{Journal: j, Fold: fold, Writer: journal.Writer{Instance: string(leadInstance), Epoch: 1, PID: 1},
		Box: mortalBox{p, w.box(protocol.Lead), protocol.Lead}, Mark: true, Minter: w.minter, Log: w.logger,
		Member: func(n protocol.MemberName) (mailbox.Store, error) { return mortalBox{p, w.box(n), n}, nil },
		Peers: func(i record.Instance) (journal.Journal, *control.Worker, error) {
			m, ok := fold.ByInstance(i)
			if !ok {
				return nil, nil, fmt.Errorf("no instance %s", i)
			}
			wf := control.NewWorker(nil)
			return mortalJournal{p, w.ownOf(m.Name).Open(wf), "peer"}, wf, nil
		},
		Alive: func(id spawn.Identity) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !w.stopped[protocol.MemberName(id.Start)]
		},
		Gone: func(_ context.Context, m *control.Member) error {
			return p.do("gone", func() error { return nil })
		}}), nil
}

// supervise keeps a member running until it ends for good.
func (w *world) supervise(ctx context.Context, name protocol.MemberName) {
	for ctx.Err() == nil {
		restart, err := w.runWorker(ctx, name)
		if !restart {
			w.mu.Lock()
			w.stopped[name] = true
			w.mu.Unlock()
			w.poke()
			if err != nil && ctx.Err() == nil {
				w.wrongf("%s ended: %v", name, err)
			}
			return
		}
	}
}

// lockedReader and lockedWriter make one stream of many.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *lockedReader) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// dump writes down everything that is on record.
func (w *world) dump() string {
	var b strings.Builder
	line := func(name string, recs []journal.Record) {
		for _, r := range recs {
			fmt.Fprintf(&b, "%-6s %3d %s %-10s %.300s\n", name, r.Seq, r.Time.Format("05.000"), r.Kind, r.Body)
		}
	}
	line("leader", w.lead.Records())
	for _, n := range slices.Sorted(maps.Keys(w.own)) {
		line(string(n), w.ownOf(n).Records())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&b, "ran %v\nread %v\nheard %v\nwrong %v\n", w.ran, w.read, w.heard, w.wrong)
	return b.String() + w.log.String()
}
