package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// Start starts a member's process and remembers it.
func (l *Leader) Start(ctx context.Context, i record.Instance, b spawn.Backend, s spawn.Spec) (*spawn.Process, error) {
	p, err := b.Start(ctx, s)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.procs[i] = p
	return p, nil
}

// Fail records that a member that has died, or never ran, could not be started.
func (l *Leader) Fail(ctx context.Context, i record.Instance, detail string) error {
	return l.appendNow(ctx, func() ([]journal.Draft, error) {
		m, ok := l.p.Fold.ByInstance(i)
		if !ok {
			return nil, fmt.Errorf("leader: %s is not a member", i)
		}
		return l.p.Fold.RecordDeath(m, detail, l.p.Supervise, m.Died != nil, l.p.Minter.Now()), nil
	})
}

// Started reports whether this leader started a process for the instance.
func (l *Leader) Started(i record.Instance) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.procs[i] != nil
}

// reap records the end of members whose process has ended. This pass read the mailbox before it
// checked the processes, so a member's last message may still be unread: the pass after the one
// that found the process gone records the end.
func (l *Leader) reap(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.p.Fold.Live() {
		detail, gone := l.ended(m)
		switch {
		case l.ending[m.Instance] > 0: // Stop says how it went
		case m.Trust == record.FileTrust && !m.AgreedAt.IsZero(): // it said by file that it ends
			if err := l.let(ctx, m, m.How(), l.runsOn(m)); err != nil {
				return err
			}
		case !gone:
			delete(l.gone, m.Instance)
			if p := l.procs[m.Instance]; p != nil && m.Stopping != nil {
				p.Ask() // other processes cannot end a member that runs in this one
			}
		case !l.gone[m.Instance]:
			l.gone[m.Instance], l.found = true, true
			l.reopen(ctx, m.Instance)
		case l.awaits(m):
		case l.p.Dismiss || m.Approved || m.Stopping != nil:
			if err := l.let(ctx, m, m.How(), detail); err != nil {
				return err
			}
		default:
			if err := l.lose(ctx, m, detail); err != nil {
				return err
			}
		}
	}
	return nil
}

// reclaim records that conversations are back whose taker has ended.
func (l *Leader) reclaim(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.p.Fold.Live() {
		b := m.Borrowed
		if b == nil || l.p.Alive(b.By) {
			continue
		}
		if err := l.appendDue(ctx, func() []journal.Draft {
			return l.p.Fold.Return(m, b.Seq, fmt.Sprintf("process %d has ended", b.By.PID))
		}); err != nil {
			return err
		}
	}
	return nil
}

// stopWait is how long a process that stops a member may take to record how that went, longer than
// a stop can take.
const stopWait = 20 * time.Second

// awaits reports a member that another process is stopping and has not spoken of yet.
func (l *Leader) awaits(m *control.Member) bool {
	return m.Stopping != nil && m.Stopping.Step == "" && !m.Approved && m.Process != nil && !m.Process.ID.Inside && l.p.Minter.Now().Before(m.StopAt.Add(stopWait))
}

// lose records that a member has died and stays. The caller holds mu.
func (l *Leader) lose(ctx context.Context, m *control.Member, detail string) error {
	p := l.procs[m.Instance]
	failed := p != nil && l.lost[m.Instance] != p && m.Died != nil // a start that came up would have cleared that
	l.lost[m.Instance] = p
	return l.appendDue(ctx, func() []journal.Draft {
		return l.p.Fold.RecordDeath(m, detail, l.p.Supervise, failed, l.p.Minter.Now())
	})
}

// ended reports whether a member's process has ended, and how. The caller holds mu.
func (l *Leader) ended(m *control.Member) (detail string, gone bool) {
	p := l.procs[m.Instance]
	switch {
	case p == nil && m.Process == nil:
		return "", false // not started yet
	case p != nil && !done(p), m.Process != nil && !same(m.Process.ID, p) && l.p.Alive(m.Process.ID):
		return "", false
	}
	if p != nil && (m.Process == nil || same(m.Process.ID, p) || l.lost[m.Instance] != p) { // not a process from before the newest start
		detail = l.describe(m, p.Exit())
	}
	switch s := m.Stopping; {
	case s != nil && s.Step != "":
		detail = s.Step
	case s != nil && p != nil && p.Identity().Inside && p.Exit().Panic == "":
		detail = spawn.RungTerm // the end of its context has the same meaning
	}
	return detail, true
}

