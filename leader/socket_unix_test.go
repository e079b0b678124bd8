//go:build unix

package leader_test

import (
	"errors"
	"net"
	"os"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/spawn/spawntest"
	"waggle/transport"
)

// TestSockets: a leader serves the lead's socket and the operator's until it is
// closed; a command's pass serves none.
func TestSockets(t *testing.T) {
	f := newFiles(t)
	f.join("ann", "aa", nil)
	run, err := os.MkdirTemp("", "wr") // short enough for a socket
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(run) })
	place := f.o.State.Sockets(run)
	f.o.Sockets = place

	pass := f.o
	pass.Writer = journal.Writer{Operator: true}
	l, err := leader.Open(t.Context(), pass)
	testenv.Must(t, err)
	if names, err := place.Served(); err != nil || len(names) != 0 {
		t.Errorf("a command's pass serves %v, %v", names, err)
	}
	testenv.Must(t, l.Close())

	l = f.open()
	dial := func(name string) *transport.Client {
		t.Helper()
		token, _ := transport.Token([]string{place.Keys}, place.Path(name))
		c, err := transport.Dial(t.Context(), place.Path(name), token)
		testenv.Must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	env := protocol.Envelope{From: "bob", Text: "hello", MsgV: 1, MsgID: "m1", Type: "message"}
	lead, op := dial(string(protocol.Lead)), dial(transport.OperatorSocket)
	changes, err := op.Watch(t.Context())
	testenv.Must(t, err)
	if r, err := lead.Send(t.Context(), protocol.Address{}, env); err != nil || r.State != transport.Written {
		t.Fatalf("to the lead: %+v, %v", r, err)
	}
	<-l.Nudges()
	ann := protocol.Address{Scheme: protocol.SchemeMember, Member: "ann"}
	if r, err := op.Send(t.Context(), ann, env); err != nil || r.State != transport.Written {
		t.Errorf("to ann by the operator's socket: %+v, %v", r, err)
	}
	var refused *transport.RefusedError
	if _, err := lead.Send(t.Context(), ann, env); !errors.As(err, &refused) {
		t.Errorf("to ann by the lead's socket: %v", err)
	}
	var missing *transport.NotFoundError
	if _, err := op.Send(t.Context(), protocol.Address{Scheme: protocol.SchemeMember, Member: "eve"}, env); !errors.As(err, &missing) {
		t.Errorf("to nobody: %v", err)
	}
	for _, name := range []protocol.MemberName{protocol.Lead, "ann"} {
		box, err := mailbox.Dir{Path: f.o.Root.InboxesDir("sim")}.Open(name, mailbox.Options{})
		testenv.Must(t, err)
		if es, err := box.Entries(t.Context()); err != nil || len(es) != 1 || es[0].Envelope.Text != "hello" {
			t.Errorf("mailbox of %s: %d entries, %v", name, len(es), err)
		}
	}

	c, err := net.Dial("unix", place.Path(transport.OperatorSocket))
	testenv.Must(t, err)
	if _, err := c.Write([]byte(`{"id":1,"op":"send"}` + "\n")); err != nil {
		t.Error(err)
	}
	spawntest.Await(t, "the refusal is on record", func() (ok bool) {
		l.View(func(fold *control.Leader) { ok = len(fold.Unverified) == 1 })
		return ok
	})
	c.Close()
	<-changes // the record was a change
	testenv.Must(t, l.Close())
	for range changes { // until the end is told
	}
	if names, err := place.Served(); err != nil || len(names) != 0 {
		t.Errorf("after Close %v are served, %v", names, err)
	}
}
