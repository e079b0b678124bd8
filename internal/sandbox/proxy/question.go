package proxy

import (
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
	cancel  context.CancelFunc
	done    chan struct{} // closed when answer is set
	answer  Answer
}

// permit decides about a request, and waits while the Decider asks. Its error is a *refusal.
func (p *Proxy) permit(ctx context.Context, r Request) (permit, error) {
	q, changed, got, err := p.ask(r)
	if q == nil {
		return got, err
	}
	defer p.leave(r, q)
	for {
		select {
		case <-q.done:
			if !q.answer.Allow {
				return permit{}, &refusal{orNone(q.answer.Reason, "it was not allowed")}
			}
			return p.answered(r, q.answer)
		case <-changed:
			var found bool
			if got, found, changed, err = p.listed(r); found {
				return got, err
			}
		case <-ctx.Done():
			return permit{}, &refusal{"the program gave up before anybody had answered"}
		case <-p.ctx.Done():
			return permit{}, &refusal{"the proxy ended"}
		}
	}
}

// answered returns the permit of a request whose question was answered yes: the grants, which may
// have changed meanwhile, come first.
func (p *Proxy) answered(r Request, a Answer) (permit, error) {
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
func (p *Proxy) ask(r Request) (*question, <-chan struct{}, permit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if got, found, err := p.listedLocked(r); found {
		return nil, nil, got, err
	}
	switch {
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
		q = &question{cancel: cancel, done: make(chan struct{})}
		p.questions[r.key()] = q
		p.wg.Go(func() { p.decide(ctx, r, q) })
	}
	q.waiting++
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
		a = Answer{Reason: fmt.Sprintf("nobody could be asked: %v", err)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q.answer = a
	if p.questions[r.key()] == q {
		delete(p.questions, r.key())
	}
	close(q.done)
}

// leave ends the question when no request waits for it any more.
func (p *Proxy) leave(r Request, q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.waiting--; q.waiting == 0 {
		q.cancel()
		if p.questions[r.key()] == q {
			delete(p.questions, r.key())
		}
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
		return permit{}, true, &refusal{"the host is denied"}
	}
	return permit{req: r, grant: g.ID, listed: true}, true, nil
}

// Waiting counts the connections that wait for an answer.
func (p *Proxy) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, q := range p.questions {
		n += q.waiting
	}
	return n
}

func orNone(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
