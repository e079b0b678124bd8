package leader

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"waggle/boxes"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/protocol"
	"waggle/record"
)

// Preview folds into a leader's fold what a pass would find now. It records nothing, marks nothing
// and sends nothing: j is a journal.File's Preview, and mailboxes and members' journals are only
// read. Overdue requests stay open, so that they can be shown; requests that the rules answer are
// answered in the fold. It takes no lease: it is for a team without a running leader, and for one whose leader may not
// answer.
func Preview(ctx context.Context, o Options, j journal.Journal, fold *control.Leader) error {
	l, err := looking(o, j, fold)
	if err != nil {
		return err
	}
	l.preview = true
	return errors.Join(l.pass(ctx), l.Close())
}

// looking is a leader that reads mailboxes and members' journals, and marks and sends nothing.
func looking(o Options, j journal.Journal, fold *control.Leader) (*Leader, error) {
	mail := boxes.Of(o.Root, o.Team)
	lead, err := mail.Open(protocol.Lead, mailbox.Options{Unmended: true})
	if err != nil {
		return nil, err
	}
	p := Parts{Journal: j, Fold: fold, Writer: o.Writer, Minter: o.Minter, Dismiss: o.Dismiss, Supervise: o.Supervise,
		Box: looked{unsent{lead}}, Log: slog.New(slog.DiscardHandler)}
	p.Member = func(name protocol.MemberName) (mailbox.Store, error) {
		box, err := mail.Open(name, mailbox.Options{Unmended: true})
		return unsent{box}, err
	}
	p.Peers = peersOf(o)
	p.Others = func(ctx context.Context) ([]protocol.MemberName, error) { return registered(ctx, o) }
	p.CheckDirectory = func() *boxes.Change { return missing(o.Root.TeamDir(o.Team), fold) }
	return New(p), nil
}

// errUnsent refuses what would go out of a preview: its order stays unsent.
var errUnsent = errors.New("a preview sends nothing")

// unsent is a member's mailbox in a preview.
type unsent struct{ *mailbox.Located }

func (unsent) Append(context.Context, ...protocol.Envelope) error { return errUnsent }
func (unsent) MarkRead(context.Context, ...mailbox.ID) error      { return errUnsent }

// looked is the lead's mailbox in a preview. One that cannot be read counts as empty, as
// it does in a pass.
type looked struct{ unsent }

func (l looked) Entries(ctx context.Context) ([]mailbox.Entry, error) {
	list, err := l.Located.Entries(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, nil
	}
	return list, err
}

// missing reports that the team's directory was removed, or is back, when the fold has the
// opposite.
func missing(dir string, fold *control.Leader) *boxes.Change {
	info, err := os.Lstat(dir)
	gone := errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
	switch {
	case err != nil && !gone, gone == fold.Noticed.Missing():
		return nil
	case gone:
		return &boxes.Change{What: boxes.Vanished, Path: dir}
	}
	return &boxes.Change{What: boxes.Returned, Path: dir}
}

// due are the answers that the system gives now. A preview leaves overdue questions open.
func (l *Leader) due() []control.Answer {
	vs := l.p.Fold.Due(l.p.Minter.Now())
	if l.preview {
		vs = slices.DeleteFunc(vs, func(v control.Answer) bool { return v.Via == control.ViaExpiry })
	}
	return vs
}

// Waits reports whether something in the lead's mailbox waits for a pass: control that is not marked and that the fold
// does not own. It says only whether a look is worth while: authority has the journal.
func Waits(ctx context.Context, o Options, fold *control.Leader) (bool, error) {
	lead, err := boxes.Of(o.Root, o.Team).Open(protocol.Lead, mailbox.Options{Unmended: true})
	if err != nil {
		return false, err
	}
	entries, err := looked{unsent{lead}}.Entries(ctx)
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
