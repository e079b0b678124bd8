package supervise

import (
	"context"
	"sync"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
)

// beginning are the starts of members that were in the queue: each prepares its worktree, which may take long, beside
// the loop that leads.
type beginning struct {
	starts sync.WaitGroup
	cancel []context.CancelFunc
	mu     sync.Mutex
	over   []attempt
}

// attempt is a start that has ended.
type attempt struct {
	instance record.Instance
	name     protocol.MemberName
	err      error
}

// end breaks off the starts that are not over, and waits for them. Their members are out of the queue: whoever leads
// next starts them.
func (b *beginning) end() {
	for _, cancel := range b.cancel {
		cancel()
	}
	b.starts.Wait()
}

// taken are the starts that have ended since the last call.
func (b *beginning) taken() []attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	over := b.over
	b.over = nil
	return over
}

// advance starts the members of the queue for which there is room. Each is on record as begun before, so that no
// process starts it twice.
func (k *keeper) advance(ctx context.Context) {
	for _, b := range k.queue.taken() {
		k.begun(ctx, b)
	}
	halted := process.Of(k.o.Operator).Halted(k.S)
	if ctx.Err() != nil || len(k.S.Lead.Startable(halted)) == 0 {
		return
	}
	var due []*control.Member
	_, err := k.S.Journal.Append(ctx, journal.Writer{Instance: string(k.S.Lead.Instance), Epoch: k.S.Lead.Epoch, PID: k.o.PID}, func() ([]journal.Draft, error) {
		if due = nil; k.S.Lead.Closing == nil {
			due = k.S.Lead.Startable(halted)
		}
		return k.S.Lead.Begin(due...), nil
	})
	if err != nil {
		k.trouble.Note("queue", err, "no member of the queue can be started now, will retry")
		return
	}
	k.trouble.Note("queue", nil, "")
	for _, m := range due {
		k.Note(operator.Note{What: "begins", Member: string(m.Name), Text: "it was in the queue"})
		k.start(ctx, attempt{instance: m.Instance, name: m.Name})
	}
}

// start begins a member beside the loop.
func (k *keeper) start(ctx context.Context, b attempt) {
	ctx, cancel := context.WithCancel(ctx)
	k.queue.cancel = append(k.queue.cancel, cancel)
	k.moved = true
	k.queue.starts.Go(func() {
		b.err = k.o.Begin(ctx, k.S.Team, b.name, LeadOptions{Ready: k.lo.Ready, Accept: k.lo.Accept})
		k.queue.mu.Lock()
		defer k.queue.mu.Unlock()
		k.queue.over = append(k.queue.over, b)
	})
}

// begun notes how a start has ended. One that failed is on record as a death, after which the member is started again
// by its policy; one whose setup failed waits for a person.
func (k *keeper) begun(ctx context.Context, b attempt) {
	k.moved = true
	if b.err == nil || ctx.Err() != nil || k.unblocked(b.err) == nil {
		return
	}
	k.Note(operator.Note{What: "trouble", Member: string(b.name), Text: b.err.Error()})
	m, ok := k.S.Lead.ByInstance(b.instance)
	if ok && m.Left == nil && m.Process == nil && m.Died == nil {
		k.warn("a failed start is not on record", k.l.Fail(ctx, b.instance, b.err.Error()), "member", b.name)
	}
}

// unqueue takes a member out of the queue. taken is false when the process that leads has just done so.
func (o Operator) unqueue(ctx context.Context, s *operator.State, m *control.Member) (taken bool, err error) {
	recs, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if now, ok := s.Lead.ByInstance(m.Instance); ok {
			return s.Lead.Begin(now), nil
		}
		return nil, nil
	})
	return len(recs) > 0, err
}
