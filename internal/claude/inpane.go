package claude

import (
	"context"
	"errors"
	"fmt"
	"time"

	"waggle/agent"
)

// inPane does the turns of a member whose client is an ordinary interactive session in the member's
// pane, which a person can type to. Work goes in through the client's messaging socket; what the
// client asks, and how its turns end, its hooks tell. What begins without work, a person's prompt
// for one, is a turn of its own.
type inPane struct {
	*member // its mutex guards what follows, and the session's fields
	show    agent.Display

	changed chan struct{}
	turn    *paneTurn // nil: none runs
	kept    agent.Conversation
	failed  int // clients in a row that ended before they were ready
}

func (p *inPane) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	close(p.changed)
	p.changed = make(chan struct{})
}

// maxFailed is how many clients in a row may end before they are ready: the next is started with the
// next work.
const maxFailed = 3

// Turn does one turn.
func (p *inPane) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	p.turning.Lock()
	defer p.turning.Unlock()
	work := w.Task != nil || len(w.Mail) > 0
	p.mu.Lock()
	team, tired := p.mode, p.failed >= maxFailed
	p.mu.Unlock()
	if !work && tired {
		return agent.Result{}, nil
	}
	ctx, dir, cancel := where(ctx, w)
	defer cancel()
	mode := p.spec.begins(w, team)
	waits := &shown{h: h}
	defer waits.set(context.WithoutCancel(ctx), "")
	s, err := p.open(ctx, waits, dir, mode, w.Conversation)
	if err != nil {
		return p.unopened(ctx, w, err)
	}
	t := &paneTurn{p: p, s: s, waits: waits, open: map[*dialog]bool{}, asker: asker{begun: &s.begun, h: h, ctx: ctx, lacks: p.spec.lacks, own: (*ownTools)(nil).has, claims: map[string]agent.Claim{},
		inPlan: func() bool { p.mu.Lock(); defer p.mu.Unlock(); return s.mode == ModePlan }, planning: mode == ModePlan, required: w.Task != nil && w.Task.PlanRequired}}
	p.change(func() { p.turn, t.before = t, s.ours })
	defer t.end()
	p.keep(t)
	if !work {
		s.resumed = false // a person goes on as they like
		return t.result(w, t.await(func() bool { return t.looks.quiet >= surelyQuiet }))
	}
	if err = t.say(s.words(w)); err == nil {
		p.change(func() { t.looks = looks{} })
		err = t.await(t.over)
	}
	return t.result(w, err)
}

// unopened is the result of a turn whose client could not be started.
func (p *inPane) unopened(ctx context.Context, w agent.Work, err error) (agent.Result, error) {
	if ctx.Err() != nil {
		return agent.Result{}, errors.Join(err, ctx.Err())
	}
	p.change(func() {
		p.failed++
		if errors.As(err, new(*MissingError)) || errors.As(err, new(*UnsupportedError)) || errors.As(err, new(*AnsweredError)) {
			p.failed = maxFailed // another try finds the same
		}
	})
	if w.Task == nil && len(w.Mail) == 0 {
		p.want()
	}
	return agent.Result{Failed: true, Reason: err.Error()}, nil
}

// keep records the session.
func (p *inPane) keep(t *paneTurn) {
	p.mu.Lock()
	id, model := t.s.id, t.s.model
	p.mu.Unlock()
	p.member.keep(&t.asker, id, model, &p.kept)
}

// open returns the client for a directory and a mode. A client that has ended, that works elsewhere
// or that plans when it should not is replaced: its mode is changed by nobody else than its person.
func (p *inPane) open(ctx context.Context, waits *shown, dir, mode, conversation string) (*session, error) {
	p.mu.Lock()
	s, _ := p.running.(*session)
	of := p.dirs[conversation]
	fits := s != nil && !s.ended() && s.dir == dir && (mode == ModePlan) == (s.mode == ModePlan)
	if s != nil && s.id != "" {
		conversation, of = s.id, s.dir
	}
	p.mu.Unlock()
	if fits {
		return s, nil
	}
	if err := p.shut(ctx); err != nil {
		fmt.Fprintf(waits.h.Output(), "the client before: %v\n", err)
	}
	err := resume(ctx, waits.h, dir, conversation, of, func(conversation string) (err error) {
		s, err = p.start(ctx, waits, dir, mode, conversation)
		return err
	})
	return s, err
}

// start starts a client and waits until its hooks have told of its session and it takes words. What
// it shows meanwhile, that it wants to be trusted or logged in, a person answers in the pane.
func (p *inPane) start(ctx context.Context, waits *shown, dir, mode, resume string) (*session, error) {
	s, err := p.begin(ctx, waits.h.Environ(), dir, mode, resume)
	if err != nil {
		return nil, err
	}
	p.change(func() { p.running = s })
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var still time.Duration // for which the screen has not changed
	var last int64
	for {
		p.mu.Lock()
		changed, pid, id := p.changed, s.pid, s.id
		p.mu.Unlock()
		if id != "" {
			if e, ok := s.entry(pid, id); ok && e.MessagingSocketPath != "" {
				p.change(func() { p.failed = 0 })
				waits.set(ctx, "")
				return s, nil
			}
		}
		lines, wrote := p.show.Shown()
		if wrote != last {
			last, still = wrote, 0
		}
		if still >= stillFor {
			waits.set(ctx, screenText(lines))
		}
		select {
		case <-s.done:
			err := fmt.Errorf("%w (%s)", ErrEnded, s.how(lines))
			return nil, errors.Join(err, p.shut(ctx))
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), p.shut(ctx))
		case <-changed:
		case <-tick.C:
			still += lookEvery
		}
	}
}

// lookEvery is how often the screen and the client's registry are looked at.
const lookEvery = 500 * time.Millisecond

// shown is what the member's pane is said to wait for.
type shown struct {
	h   agent.Host
	now string
}

// set says it, when it is another than before.
func (w *shown) set(ctx context.Context, why string) {
	to, ok := w.h.(agent.Waiter)
	if !ok || why == w.now {
		return
	}
	if err := to.Waits(ctx, why); err != nil {
		fmt.Fprintf(w.h.Output(), "what the pane waits for is not on record: %v\n", err)
		return
	}
	w.now = why
}

// enter waits for a turn of this session, and wants one when none runs.
func (p *inPane) enter(ctx context.Context, s *session) (t *paneTurn) {
	if err := p.until(ctx, s, func() bool {
		t = p.turn
		runs := t != nil && t.s == s && t.ctx.Err() == nil
		if !runs {
			p.want()
		}
		return runs
	}, nil); err != nil {
		return nil
	}
	return t
}

// until waits for a condition of a session, which is asked under the mutex. look, unless nil, is called again and again.
// The error is ErrEnded when its client ends first.
func (p *inPane) until(ctx context.Context, s *session, over func() bool, look func()) error {
	var ticks <-chan time.Time
	if look != nil {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		ticks = tick.C
	}
	for {
		p.mu.Lock()
		done, changed := over(), p.changed
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ticks:
			look()
		case <-s.done:
			return ErrEnded
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
