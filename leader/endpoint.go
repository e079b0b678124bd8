package leader

import (
	"context"
	"errors"
	"sync"

	"waggle/boxes"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/transport"
)

// endpoint is the host of the lead's socket and the operator's: it puts each message into a mailbox
// before it answers, and wakes the leader.
type endpoint struct{ l *Leader }

var (
	_ transport.Host   = endpoint{}
	_ transport.Pinged = endpoint{}
)

// Pinged implements transport.Pinged: it reads the leader's journal, so that one that the leader cannot use any more is
// the answer.
func (e endpoint) Pinged(ctx context.Context) error {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	return e.l.p.Journal.Refresh(ctx)
}

// Take implements transport.Host.
func (e endpoint) Take(ctx context.Context, _ transport.Peer, to protocol.Address, env protocol.Envelope) (transport.Receipt, error) {
	box, err := e.box(to)
	if err != nil {
		return transport.Receipt{}, err
	}
	r, err := transport.Deposit(ctx, box, env)
	if err == nil && protocol.SameName(to.Member, protocol.Lead) {
		e.l.wake()
	}
	return r, err
}

func (e endpoint) box(to protocol.Address) (mailbox.Store, error) {
	if protocol.SameName(to.Member, protocol.Lead) {
		return e.l.post(protocol.Lead)
	}
	e.l.mu.Lock()
	m, ok := e.l.p.Fold.Present(to.Member)
	e.l.mu.Unlock()
	if !ok {
		return nil, &transport.NotFoundError{To: to, Why: "there is no such member"}
	}
	return e.l.post(m.Name)
}

// Refused implements transport.Host: an audit record in the leader's journal.
func (e endpoint) Refused(ctx context.Context, r transport.Refusal) {
	e.l.trouble.Refused(ctx, e.l.p.Minter, protocol.Lead, r.Peer.String(), r.String(), e.l.appendNow)
}

func (l *Leader) wake() {
	select {
	case l.nudge <- struct{}{}:
	default:
	}
}

// Nudges gets a value when a message has come in by a socket: a pass is due. It is
// never closed.
func (l *Leader) Nudges() <-chan struct{} { return l.nudge }

// listen serves the lead's socket and the operator's until Close; a command's pass serves none.
// Sockets only make messages faster, so a leader without them uses the mailbox files alone.
func (l *Leader) listen(o Options) {
	if o.Sockets == (transport.SocketDirs{}) || o.Writer.Operator {
		return
	}
	mail := boxes.Of(o.Root, o.Team)
	var mu sync.Mutex
	open := map[protocol.MemberName]mailbox.Store{} // a mailbox that stays open is not read again for each message
	l.post = func(name protocol.MemberName) (mailbox.Store, error) {
		mu.Lock()
		defer mu.Unlock()
		if open[name] == nil {
			box, err := mail.Open(name, mailbox.Options{Limits: mailbox.DefaultLimits, Deadline: sendDeadline})
			if err != nil {
				return nil, err
			}
			open[name] = box
		}
		return open[name], nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	for _, name := range []string{string(protocol.Lead), transport.OperatorSocket} {
		so := transport.SocketOptions{Dirs: o.Sockets, Name: name, Team: o.Team, Host: endpoint{l}, Rand: o.Minter.Rand, Now: o.Minter.Now, Who: o.Who}
		if name == string(protocol.Lead) {
			so.Own = l.ownWorker
		}
		s, err := transport.Listen(so)
		if err != nil {
			l.p.Log.Warn("no socket: messages come by the mailbox files alone", "err", err)
			continue
		}
		l.sockets = append(l.sockets, s)
	}
	for _, s := range l.sockets { // now that the list is complete: refusals read it
		serving.Go(func() { l.trouble.Note("socket "+s.Path(), s.Serve(ctx), "the socket is not served any more") })
	}
	l.close = append(l.close, func() error {
		cancel()
		var errs []error
		for _, s := range l.sockets {
			errs = append(errs, s.Close())
		}
		serving.Wait()
		return errors.Join(errs...)
	})
}
