package leader

import (
	"cmp"
	"context"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// flush puts decided and commanded mail into mailboxes and records it, in the order of the journal
// for each member. A member whose mailbox is locked or missing keeps its order and is tried again
// by the next pass, after the others. The error is about the journal, or ctx.
func (l *Leader) flush(ctx context.Context) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	orders := l.p.Fold.Outbox()
	l.mu.Unlock()
	slices.SortStableFunc(orders, func(a, b *control.Order) int { return cmp.Compare(l.lateness(a), l.lateness(b)) })
	late := map[protocol.MemberName]bool{}
	defer func() { l.late = late }()
	for _, o := range orders {
		to := o.Mail.To
		if late[to] || l.others(o) {
			continue
		}
		err := l.put(ctx, o)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.trouble.Note("mailbox "+string(to), err, "not delivered, will retry", "kind", o.Mail.Kind, "to", to)
		if err != nil {
			late[to] = true
			continue
		}
		if err := l.sent(ctx, o, ""); err != nil {
			return err
		}
		delete(l.tried, o.Seq)
	}
	return nil
}

func (l *Leader) lateness(o *control.Order) int {
	if l.late[o.Mail.To] {
		return 1
	}
	return 0
}

// others reports words that the process which recorded them sends itself.
func (l *Leader) others(o *control.Order) bool {
	return o.Words != nil && o.Words.By != policy.RoleSystem && l.p.Minter.Now().Sub(o.At) < sayGrace
}

// sayGrace is how long that process may take. A member that runs fetches the words before that.
const sayGrace = 5 * time.Second

// put puts an order's mail into its mailbox. When an earlier attempt may have done so, it checks
// the mailbox first.
func (l *Leader) put(ctx context.Context, o *control.Order) error {
	box, err := l.p.Member(o.Mail.To)
	if err != nil {
		return err
	}
	env, err := o.Mail.Open()
	if err != nil {
		return err
	}
	// An earlier leader may have sent it and not said so, an earlier try may have left it there, and a member
	// fetches what is overdue itself. A mailbox that is locked may be read.
	tried := l.tried[o.Seq]
	l.tried[o.Seq] = true
	if tried || !o.At.After(l.began) || l.p.Minter.Now().Sub(o.At) > time.Second {
		entries, err := box.Entries(ctx)
		if err != nil || slices.ContainsFunc(entries, func(e mailbox.Entry) bool { return e.Err == nil && mailbox.Same(e.Envelope, env) }) {
			return err
		}
	}
	return mailbox.AppendOnce(ctx, box, env) // whoever sent the words may still be sending
}

// sent records that an order's mail is in its mailbox.
func (l *Leader) sent(ctx context.Context, o *control.Order, again string) error {
	var at int64
	if box, err := l.p.Member(o.Mail.To); err == nil {
		at = mailbox.FileTime(box)
	}
	return l.appendNow(ctx, func() ([]journal.Draft, error) {
		if o.Closed || o.Sent && (again == "" || o.Again != "") {
			return nil, nil
		}
		return []journal.Draft{{Kind: record.KindSent, Must: true, Body: record.Sent{Ref: uint64(o.Seq), File: at, Again: again}}}, nil
	})
}
