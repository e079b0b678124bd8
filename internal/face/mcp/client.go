package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"waggle/agent"
	"waggle/protocol"
)

// Client is the agent of a member whose model is in a connected MCP client: a worker gives it
// turns, and the client's tool calls run within them. A tool call without work runs in a turn that
// Client starts itself, which ends when the client next checks for work.
type Client struct {
	starts chan struct{}

	mu      sync.Mutex
	changed chan struct{}   // closed at every change
	turn    *turn           // nil: none runs
	heard   []protocol.Mail // messages that came during the turn
	gone    bool            // no turn begins any more
}

// turn is one turn of the client.
type turn struct {
	host  agent.Host
	work  agent.Work
	given bool              // the client has got its work
	calls int               // tool calls in progress, with calls that the client runs itself and has not reported the end of
	end   chan agent.Result // its result; room for one
	ended bool              // the result is there
}

// lapses reports whether the turn ends when the client makes no further tool call: a turn without
// work, or one whose mail the client has received. The caller holds mu.
func (t *turn) lapses() bool { return t.work.Task == nil && t.given && t.calls == 0 }

// finish ends the turn. The caller holds mu.
func (t *turn) finish(r agent.Result) {
	if !t.ended {
		t.ended = true
		t.end <- r
	}
}

var (
	_ agent.Starter  = (*Client)(nil)
	_ agent.Listener = (*Client)(nil)
)

// NewClient returns the agent of a member whose client has connected.
func NewClient() *Client {
	return &Client{starts: make(chan struct{}, 1), changed: make(chan struct{})}
}

// ErrGone means that the member has ended, and that every tool call of its client fails.
var ErrGone = errors.New("this member has ended: nothing can be done as this member any more")

// quiet is how long a turn without a task lasts after its last call.
const quiet = 10 * time.Second

// Starts implements agent.Starter.
func (c *Client) Starts() <-chan struct{} { return c.starts }

// Turn implements agent.Agent: a turn with a task lasts until the client ends it, a turn without
// one until the client makes no further call. A member whose client makes no calls is idle, and can
// be ended.
func (c *Client) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	t := &turn{host: h, work: w, end: make(chan agent.Result, 1)}
	t.given = w.Task == nil && len(w.Mail) == 0
	c.change(func() { c.turn = t })
	defer c.change(func() { c.turn = nil })
	for {
		c.mu.Lock()
		changed := c.changed
		var over <-chan time.Time
		if t.lapses() {
			over = time.After(quiet)
		}
		c.mu.Unlock()
		select {
		case r := <-t.end:
			return r, nil
		case <-ctx.Done():
			return agent.Result{}, ctx.Err()
		case <-over:
			c.change(func() {
				if t.lapses() {
					t.finish(agent.Result{})
				}
			})
		case <-changed:
		}
	}
}

// Hear implements agent.Listener.
func (c *Client) Hear(_ context.Context, mails []protocol.Mail) error {
	c.change(func() { c.heard = append(c.heard, mails...) })
	return nil
}

// Close prevents further turns: calls that wait for one end with ErrGone.
func (c *Client) Close() { c.change(func() { c.gone = true }) }

func (c *Client) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	c.wake()
}

