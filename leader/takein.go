package leader

import (
	"context"
	"errors"

	"waggle/boxes"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/protocol"
	"waggle/record"
)

// Waits reports whether something in the lead's mailbox waits for a pass: control that is not marked and that the fold
// does not own. It says only whether a look is worth while: authority has the journal.
func Waits(ctx context.Context, o Options, fold *control.Leader) (bool, error) {
	lead, err := boxes.Of(o.Root, o.Team).Open(protocol.Lead, mailbox.Options{Unmended: true})
	if err != nil {
		return false, err
	}
	entries, err := looked{lead}.Entries(ctx)
	for _, e := range entries {
		if e.Err == nil && !e.Envelope.Read && !fold.Owns(e.ID.String()) && (message.Incoming{Envelope: e.Envelope, Decoded: protocol.Decode(e.Envelope)}).IsControl() {
			return true, nil
		}
	}
	return false, err
}

// TakeIn records the requests that a pass would find now: those in the lead's mailbox, judged as in a pass (trust §1), and
// the questions in members' journals. It is for a command that answers one beside a process that leads and has not
// recorded it: that process may be stopped, and finds the record when it goes on. It decides, marks and sends nothing,
// and takes no lease.
func TakeIn(ctx context.Context, o Options, j journal.Journal, fold *control.Leader) error {
	l, err := looking(o, j, fold)
	if err != nil {
		return err
	}
	l.poller.Machine = taker{l}
	return errors.Join(l.poller.Pass(ctx), l.Close())
}

// taker is a leader that takes in requests and nothing else.
type taker struct{ *Leader }

// Receive implements poll.Machine.
func (t taker) Receive(ctx context.Context, in message.Incoming) error {
	if !record.IsRequest(in.Decoded.Kind) {
		return nil
	}
	return t.Leader.Receive(ctx, in)
}

// Apply implements poll.Machine: questions have no message.
func (t taker) Apply(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.compare(ctx, t.p.Fold.Asked)
}
