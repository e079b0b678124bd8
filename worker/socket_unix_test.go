//go:build unix

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/transport"
	"waggle/worker"
)

// TestSocket: a member's socket is served while its worker runs, and only then.
func TestSocket(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	run := shortTemp(t)
	place := f.at.options().State.Sockets(run)
	stop := f.hereWith(func(o *worker.Options) { o.Sockets = place })
	path := place.Path("ann")
	if want := filepath.Join(run, filepath.Base(f.at.State), "ann.sock"); path != want {
		t.Errorf("the socket lies at %s, want %s", path, want)
	}
	to := protocol.Address{Scheme: protocol.SchemeUDS, Target: path}
	env := protocol.Envelope{From: "bob", Text: "hello", MsgV: 1, MsgID: "m1", Type: "message"}
	sender := transport.Sockets{Keys: []string{place.Keys}}
	if r, err := sender.Send(t.Context(), to, env); err != nil || r.State != transport.Written {
		t.Fatalf("send: %+v, %v", r, err)
	}
	box := f.box()
	f.await("the message is taken", func() bool {
		es, err := box.Entries(t.Context())
		return err == nil && len(es) == 1 && es[0].Envelope.Read && f.own().Owns(es[0].ID.String())
	})
	c, err := net.Dial("unix", path)
	testenv.Must(t, err)
	if _, err := c.Write([]byte("let me in\n")); err != nil {
		t.Error(err)
	}
	f.await("the refusal is on record", func() bool { return f.own().Unverified == 1 })
	c.Close()
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	var missing *transport.NotFoundError
	if _, err := sender.Send(t.Context(), to, env); !errors.As(err, &missing) {
		t.Errorf("send afterwards: %v", err)
	}
}

// callingAgent calls its worker from its turn, as a process that it starts would.
type callingAgent struct{ got chan string }

func (a callingAgent) Turn(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
	at := map[string]string{}
	for _, kv := range h.Caller() {
		k, v, _ := strings.Cut(kv, "=")
		at[k] = v
	}
	c, err := transport.Dial(ctx, at[agent.EnvSocket], at[agent.EnvSpawn])
	if err != nil {
		a.got <- err.Error()
		return agent.Result{}, err
	}
	defer c.Close()
	raw, err := c.Call(ctx, "brief", nil)
	_, denied := c.Call(ctx, "approve", nil)
	a.got <- fmt.Sprintf("%s, %v, %v", raw, err, denied)
	return agent.Result{}, nil
}

// TestSocketCalls: a process that has what Host.Caller gives calls its own member's worker.
func TestSocketCalls(t *testing.T) {
	f := newFiles(t)
	place, a := f.at.options().State.Sockets(shortTemp(t)), callingAgent{make(chan string, 4)}
	stop := f.hereWith(func(o *worker.Options) { o.Sockets, o.Agent = place, a })
	env := protocol.Envelope{From: "bob", Text: "hello", MsgV: 1, MsgID: "m1", Type: "message"}
	if _, err := (transport.Sockets{Keys: []string{place.Keys}}).Send(t.Context(), protocol.Address{Scheme: protocol.SchemeUDS, Target: place.Path("ann")}, env); err != nil {
		t.Fatal(err)
	}
	got := <-a.got
	if !strings.HasPrefix(got, `{"team":"sim","name":"ann"`) || !strings.Contains(got, `the operation "approve" is not known`) {
		t.Errorf("the process got %s", got)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}
