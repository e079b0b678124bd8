package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"

	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/task"
)

// process is one process of a leader or a worker. After its death none of its operations has an
// effect.
type process struct {
	w    *world
	name protocol.MemberName
	ctx  context.Context
	kill context.CancelFunc
	wg   sync.WaitGroup

	mu   sync.Mutex
	dead bool
}

func (w *world) process(ctx context.Context, name protocol.MemberName) *process {
	p := &process{w: w, name: name}
	p.ctx, p.kill = context.WithCancel(ctx)
	w.mu.Lock()
	w.lives++
	w.procs[name] = p
	w.mu.Unlock()
	return p
}

func (p *process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.kill()
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// do runs one operation that others can see, or the fault that is set for it.
func (p *process) do(kind string, thing func() error) error {
	if p.isDead() {
		return errDead
	}
	f := p.w.faults.next(p.name, kind)
	switch f {
	case dieBefore:
		p.die()
		return errDead
	case failBefore:
		return fmt.Errorf("injected before %s: %w", kind, syscall.EIO)
	}
	err := thing()
	switch f {
	case dieAfter:
		p.die()
		return errDead
	case failAfter:
		return fmt.Errorf("injected after %s: %w", kind, syscall.EIO)
	}
	return err
}

// done is do for an operation with a result.
func done[T any](p *process, kind string, thing func() (T, error)) (v T, err error) {
	err = p.do(kind, func() error { v, err = thing(); return err })
	return v, err
}

// fault is what happens to one operation of a process.
type fault int

func (f fault) String() string {
	return [...]string{"none", "die before", "die after", "fail before", "fail after"}[f]
}

// faults maps operations to faults. The zero value has none.
type faults struct {
	mu    sync.Mutex
	count map[string]int   // process and kind: number of operations
	at    map[string]fault // process, kind and number
	draw  func() fault     // random faults, when not nil
	hit   int
}

func (f *faults) next(name protocol.MemberName, kind string) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count = map[string]int{}
	}
	k := string(name) + " " + kind
	f.count[k]++
	what, ok := f.at[fmt.Sprintf("%s %d", k, f.count[k])]
	if !ok && f.draw != nil {
		what = f.draw()
	}
	if what != none {
		f.hit++
	}
	return what
}

// mortalJournal is a journal as one process has it.
type mortalJournal struct {
	p    *process
	j    journal.Journal
	kind string
}

func (m mortalJournal) Refresh(ctx context.Context) error {
	err := m.p.do("refresh "+m.kind, func() error { return m.j.Refresh(ctx) })
	if fn := m.p.w.onRefresh.Load(); fn != nil && m.p.name != protocol.Lead && m.kind == "leader" {
		(*fn)()
	}
	return err
}

func (m mortalJournal) Append(ctx context.Context, wr journal.Writer, propose func() ([]journal.Draft, error)) (recs []journal.Record, err error) {
	// A fault counts only where something is written: the fault is drawn in
	// propose, which runs under the journal's lock.
	if m.p.isDead() {
		return nil, errDead
	}
	f, kinds := none, ""
	recs, err = m.j.Append(ctx, wr, func() ([]journal.Draft, error) {
		ds, err := propose()
		if err != nil || len(ds) == 0 {
			return ds, err
		}
		for _, d := range ds {
			kinds += " " + d.Kind
		}
		if m.p.isDead() {
			return nil, errDead
		}
		switch f = m.p.w.faults.next(m.p.name, "append "+m.kind); f {
		case dieBefore:
			m.p.die()
			return nil, errDead
		case failBefore:
			return nil, fmt.Errorf("injected before append of%s: %w", kinds, syscall.ENOSPC)
		}
		return ds, nil
	})
	if len(recs) > 0 {
		m.p.w.poke()
	}
	switch {
	case err == nil && f == dieAfter:
		m.p.die()
		return nil, errDead
	case err == nil && f == failAfter:
		return nil, fmt.Errorf("injected after append of%s: %w", kinds, syscall.EIO)
	}
	return recs, err
}

