package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/google/uuid"

	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/transport"
)

// A message to a member is recorded before it is sent. Once recorded, the send has succeeded: the
// process that leads a team of waggle sends what is recorded and not yet in its mailbox. An error
// of the mailbox, or of the record that says it was written, is therefore no reason to send it
// again. Letters to many members share their records: one append before the first is sent, and one
// after the last.

// Time limits of a sender once its message is recorded: after them the process that leads does the
// rest.
const (
	boxWait  = 2 * time.Second
	noteWait = 2 * time.Second
)

// msgID reports whether a caller may choose the id: it has the form of the ids that are minted
// here.
func msgID(s string) bool { return len(s) == 36 && uuid.Validate(s) == nil }

// sendMembers records the letters to members and puts them into their mailboxes.
func (o Operator) sendMembers(ctx context.Context, s *operator.State, way transport.Sender, all []*letter, m Message) {
	var list []*letter
	for _, l := range all {
		if l.to.Scheme != protocol.SchemeMember || l.res.err != nil || o.repeated(s, l) {
			continue
		}
		switch err := receives(s, l.to.Member); {
		case err != nil:
			l.fail(Refused, err)
		case m.Want == Acknowledged && presentAs(s, l.to.Member) == nil:
			l.fail(Refused, &operator.Error{Kind: operator.Refused, Op: "send", Next: operator.NextWaitDelivered.With(),
				Msg: fmt.Sprintf("%s is not run by waggle and acknowledges nothing: it was not sent", l.to.Member)})
		default:
			list = append(list, l)
		}
	}
	list = o.record(ctx, s, list, m)
	var done []*letter
	for _, l := range list {
		if o.put(ctx, s, way, l, m) {
			done = append(done, l)
		}
	}
	o.noteSent(ctx, s, done)
}

// repeated returns the result of a message whose id is recorded already.
func (o Operator) repeated(s *operator.State, l *letter) bool {
	for _, old := range s.Lead.SpokenAs(l.env.MsgID) {
		if old.MsgID != l.env.MsgID || !protocol.SameName(old.Mail.To, l.to.Member) {
			continue
		}
		env, err := old.Mail.Open()
		if err != nil || env.Text != l.env.Text || env.From != l.env.From {
			l.fail(Refused, &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("the id %s belongs to another message to %s", l.env.MsgID, l.to.Member),
				Next: operator.Next{Step: operator.NextShowMessage, ID: l.env.MsgID}})
			return true
		}
		l.ord, l.res.State, l.res.Detail = old, Queued, "it is on record already, and is not sent twice"
		if old.Sent {
			l.res.State = Written
		}
		return true
	}
	return false
}

// record appends letters in one append, with what they replace, and returns those that are
// recorded.
func (o Operator) record(ctx context.Context, s *operator.State, list []*letter, m Message) (kept []*letter) {
	w, err := o.words(ctx, s, list, m)
	if err == nil && len(list) > 0 {
		err = o.Append(ctx, s, func() ([]journal.Draft, error) { return o.drafts(s, list, w) })
		if err != nil {
			err = errors.Join(err, s.Journal.Refresh(ctx)) // a failed write may have reached the file
		}
	}
	for _, l := range list {
		if l.ord == nil {
			l.ord = s.Lead.Spoken(l.env.Hash())
		}
		switch {
		case l.res.err != nil || l.res.State == Queued || l.res.State == Written:
		case l.ord != nil:
			kept = append(kept, l)
		case err != nil:
			l.fail(Refused, err)
		default:
			l.fail(Refused, &operator.Error{Kind: operator.Refused, Op: "send", Msg: string(l.to.Member) + " has just ended", Next: operator.NextWhoIsThere.With()})
		}
	}
	return kept
}

// words returns the fields that the letters have in common in their records.
func (o Operator) words(ctx context.Context, s *operator.State, list []*letter, m Message) (record.Words, error) {
	w := record.Words{Priority: m.Priority, By: policy.RoleOperator}
	if m.inside != nil {
		w.By = policy.RoleWorker
	}
	if m.Expires > 0 {
		t := o.Minter.Now().Add(m.Expires).UTC()
		w.Expires = &t
	}
	if m.Supersedes != "" && len(list) > 0 {
		old, err := o.replaced(ctx, s, list[0].to.Member, m.Supersedes)
		if err != nil {
			return w, err
		}
		w.Supersedes = uint64(old.Seq)
	}
	return w, nil
}

