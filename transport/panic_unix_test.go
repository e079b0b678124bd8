//go:build unix

package transport_test

import (
	"context"
	"testing"
	"time"

	"waggle/internal/caught"
	"waggle/protocol"
	"waggle/transport"
)

// tripping is a host that panics over a message.
type tripping struct{ *host }

func (tripping) Take(context.Context, transport.Peer, protocol.Address, protocol.Envelope) (transport.Receipt, error) {
	panic("tripped")
}

// TestSocketPanics: a panic over a message ends the serving, with the reason, and not the program.
func TestSocketPanics(t *testing.T) {
	t.Parallel()
	p := newDirs(t)
	s, err := transport.Listen(options(p, "ann", tripping{newHost("ann")}))
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	c := dial(t, p, s)
	if _, err := c.Send(t.Context(), protocol.Address{}, message("m1", "x")); err == nil {
		t.Error("it was taken")
	}
	select {
	case err := <-served:
		if p := caught.Of(err); p == nil || p.Value != "tripped" {
			t.Errorf("serving ended with %v", err)
		}
	case <-time.After(deadline):
		t.Fatal("it serves on")
	}
	must(t, s.Close())
}