// mortalBox is a mailbox as one process has it. It checks the rules of the flow.
type mortalBox struct {
	p     *process
	s     mailbox.Store
	owner protocol.MemberName
}

func (m mortalBox) Append(ctx context.Context, entries ...protocol.Envelope) error {
	return m.p.do("send", func() error {
		for _, e := range entries {
			m.p.w.checkSent(m.p.name, m.owner, e)
		}
		err := m.s.Append(ctx, entries...)
		if err == nil {
			m.p.w.poke() // a failed operation changes no file, so no nudge follows
		}
		return err
	})
}

func (m mortalBox) Entries(ctx context.Context) ([]mailbox.Entry, error) {
	return done(m.p, "entries", func() ([]mailbox.Entry, error) { return m.s.Entries(ctx) })
}

func (m mortalBox) Unread(ctx context.Context) ([]mailbox.Entry, error) {
	return done(m.p, "entries", func() ([]mailbox.Entry, error) { return m.s.Unread(ctx) })
}

func (m mortalBox) MarkRead(ctx context.Context, ids ...mailbox.ID) error {
	return m.p.do("mark", func() error {
		m.p.w.checkMarked(m.p.name, ids)
		return m.s.MarkRead(ctx, ids...)
	})
}

// mortalBoard is the board as one process has it.
type mortalBoard struct {
	p *process
	b *board
}

func (m mortalBoard) Get(ctx context.Context, id task.ID) (task.Task, error) {
	return done(m.p, "board read", func() (task.Task, error) { return m.b.Get(ctx, id) })
}

func (m mortalBoard) Blockers(ctx context.Context, id task.ID) ([]task.ID, error) {
	return done(m.p, "board read", func() ([]task.ID, error) { return m.b.Blockers(ctx, id) })
}

func (m mortalBoard) Start(ctx context.Context, id task.ID, o protocol.MemberName) (task.Task, error) {
	return done(m.p, "board", func() (task.Task, error) { return m.b.Start(ctx, id, o) })
}

func (m mortalBoard) Claim(ctx context.Context, id task.ID, o protocol.MemberName) (task.Task, error) {
	return done(m.p, "board", func() (task.Task, error) { return m.b.Claim(ctx, id, o) })
}

func (m mortalBoard) Complete(ctx context.Context, id task.ID, o protocol.MemberName) (task.Task, error) {
	return done(m.p, "board", func() (task.Task, error) {
		m.p.w.look(o, func(_ *control.Leader, own *control.Worker) {
			if !slices.ContainsFunc(own.Tasks, func(s *control.TaskState) bool { return s.ID == string(id) && s.Ended && !s.Failed }) {
				m.p.w.wrongf("the board shows task %s completed before the record", id)
			}
		})
		return m.b.Complete(ctx, id, o)
	})
}

func (m mortalBoard) Pause(ctx context.Context, id task.ID, o protocol.MemberName) (task.Task, error) {
	return done(m.p, "board", func() (task.Task, error) {
		m.p.w.look(o, func(_ *control.Leader, own *control.Worker) {
			if slices.ContainsFunc(own.Tasks, func(s *control.TaskState) bool { return s.ID == string(id) && s.Taken && !s.Ended }) {
				m.p.w.wrongf("the board shows task %s as pending while its turn runs", id)
			}
		})
		return m.b.Pause(ctx, id, o)
	})
}

// mortalExec runs commands: it counts them.
type mortalExec struct{ p *process }

func (m mortalExec) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	cmd := strings.Join(c.Argv, " ")
	if strings.HasPrefix(cmd, "sleep") {
		<-ctx.Done()
		return spawn.Exit{Code: -1, Signal: "terminated"}, ctx.Err()
	}
	err := m.p.do("run", func() error {
		m.p.w.mu.Lock()
		defer m.p.w.mu.Unlock()
		m.p.w.ran[cmd]++
		return nil
	})
	return spawn.Exit{}, err
}