// drafts drafts the records of letters. A refused letter does not prevent the others.
func (o Operator) drafts(s *operator.State, list []*letter, w record.Words) (ds []journal.Draft, err error) {
	for _, l := range list {
		if o.repeated(s, l) {
			continue
		}
		one, err := s.Lead.Say(presentAs(s, l.to.Member), l.to.Member, l.env, w)
		if err != nil {
			l.fail(Refused, err)
			continue
		}
		ds = append(ds, one...)
	}
	return ds, nil
}

// put writes a recorded letter into its mailbox, and reports whether it is there.
func (o Operator) put(ctx context.Context, s *operator.State, way transport.Sender, l *letter, m Message) bool {
	if old := l.ord.Words.Supersedes; old > 0 {
		if err := o.confirm(ctx, s, s.Lead.OrderAt(journal.Seq(old))); err != nil {
			l.res.Detail = err.Error() + ", and this one is sent as well"
		}
	}
	led, bctx := sends(s, l.to.Member), ctx
	if led {
		var stop context.CancelFunc
		bctx, stop = context.WithTimeout(ctx, boxWait)
		defer stop()
	}
	receipt, err := way.Send(bctx, l.to, l.env)
	held := heldBack(err)
	switch {
	case err == nil:
		l.res.State, l.res.Ahead = Written, receipt.Ahead
		to := presentAs(s, l.to.Member)
		if why := busy(s, to, m.Priority); l.res.Detail == "" {
			l.res.Detail = why
		}
		l.res.Next = waits(s, to)
		return true
	case held != "" && presentAs(s, l.to.Member) != nil:
		l.res.State, l.res.Detail = Queued, held
		return false
	case led && !final(err):
		l.res.State, l.res.Detail = Queued, later(err)
		return false
	}
	evidence := record.Failed + ": " + err.Error()
	uerr := o.Append(ctx, s, func() ([]journal.Draft, error) { return s.Lead.Unsay(l.ord, evidence) })
	if led && uerr != nil {
		l.res.State, l.res.Detail = Queued, later(err) // the record stands, and the process that leads sends it
		return false
	}
	l.fail(Failed, errors.Join(err, uerr))
	return false
}

// sends reports whether a process sends what is recorded for a recipient: the one that leads, or
// the member itself, which fetches overdue messages.
func sends(s *operator.State, to protocol.MemberName) bool {
	return s.JournalName != operator.OwnJournal && (presentAs(s, to) != nil || leads(s))
}

// final reports an error that would repeat for the same message and mailbox.
func final(err error) bool {
	var limit *mailbox.LimitError
	return errors.As(err, &limit) || errors.Is(err, mailbox.ErrTooLarge) || errors.Is(err, fs.ErrNotExist)
}

// later describes what happens to a message that is recorded and in no mailbox.
func later(err error) string {
	var locked *mailbox.LockedError
	if errors.As(err, &locked) {
		return "its mailbox is locked; it is sent as soon as that ends"
	}
	return fmt.Sprintf("it is on record, and is sent as soon as its mailbox takes it: %v", err)
}

// heldBack returns why a recorded message is not in its mailbox yet, "" when that is no error to
// report: a member that waggle runs gets it from the journal all the same.
func heldBack(err error) string {
	var locked *mailbox.LockedError
	var mixed *mailbox.MixedError
	switch {
	case errors.As(err, &locked):
		return "its mailbox is locked; it is sent as soon as that ends"
	case errors.Is(err, fs.ErrNotExist):
		return "the team's directory is gone; the member fetches it from the record"
	case errors.Is(err, atomicfile.ErrNotRegular), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), errors.As(err, &mixed):
		return fmt.Sprintf("its mailbox cannot be used (%v); the member fetches it from the record", err)
	}
	return ""
}

// noteSent records which letters are in their mailboxes. Without that record the process that leads
// finds them there and makes it.
func (o Operator) noteSent(ctx context.Context, s *operator.State, done []*letter) {
	if len(done) == 0 {
		return
	}
	nctx, stop := ctx, context.CancelFunc(func() {})
	if s.JournalName != operator.OwnJournal {
		nctx, stop = context.WithTimeout(ctx, noteWait)
	}
	defer stop()
	files := make([]int64, len(done))
	for i, l := range done {
		files[i] = o.fileTime(s.Team, l.to.Member)
	}
	err := o.Append(nctx, s, func() (ds []journal.Draft, _ error) {
		for i, l := range done {
			if !l.ord.Sent {
				ds = append(ds, journal.Draft{Kind: record.KindSent, Must: true, Body: record.Sent{Ref: uint64(l.ord.Seq), File: files[i]}})
			}
		}
		return ds, nil
	})
	for _, l := range done {
		if err != nil && l.res.Detail == "" {
			l.res.Detail = "the record that it is there comes later"
		}
	}
}
