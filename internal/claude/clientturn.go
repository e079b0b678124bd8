package claude

import (
	"context"
	"errors"
	"sync"

	"waggle/internal/json/jsonobj"
)

// running is the present turn of a client.
type running struct {
	ctx  context.Context
	h    *turn                         // of the member
	open map[string]context.CancelFunc // cancel functions by request id
	asks sync.WaitGroup                // answers
	ends []Ended                       // results since it began; guarded by the client's mu, as the following
	said int                           // how many of them were there before its words
	over bool                          // what is asked now waits for the next turn
}

// failed reports that the last result is a failure. The caller holds the client's mu.
func (t *running) failed() bool { return len(t.ends) > 0 && t.ends[len(t.ends)-1].Failed }

// Turn sends the client one user line and waits for the result. Before, it waits for the end of a turn that
// the client has begun itself, and after a success until the agents in the background have ended and their
// client has taken that up. Without words it answers what was asked while no turn ran, and waits likewise. The
// result is the last one, with the usage of all.
//
// When ctx ends first, the turn is interrupted; a client that then gives no result, or whose agents go on, is
// ended, also after a failure. The error is ctx's then, and ErrEnded when the client's process ends without a result.
func (c *Client) Turn(ctx context.Context, words string, h *turn) (Ended, error) {
	within, over := context.WithCancel(ctx)
	t := &running{ctx: within, h: h, open: map[string]context.CancelFunc{}}
	c.mu.Lock()
	c.turn, c.began = t, true
	held := c.held
	c.held = nil
	for _, a := range held {
		c.ask(t, a)
	}
	c.mu.Unlock()
	defer func() {
		over()
		c.mu.Lock()
		c.turn = nil
		if len(c.held) > 0 {
			c.start.Wants()
		}
		c.mu.Unlock()
		t.asks.Wait()
	}()
	err := c.work(ctx, t, words)
	if err != nil && ctx.Err() != nil {
		return c.cut(context.WithoutCancel(ctx), t, context.Cause(ctx))
	}
	c.mu.Lock()
	there := !c.busy && c.agents == 0 && len(t.ends) > t.said // its process ended when all was said
	left := c.agents > 0 && t.failed()
	c.mu.Unlock()
	switch {
	case errors.Is(err, ErrEnded) && there:
		err = nil
	case err == nil && left:
		err = c.Close(ctx)
	}
	return c.sum(t), err
}

// work is the turn without its begin and end.
func (c *Client) work(ctx context.Context, t *running, words string) error {
	if words == "" {
		return c.rest(ctx, t)
	}
	if err := c.await(ctx, func() bool { return !c.busy }); err != nil {
		return err
	}
	if err := c.say(ctx, t, words); err != nil {
		return err
	}
	return c.rest(ctx, t)
}

// say writes a user line.
func (c *Client) say(ctx context.Context, t *running, words string) error {
	c.mu.Lock()
	c.busy, t.said = true, len(t.ends)
	c.mu.Unlock()
	line := append([]byte(`{"type":"user","message":{"role":"user","content":`), jsonobj.AppendString(nil, words)...)
	wrote := make(chan error, 1)
	go func() { wrote <- c.write(append(line, `}}`...)) }()
	select {
	case err := <-wrote:
		if err != nil {
			return c.ended(err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rest waits until the client and its agents rest, and ends the turn.
func (c *Client) rest(ctx context.Context, t *running) error {
	rests := func() bool {
		return !c.busy && (t.failed() || c.agents == 0 && len(t.open) == 0)
	}
	ends := func() bool {
		t.over = t.over || rests() && c.told == 0
		return t.over
	}
	for {
		if err := c.await(ctx, rests); err != nil {
			return err
		}
		soon, cancel := context.WithTimeoutCause(ctx, c.start.Wait.Told, errSilent)
		err := c.await(soon, func() bool { return ends() || !rests() })
		cancel()
		if err != nil && !errors.Is(err, errSilent) {
			return err
		}
		c.mu.Lock()
		if err != nil {
			c.told = 0 // the client says nothing about the agent that has ended
		}
		over := ends()
		c.mu.Unlock()
		if over {
			return nil
		}
	}
}

// await waits until something holds that is said with mu held.
func (c *Client) await(ctx context.Context, holds func() bool) error {
	for {
		c.mu.Lock()
		yes, changed := holds(), c.changed
		c.mu.Unlock()
		if yes {
			return nil
		}
		select {
		case <-changed:
		case <-c.done:
			c.mu.Lock()
			yes = holds()
			c.mu.Unlock()
			if yes {
				return nil
			}
			return c.ended(ErrEnded)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// change wakes await. The caller holds mu.
func (c *Client) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// sum is the last result of a turn, with the usage of all.
func (c *Client) sum(t *running) (e Ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, next := range t.ends {
		next.Tokens, next.Turns = next.Tokens.plus(e.Tokens), next.Turns+e.Turns
		if next.USD == nil {
			next.USD = e.USD
		}
		e = next
	}
	return e
}

// cut interrupts a turn, and ends a client that does not stop it.
func (c *Client) cut(ctx context.Context, t *running, why error) (Ended, error) {
	c.mu.Lock()
	busy := c.busy
	t.over = true
	c.mu.Unlock()
	var err error
	if busy {
		// It cancels its requests and sends a result.
		if _, err = c.command(ctx, "interrupt", ""); err == nil {
			within, cancel := context.WithTimeoutCause(ctx, c.start.Wait.End, errors.New("no result after an interrupt"))
			err = c.await(within, func() bool { return !c.busy })
			cancel()
		}
		c.mu.Lock()
		agents := c.agents
		c.mu.Unlock()
		if err == nil && agents == 0 || errors.Is(err, ErrEnded) {
			return c.sum(t), why
		}
	}
	return Ended{}, errors.Join(why, err, c.Close(ctx))
}

// maxHeld is how much may wait for a turn.
const maxHeld = 64

// hold keeps a request for the next turn. Before the first one the client is still starting, and may go on only
// when it has an answer. The caller holds mu.
func (c *Client) hold(a Asked) {
	if !c.began || len(c.held) == maxHeld {
		refusal := deny(betweenTurns)
		if a.Subtype == elicits {
			refusal.response = []byte(cancelled)
		}
		c.asides.Go(func() { _ = c.write(refusal.line(a.ID)) })
		return
	}
	c.held = append(c.held, a)
	if c.turn == nil {
		c.start.Wants()
	}
}

const betweenTurns = "no turn runs: tools are used in the turns that waggle begins"

// goesOn reports whether the client, which runs, works or asks while no turn runs.
func (c *Client) goesOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !closed(c.done) && (c.busy || len(c.held) > 0)
}

// ask asks the member's turn, in a goroutine for which the turn waits: its context ends when the client cancels the
// request, and with the turn. The caller holds mu.
func (c *Client) ask(t *running, a Asked) {
	ctx, cancel := context.WithCancel(t.ctx)
	t.open[a.ID] = cancel
	t.asks.Go(func() {
		defer cancel()
		r := t.h.Answer(ctx, a)
		err := ctx.Err() // the client has cancelled the request, or the turn is cut
		if err == nil {
			err = c.write(r.line(a.ID))
		}
		if err != nil && r.undo != nil {
			r.undo()
		}
		c.mu.Lock()
		delete(t.open, a.ID)
		c.change()
		c.mu.Unlock()
	})
}
