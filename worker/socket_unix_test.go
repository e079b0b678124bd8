//go:build unix

package worker_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"waggle"
	"waggle/mailbox"
	"waggle/transport"
	"waggle/worker"
)

// TestSocket: a member's socket is served while its worker runs, and only then.
func TestSocket(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	run, err := os.MkdirTemp("", "wr") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	o := f.at.options()
	o.Sockets = o.State.Sockets(run)
	var w *worker.Worker
	f.elsewhere(func() { w, err = worker.Open(t.Context(), o) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(w.Run(ctx), w.Close()) }()

	path := o.Sockets.Path("ann")
	if want := filepath.Join(run, filepath.Base(o.State.Path), "ann.sock"); path != want {
		t.Errorf("the socket lies at %s, want %s", path, want)
	}
	to := waggle.Address{Scheme: waggle.SchemeUDS, Target: path}
	env := waggle.Envelope{From: "bob", Text: "hello", MsgV: 1, MsgID: "m1", Type: "message"}
	sender := transport.Sockets{Keys: []string{o.Sockets.Keys}}
	if r, err := sender.Send(t.Context(), to, env); err != nil || r.State != transport.Written {
		t.Fatalf("send: %+v, %v", r, err)
	}
	box, err := mailbox.Dir{Path: o.Root.InboxesDir("sim")}.Open("ann", mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.await("the message is taken", func() bool {
		es, err := box.Entries(t.Context())
		return err == nil && len(es) == 1 && es[0].Envelope.Read && f.own().Owns(es[0].ID.String())
	})
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("let me in\n")); err != nil {
		t.Error(err)
	}
	f.await("the refusal is on record", func() bool { return f.own().Unverified == 1 })
	c.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	var missing *transport.NotFoundError
	if _, err := sender.Send(t.Context(), to, env); !errors.As(err, &missing) {
		t.Errorf("send afterwards: %v", err)
	}
}
