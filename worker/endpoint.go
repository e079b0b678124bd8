package worker

import (
	"context"
	"fmt"

	"waggle/boxes"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/transport"
)

// endpoint is the socket's host: it puts each message into the mailbox before it answers, and wakes
// the worker.
type endpoint struct{ w *Worker }

var _ transport.Host = endpoint{}

// Take implements transport.Host.
func (e endpoint) Take(ctx context.Context, _ transport.Peer, _ protocol.Address, env protocol.Envelope) (transport.Receipt, error) {
	r, err := transport.Deposit(ctx, e.w.post, env)
	if err == nil {
		e.w.wake()
	}
	return r, err
}

// Refused implements transport.Host: an audit record in the member's journal.
func (e endpoint) Refused(ctx context.Context, r transport.Refusal) {
	e.w.trouble.Refused(ctx, e.w.p.Minter, e.w.p.Fold.Name, r.Peer.String(), r.String(), e.w.appendNow)
}

// leadAgentSocket is the name of the socket of the lead's agent, which only its own processes use:
// messages to the lead go to the leader's socket. It is no member's name.
const leadAgentSocket = string(protocol.Lead) + ".agent"

// ownEndpoint is the host of that socket: it takes no messages.
type ownEndpoint struct{ endpoint }

// Take implements transport.Host.
func (ownEndpoint) Take(_ context.Context, _ transport.Peer, to protocol.Address, _ protocol.Envelope) (transport.Receipt, error) {
	return transport.Receipt{}, &transport.RefusedError{To: to, Why: "this socket takes calls of the lead's agent only"}
}

// listen opens the member's socket. The socket only makes messages faster, so a worker without one
// uses its mailbox file alone.
func (w *Worker) listen(o Options) {
	if o.Sockets == (transport.SocketDirs{}) {
		return
	}
	if err := w.open(o); err != nil {
		w.p.Log.Warn("no socket: messages come by the mailbox file alone", "err", fmt.Errorf("worker: %w", err))
	}
}

// open is listen with what keeps it from that.
func (w *Worker) open(o Options) error {
	name, at := string(w.p.Fold.Name), transport.Host(endpoint{w})
	if w.leads {
		name, at = leadAgentSocket, ownEndpoint{endpoint{w}}
		w.leading = o.Sockets
	}
	post, err := boxes.Of(o.Root, o.Team).Open(w.p.Fold.Name, mailbox.Options{Limits: mailbox.DefaultLimits})
	if err != nil {
		return err
	}
	w.post = post
	spawn, err := transport.NewToken(o.Minter.Rand)
	if err != nil {
		return err
	}
	s, err := transport.Listen(transport.SocketOptions{Dirs: o.Sockets, Name: name, Team: o.Team, Host: at,
		Rand: o.Minter.Rand, Now: o.Minter.Now, Who: o.Who, Spawn: spawn})
	if err != nil {
		return err
	}
	w.socket, w.spawn = s, spawn
	w.close = append(w.close, s.Close)
	return nil
}