func done(p *spawn.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// same reports whether a recorded process is the one that was started here.
func same(id spawn.Identity, p *spawn.Process) bool {
	return p != nil && id.Is(p.Identity())
}

func (l *Leader) describe(m *control.Member, e spawn.Exit) string {
	switch {
	case e.Panic != "":
		return e.Panic
	case e.Signal != "":
		return "ended by signal " + e.Signal
	}
	text := fmt.Sprintf("exit status %d", e.Code)
	if e.Code != record.ExitUnconfined {
		return text
	}
	why := ""
	if l.p.Refusal != nil {
		why = l.p.Refusal(m)
	}
	return text + ": " + cmp.Or(why, "it requires a sandbox and has none, its log says why")
}

// let records that a member has ended. The caller holds mu.
func (l *Leader) let(ctx context.Context, m *control.Member, how, detail string) error {
	if now, ok := l.p.Fold.ByInstance(m.Instance); ok {
		m = now // the fold may have been made again
	}
	if m.Left != nil {
		return nil
	}
	return l.append(ctx, func() ([]journal.Draft, error) { return l.p.Fold.Let(m, how, detail), nil })
}

// part calls Gone for departed members until it succeeds. The record decides, whoever wrote it, so after an
// error the next pass tries again.
func (l *Leader) part(ctx context.Context) {
	l.parting.Lock()
	defer l.parting.Unlock()
	l.mu.Lock()
	owed := slices.DeleteFunc(slices.Clone(l.p.Fold.Members), func(m *control.Member) bool { return m.Left == nil || l.parted[m.Instance] })
	l.mu.Unlock()
	for _, m := range owed {
		l.mu.Lock()
		now, _ := l.p.Fold.Member(m.Name)
		l.mu.Unlock()
		if now == nil || now.Instance != m.Instance {
			l.parted[m.Instance] = true // another member has the name now
			continue
		}
		err := l.p.Gone(ctx, m)
		l.trouble.Note("gone "+string(m.Instance), err, "registry does not show that the member left, will retry", "member", m.Name)
		l.parted[m.Instance] = err == nil
	}
}

// Begun tells the leader that its first members are started. Before that a dead member may still be
// restarted with its orders, so its tasks stay; after it the leader releases the tasks of a dead
// member that has no restart left.
func (l *Leader) Begun() { l.begun.Store(true) }

// notice is what Lost was told of a member.
type notice struct {
	died     record.Died
	forsaken bool
}

// forsake calls Lost for members that have died and are not started again.
func (l *Leader) forsake(ctx context.Context) {
	if l.p.Lost == nil {
		return
	}
	l.parting.Lock()
	defer l.parting.Unlock()
	type loss struct {
		m    *control.Member
		what notice
	}
	var lost []loss
	l.mu.Lock()
	for _, m := range l.p.Fold.Live() {
		if m.Died == nil || m.Died.Again != nil || m.Stopping != nil || l.p.Dismiss {
			continue
		}
		_, gone := l.ended(m) // else it was started, and has not said so yet
		what := notice{*m.Died, gone && l.p.Supervise && l.begun.Load() && (m.Died.GaveUp || m.Restart == nil)}
		if l.shown[m.Instance] != what {
			now := *m // a start may clear its death meanwhile
			lost = append(lost, loss{&now, what})
		}
	}
	l.mu.Unlock()
	for _, n := range lost {
		m := n.m
		err := l.p.Lost(ctx, m, n.what.forsaken)
		l.trouble.Note("lost "+string(m.Instance), err, "the board does not show that a member has died, will retry", "member", m.Name)
		if err == nil {
			if l.shown == nil {
				l.shown = map[record.Instance]notice{}
			}
			l.shown[m.Instance] = n.what
		}
	}
}

// Stop ends a member's processes when the handshake did not, reads its last messages, and records
// its end. When ctx ends first, the processes may have been signalled: the pass that finds them
// gone records the member as stopped.
func (l *Leader) Stop(ctx context.Context, name protocol.MemberName, g spawn.Grace) (rung string, err error) {
	l.mu.Lock()
	m, ok := l.p.Fold.Member(name)
	if !ok || m.Left != nil {
		l.mu.Unlock()
		return "", fmt.Errorf("leader: %s is not a member", name)
	}
	err = l.append(ctx, func() ([]journal.Draft, error) { return l.p.Fold.Stop(m, "it is ended by signal"), nil })
	stops := l.stops(m)
	l.ending[m.Instance]++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.ending[m.Instance]--
		l.mu.Unlock()
	}()
	if err != nil {
		return "", err
	}
	rung = spawn.RungGone
	for _, e := range stops {
		if input := l.p.Input; input != nil {
			g.Input = func(ctx context.Context) error { return input(ctx, e.id) }
		}
		r, serr := e.stop(ctx, g)
		rung, err = spawn.Harder(rung, r), errors.Join(err, serr)
	}
	if l.p.Rest != nil {
		r, serr := l.p.Rest(ctx, m)
		rung, err = spawn.Harder(rung, r), errors.Join(err, serr)
	}
	if err != nil {
		return rung, err
	}
	// The processes have ended: the record follows, even when ctx has ended.
	ctx = context.WithoutCancel(ctx)
	l.mu.Lock()
	l.reopen(ctx, m.Instance)
	l.mu.Unlock()
	l.trouble.Note("stop "+string(m.Instance), l.briefly(ctx, l.Pass), "the last messages of a stopped member were not read", "member", name)
	l.mu.Lock()
	err = l.let(ctx, m, m.How(), rung)
	l.mu.Unlock()
	if err != nil {
		return rung, err
	}
	_ = l.briefly(ctx, func(ctx context.Context) error { l.part(ctx); return ctx.Err() })
	return rung, nil
}