// wake lets everybody who waits for a change look again. The caller holds mu.
func (c *Client) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// until waits for a condition, which it evaluates under the lock, at once and after every change.
// It also returns when the timeout comes first. A condition that becomes true may change the state.
func (c *Client) until(ctx context.Context, timeout <-chan time.Time, ok func() bool) error {
	for {
		c.mu.Lock()
		changed, done, gone := c.changed, ok(), c.gone
		if done {
			c.wake()
		}
		c.mu.Unlock()
		switch {
		case done:
			return nil
		case gone:
			return ErrGone
		}
		select {
		case <-changed:
		case <-timeout:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enter waits for a turn in which to run a call, and asks for one when none runs. Until leave is
// called, the turn does not end by itself.
func (c *Client) enter(ctx context.Context) (t *turn, leave func(), err error) {
	err = c.until(ctx, nil, func() bool {
		if c.turn == nil || c.turn.ended {
			select {
			case c.starts <- struct{}{}:
			default: // a start is pending already
			}
			return false
		}
		t = c.turn
		t.calls++
		return true
	})
	return t, sync.OnceFunc(func() { c.change(func() { t.calls-- }) }), err
}

// within runs a call in a turn, which does not end by itself meanwhile.
func within[T any](ctx context.Context, c *Client, call func(*turn) (T, error)) (got T, err error) {
	t, leave, err := c.enter(ctx)
	if err != nil {
		return got, err
	}
	defer leave()
	return call(t)
}

// Say sends a message.
func (c *Client) Say(ctx context.Context, to, text, summary string) error {
	_, err := within(ctx, c, func(t *turn) (none, error) { return none{}, t.host.Say(ctx, to, text, summary) })
	return err
}

// Progress reports the progress of the task of the turn to the lead, or sends a message in a turn
// without a task.
func (c *Client) Progress(ctx context.Context, phase, message string) error {
	_, err := within(ctx, c, func(t *turn) (none, error) {
		if t.work.Task == nil {
			return none{}, t.host.Say(ctx, string(protocol.Lead), message, phase)
		}
		return none{}, t.host.Progress(ctx, phase, message)
	})
	return err
}

// Ask asks the gate about a call that the client runs itself; the turn lasts until its end is
// reported, or the client checks for work.
func (c *Client) Ask(ctx context.Context, call agent.Call) (agent.Claim, error) {
	t, leave, err := c.enter(ctx)
	if err != nil {
		return agent.Claim{}, err
	}
	if call.Cwd == "" {
		call.Cwd = t.cwd()
	}
	claim, err := t.host.Ask(ctx, call)
	if err != nil || !claim.Allowed {
		leave()
		return claim, err
	}
	return agent.Granted(claim.Decision, claim.ID, claim.Input, func(ctx context.Context, r agent.Ran) error {
		defer leave()
		return claim.Done(ctx, r)
	}), nil
}

// cwd is the working directory of a turn.
func (t *turn) cwd() string {
	if t.work.Task != nil {
		return t.work.Task.Cwd
	}
	return t.work.Cwd
}

// Question asks a person in words.
func (c *Client) Question(ctx context.Context, q agent.Question) (agent.Answers, error) {
	return within(ctx, c, func(t *turn) (agent.Answers, error) { return t.host.Question(ctx, q) })
}

// Plan requests a decision about a plan.
func (c *Client) Plan(ctx context.Context, plan string) (agent.Decision, error) {
	return within(ctx, c, func(t *turn) (agent.Decision, error) { return t.host.Plan(ctx, plan) })
}

// Network asks for a host.
func (c *Client) Network(ctx context.Context, host, reason string) (agent.Decision, error) {
	return within(ctx, c, func(t *turn) (agent.Decision, error) { return t.host.Network(ctx, host, reason) })
}

// Check ends a turn whose mail the client has read, and one that Client started itself; then it
// waits for work. In the turn of a task it returns the messages that came meanwhile, and the task
// again.
func (c *Client) Check(ctx context.Context, wait time.Duration) (Work, error) {
	c.change(func() {
		if t := c.turn; t != nil && t.given && t.work.Task == nil {
			t.finish(agent.Result{})
		}
	})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	w := Work{Messages: []Mail{}}
	err := c.until(ctx, timer.C, func() bool {
		t := c.turn
		if t == nil || t.ended {
			return false
		}
		first := !t.given
		if first {
			t.given = true
			w.Messages = append(w.Messages, letters(t.work.Mail)...)
		}
		w.Messages = append(w.Messages, letters(c.heard)...)
		c.heard, w.Task = nil, taskOf(t.work.Task)
		return first || len(w.Messages) > 0
	})
	if errors.Is(err, ErrGone) {
		return Work{Messages: []Mail{}, Ending: true}, nil
	}
	return w, err
}

// Complete ends the turn of a task, and waits until that has its effect. ours is false when the
// client works on no such task.
func (c *Client) Complete(ctx context.Context, id, summary string, failed bool) (ours bool, err error) {
	var t *turn
	c.change(func() {
		if now := c.turn; now != nil && !now.ended && now.work.Task != nil && now.work.Task.ID == id {
			t = now
			r := agent.Result{Summary: summary, Failed: failed}
			if failed {
				r.Reason = summary
			}
			t.finish(r)
		}
	})
	if t == nil {
		return false, nil
	}
	return true, c.until(ctx, nil, func() bool { return c.turn != t })
}

func letters(mails []protocol.Mail) []Mail {
	var ms []Mail
	for _, m := range mails {
		ms = append(ms, Mail{From: m.From, Summary: m.Summary, Text: m.Text})
	}
	return ms
}

func taskOf(t *agent.Task) *agent.BoardTask {
	if t == nil {
		return nil
	}
	return &agent.BoardTask{ID: t.ID, Subject: t.Subject, Instructions: t.Instructions, Status: "in_progress", Cwd: t.Cwd, Plan: t.PlanRequired}
}
