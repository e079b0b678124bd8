package proxy

import (
	"cmp"
	"context"
	"fmt"
)

// permit allows one connection.
type permit struct {
	req    Request
	grant  string
	listed bool // by a grant of the list, not by an answer alone
}

// refusal is why a connection is not made, in words for the tool's user.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

// question is one question to the Decider, for all requests that wait for it.
type question struct {
	waiting int
	calls   map[*client]bool // commands that run, and whose connections have given up: they may try again
	cancel  context.CancelFunc
	done    chan struct{} // closed when answer is set
	answer  Decision
}

// permit decides about a request, and waits while the Decider asks. Its error is a *refusal.
func (c *client) permit(ctx context.Context, r Request) (permit, error) {
	p := c.p
	q, changed, got, err := c.ask(r)
	if q == nil {
		return got, err
	}
	gaveUp := false
	defer func() { c.leave(r, q, gaveUp) }()
	for {
		select {
		case <-q.done:
			if !q.answer.Allow {
				return permit{}, &refusal{q.answer.Reason}
			}
			return p.answered(r, q.answer)
		case <-changed:
			var found bool
			if got, found, changed, err = p.listed(r); found {
				return got, err
			}
		case <-ctx.Done():
			gaveUp = true
			return permit{}, &refusal{"the program gave up before anybody had answered"}
		case <-p.ctx.Done():
			return permit{}, &refusal{"the proxy ended"}
		}
	}
}

// answered returns the permit of a request whose question was answered yes: the grants, which may
// have changed meanwhile, come first.
func (p *Proxy) answered(r Request, a Decision) (permit, error) {
	got, found, _, err := p.listed(r)
	switch {
	case found:
		return got, err
	case p.o.Listed:
		return permit{}, &refusal{"what allowed it has ended"}
	}
	return permit{req: r, grant: a.Grant}, nil
}

// ask returns the decision of the grants, or the question to wait for.
func (c *client) ask(r Request) (*question, <-chan struct{}, permit, error) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if got, found, err := p.listedLocked(r); found {
		delete(c.denied, r.key())
		return nil, nil, got, err
	}
	why, denied := c.denied[r.key()]
	switch {
	case denied:
		return nil, nil, permit{}, &refusal{why}
	case p.closed:
		return nil, nil, permit{}, &refusal{"the proxy ended"}
	case p.o.Decider == nil:
		return nil, nil, permit{}, &refusal{"the host is not granted"}
	}
	q := p.questions[r.key()]
	if q == nil {
		if p.asked(r.Client) >= maxQuestions {
			return nil, nil, permit{}, &refusal{"too many hosts wait for an answer already"}
		}
		ctx, cancel := context.WithCancel(p.ctx)
		q = &question{calls: map[*client]bool{}, cancel: cancel, done: make(chan struct{})}
		p.questions[r.key()] = q
		p.wg.Go(func() { p.decide(ctx, r, q) })
	}
	q.waiting++
	if c.denied != nil {
		q.calls[c] = true
	}
	return q, p.changed, permit{}, nil
}

// maxQuestions is the most hosts of one client that may wait for an answer: a program that tries
// every host must not flood the operator with requests.
const maxQuestions = 32

// asked counts the hosts of a client that wait for an answer. The caller holds p.mu.
func (p *Proxy) asked(client string) int {
	n := 0
	for key := range p.questions {
		if key.Client == client {
			n++
		}
	}
	return n
}

// key returns the fields that requests with the same question have in common.
func (r Request) key() Request { return Request{Client: r.Client, Host: r.Host, Port: r.Port} }

func (p *Proxy) decide(ctx context.Context, r Request, q *question) {
	a, err := p.o.Decider.Decide(ctx, r)
	if err != nil {
		a = Decision{Reason: fmt.Sprintf("nobody could be asked: %v", err)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !a.Allow {
		a.Reason = cmp.Or(a.Reason, "it was not allowed")
		for c := range q.calls {
			if err == nil {
				c.denied[r.key()] = a.Reason
			}
		}
	}
	q.answer = a
	if p.questions[r.key()] == q {
		delete(p.questions, r.key())
	}
	close(q.done)
}

// leave ends the question when no request waits for it any more. Of a command that runs, a request that
// was given up is one that may be made again: the question stays.
func (c *client) leave(r Request, q *question, gaveUp bool) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	q.waiting--
	if !gaveUp {
		delete(q.calls, c)
	}
	c.p.endIdle(r.key(), q)
}

// endIdle ends a question that nobody waits for. The caller holds p.mu.
func (p *Proxy) endIdle(key Request, q *question) {
	if q.waiting > 0 || len(q.calls) > 0 {
		return
	}
	q.cancel()
	if p.questions[key] == q {
		delete(p.questions, key)
	}
}

// NextCall says that what ServeCall serves are other commands from now on: a host that was denied may be
// asked for again.
func (p *Proxy) NextCall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.clients {
		p.forget(c)
	}
}

// forget ends what holds for a command that has ended. The caller holds p.mu.
func (p *Proxy) forget(c *client) {
	clear(c.denied)
	for key, q := range p.questions {
		delete(q.calls, c)
		p.endIdle(key, q)
	}
}

// listed returns the present decision of the grants, and a channel that closes at their next
// change.
func (p *Proxy) listed(r Request) (permit, bool, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	got, found, err := p.listedLocked(r)
	return got, found, p.changed, err
}

func (p *Proxy) listedLocked(r Request) (permit, bool, error) {
	g, found := p.lookup(r.Host, r.Port, p.now())
	switch {
	case !found:
		return permit{}, false, nil
	case g.Deny:
		return permit{}, true, &refusal{g.denial()}
	}
	return permit{req: r, grant: g.ID, listed: true}, true, nil
}