// shortly is how long the end of a member waits for files that another process has locked. The next
// pass does what remains.
const shortly = 1500 * time.Millisecond

// briefly calls f for a short time. When that was not enough for one end, the ends
// beside it do not wait too.
func (l *Leader) briefly(ctx context.Context, f func(context.Context) error) error {
	if l.held.Load() {
		return errHeld
	}
	ctx, cancel := context.WithTimeout(ctx, shortly)
	defer cancel()
	err := f(ctx)
	if ctx.Err() != nil {
		l.held.Store(true)
	}
	return err
}

var errHeld = errors.New("another process holds the lock of a file; the next pass retries")

// climb is one process, and how it is ended.
type climb struct {
	id   spawn.Identity
	stop func(context.Context, spawn.Grace) (rung string, err error)
}

// stops lists how to end the processes of a member: one that was started here, in its own way, and
// another one that is recorded as its newest start. A process that another program runs is not
// ended. The caller holds mu.
func (l *Leader) stops(m *control.Member) (stops []climb) {
	if m.Trust == record.FileTrust {
		return nil
	}
	p := l.procs[m.Instance]
	if p != nil {
		stops = append(stops, climb{p.Identity(), p.Stop})
	}
	if m.Process != nil && !same(m.Process.ID, p) {
		id := m.Process.ID
		stops = append(stops, climb{id, func(ctx context.Context, g spawn.Grace) (string, error) { return spawn.StopTree(ctx, id, g) }})
	}
	return stops
}

// endInside ends the members that live in this process, all at once: they end with it
// in any case, and what they run should not outlive them.
func (l *Leader) endInside() error {
	var inside []*spawn.Process
	l.mu.Lock()
	for _, p := range l.procs {
		if p.Identity().Inside && !done(p) {
			inside = append(inside, p)
		}
	}
	l.mu.Unlock()
	errs := make([]error, len(inside))
	var wg sync.WaitGroup
	for i, p := range inside {
		wg.Go(func() { _, errs[i] = p.Stop(context.Background(), spawn.Grace{}) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
