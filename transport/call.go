package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Callee is a Host that also serves the processes of its own member: those that say hello with the
// spawn token (SocketOptions.Spawn), and those that it knows (SocketOptions.Own). That is the whole
// of their identity: nothing in a call names who calls.
type Callee interface {
	// Call does one operation and returns what its answer holds, which is written as JSON. Calls of
	// one connection run beside each other. ctx ends with the connection, and when the process takes
	// the call back. A *CallError says with which code it is refused.
	Call(ctx context.Context, from Peer, op string, body json.RawMessage) (any, error)
}

// CallError is the refusal of a call, or of what is no message.
type CallError struct {
	Code Code
	Why  string
}

func (e *CallError) Error() string { return e.Why }

// maxCalls is how many calls of one connection may wait at once.
const maxCalls = 32

// calls are those of one connection that are not answered yet.
type calls struct {
	running sync.WaitGroup

	mu   sync.Mutex
	open map[uint64]context.CancelFunc
}

// begin makes the context of a call; ok is false when too many wait, or one has its id.
func (c *calls) begin(ctx context.Context, id uint64) (_ context.Context, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[uint64]context.CancelFunc{}
	}
	if c.open[id] != nil || len(c.open) >= maxCalls {
		return nil, false
	}
	ctx, c.open[id] = context.WithCancel(ctx)
	return ctx, true
}

// end releases a call; cancel takes it back. A call that is not there any more was answered.
func (c *calls) end(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.open[id]; cancel != nil {
		cancel()
		delete(c.open, id)
	}
}

func (c *calls) cancel(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.open[id]; cancel != nil {
		cancel()
	}
}

// call does what a process of the member asks, beside its other calls.
func (ss *session) call(ctx context.Context, req request) {
	callee, ok := ss.s.o.Host.(Callee)
	switch {
	case !ok || req.Op == opSend:
		ss.fail(req.ID, CodeDenied, fmt.Sprintf("%q does not go with this token", req.Op))
		return
	case req.Op == opCancel:
		ss.calls.cancel(req.Of)
		ss.write(reply{ID: req.ID, Op: opOK})
		return
	case req.ID == 0:
		ss.fail(0, CodeInvalid, "a call has an id")
		return
	}
	ctx, ok = ss.calls.begin(ctx, req.ID)
	if !ok {
		ss.fail(req.ID, CodeBusy, fmt.Sprintf("at most %d calls of a connection wait, each under an id of its own", maxCalls))
		return
	}
	ss.calls.running.Go(func() {
		defer ss.calls.end(req.ID)
		ss.s.guard(func() { ss.reply(ctx, callee, req) })
	})
}

func (ss *session) reply(ctx context.Context, callee Callee, req request) {
	got, err := callee.Call(ctx, ss.peer, req.Op, req.Body)
	if err != nil {
		ss.fail(req.ID, codeOf(err), err.Error())
		return
	}
	body, err := line(got)
	if err != nil || len(body) > maxFrame {
		ss.fail(req.ID, CodeFailed, "the answer cannot be written in one line")
		return
	}
	ss.write(reply{ID: req.ID, Op: opOK, Body: body[:len(body)-1]})
}

// Call asks the member's worker for one operation, with the spawn token as the client's token. When
// ctx ends first the call is taken back. Errors: a *CallError is the answer of the other side.
func (c *Client) Call(ctx context.Context, op string, body any) (json.RawMessage, error) {
	raw, err := line(body)
	if err != nil {
		return nil, err
	}
	req := request{Op: op, Body: raw[:len(raw)-1]}
	rep, err := c.ask(ctx, &req)
	switch {
	case rep.Op == opError:
		return nil, &CallError{rep.Code, rep.Message}
	case err != nil && errors.Is(err, ctx.Err()):
		c.post(request{Op: opCancel, Of: req.ID})
	}
	return rep.Body, err
}

// Args are the body of a call, by exact field name. Err refuses the call for the first field that cannot be read.
type Args struct {
	Fields map[string]json.RawMessage
	Err    error
}

// ParseArgs reads the body of a call. An empty one has no fields.
func ParseArgs(body json.RawMessage) (a Args, err error) {
	if len(body) > 0 && json.Unmarshal(body, &a.Fields) != nil {
		err = &CallError{Code: CodeInvalid, Why: "the body of a call is a JSON object"}
	}
	return a, err
}

// Read reads a field. One that is missing leaves into as it is.
func (a *Args) Read(name string, into any) {
	raw, ok := a.Fields[name]
	if !ok || a.Err != nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		a.Err = &CallError{Code: CodeInvalid, Why: name + ": " + err.Error()}
	}
}

// Text reads a field that is a text.
func (a *Args) Text(name string) (s string) {
	a.Read(name, &s)
	return s
}

// Bad refuses a call: with Err, else with why.
func (a *Args) Bad(why string) error {
	if a.Err != nil {
		return a.Err
	}
	return &CallError{Code: CodeInvalid, Why: why}
}
