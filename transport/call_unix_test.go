//go:build unix

package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"waggle/internal/json/jsonobj"
	"waggle/protocol"
	"waggle/transport"
)

// callee answers calls by a function, beside the messages of a host.
type callee struct {
	*host
	do func(ctx context.Context, op string, body json.RawMessage) (any, error)
}

func (c callee) Call(ctx context.Context, _ transport.Peer, op string, body json.RawMessage) (any, error) {
	return c.do(ctx, op, body)
}

// serveAs serves ann's socket with a spawn token.
func serveAs(t *testing.T, h transport.Host, spawn string) (*transport.Socket, transport.SocketDirs) {
	t.Helper()
	p := newDirs(t)
	o := options(p, "ann", h)
	o.Spawn = spawn
	return serveWith(t, o), p
}

// dialed is a connection with the spawn token.
func dialed(t *testing.T, s *transport.Socket) *transport.Client {
	t.Helper()
	c, err := transport.Dial(t.Context(), s.Path(), "spawned")
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestCalls: calls of one connection run beside each other, each gets its own answer, a call that is
// taken back ends, and so does everything that waits when the connection ends.
func TestCalls(t *testing.T) {
	ended, began := make(chan string, 8), make(chan string, 8)
	h := callee{newHost(), func(ctx context.Context, op string, body json.RawMessage) (any, error) {
		switch op {
		case "wait":
			began <- string(body)
			<-ctx.Done()
			ended <- string(body)
			return nil, ctx.Err()
		case "refuse":
			return nil, &transport.CallError{Code: transport.CodeRefused, Why: "not now"}
		case "fail":
			return nil, errors.New("it broke")
		}
		return map[string]json.RawMessage{"op": jsonobj.AppendString(nil, op), "body": body}, nil
	}}
	s, _ := serveAs(t, h, "spawned")
	c := dialed(t, s)
	waits := make(chan error, 2)
	less, giveUp := context.WithCancel(t.Context())
	go func() { _, err := c.Call(less, "wait", "one"); waits <- err }()
	<-began
	go func() { _, err := c.Call(t.Context(), "wait", "two"); waits <- err }()
	<-began
	got, err := c.Call(t.Context(), "say", map[string]string{"text": "a\n<&>"})
	if err != nil || string(got) != `{"body":{"text":"a\n<&>"},"op":"say"}` {
		t.Errorf("beside two that wait: %s, %v", got, err)
	}
	for op, want := range map[string]transport.Code{"refuse": transport.CodeRefused, "fail": transport.CodeFailed} {
		var no *transport.CallError
		if _, err := c.Call(t.Context(), op, nil); !errors.As(err, &no) || no.Code != want {
			t.Errorf("%s: %v", op, err)
		}
	}
	giveUp()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if what := <-ended; what != `"one"` {
		t.Errorf("%s was taken back", what)
	}
	must(t, c.Close())
	if err := <-waits; err == nil {
		t.Error("the call of a closed connection was answered")
	}
	if what := <-ended; what != `"two"` {
		t.Errorf("%s ended with the connection", what)
	}
}

// TestCallTokens: only the spawn token calls, and it does nothing else.
func TestCallTokens(t *testing.T) {
	called := 0
	h := callee{newHost(), func(context.Context, string, json.RawMessage) (any, error) { called++; return nil, nil }}
	s, p := serveAs(t, h, "spawned")
	c := dial(t, p, s)
	var no *transport.CallError
	if _, err := c.Call(t.Context(), "say", nil); !errors.As(err, &no) || no.Code != transport.CodeInvalid {
		t.Errorf("with the token for messages: %v", err)
	}
	c = dialed(t, s)
	if _, err := c.Send(t.Context(), protocol.Address{}, protocol.Envelope{From: "bob", Text: "hello", MsgV: 1, MsgID: "m1", Type: "message"}); err == nil {
		t.Error("the spawn token sent a message")
	}
	must(t, c.Ping(t.Context()))
	for _, bad := range []string{"", "spawne", "spawned "} {
		if c, err := transport.Dial(t.Context(), s.Path(), bad); err == nil {
			c.Close()
			t.Errorf("%q was taken", bad)
		}
	}
	if called != 0 {
		t.Errorf("%d calls were done", called)
	}
	plain, _ := serveAs(t, newHost(), "spawned")
	if _, err := dialed(t, plain).Call(t.Context(), "say", nil); !errors.As(err, &no) || no.Code != transport.CodeDenied {
		t.Errorf("a host that answers no calls: %v", err)
	}
	none, _ := serveAs(t, h, "")
	if _, err := transport.Dial(t.Context(), none.Path(), ""); err == nil {
		t.Error("no token was taken where there is no spawn token")
	}
}

// TestCallsAtOnce: a connection has a bound on the calls that wait; one more is refused with
// CodeBusy.
func TestCallsAtOnce(t *testing.T) {
	h := callee{newHost(), func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s, _ := serveAs(t, h, "spawned")
	c := dialed(t, s)
	errs := make(chan error, 40)
	for i := range 40 {
		go func() { _, err := c.Call(t.Context(), fmt.Sprint("op", i), nil); errs <- err }()
	}
	for range 8 {
		var no *transport.CallError
		if err := <-errs; !errors.As(err, &no) || no.Code != transport.CodeBusy {
			t.Errorf("one too many: %v", err)
		}
	}
	c.Close()
	for range 32 {
		<-errs
	}
}
