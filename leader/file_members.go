package leader

import (
	"context"
	"fmt"
	"slices"

	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/protocol"
	"waggle/record"
)

// hearFile handles a message of a member that waggle does not run. The entry itself is its only
// evidence. The caller holds mu.
func (l *Leader) hearFile(ctx context.Context, in message.Incoming) error {
	mint, err := l.p.Minter.Mint()
	if err != nil {
		return err
	}
	return l.append(ctx, func() ([]journal.Draft, error) { return l.p.Fold.SeeFile(in, mint) })
}

// runsOn says that a member which agreed by file to end has a process that runs: another program's, which
// waggle does not end.
func (l *Leader) runsOn(m *control.Member) string {
	if m.Process == nil || !l.p.Alive(m.Process.ID) {
		return ""
	}
	return fmt.Sprintf("its process %d still runs, which waggle does not end", m.Process.ID.PID)
}

// readers checks what the members of other programs did with orders and words that were sent to
// them: a message that its reader took is closed, and one that was erased is sent once more under
// the same id.
func (l *Leader) readers(ctx context.Context) error {
	l.mu.Lock()
	members := slices.DeleteFunc(l.p.Fold.Live(), func(m *control.Member) bool { return m.Trust != record.FileTrust || len(l.p.Fold.Underway(m)) == 0 })
	l.mu.Unlock()
	for _, m := range members {
		if err := l.reader(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// reader checks the messages that were sent to one member.
func (l *Leader) reader(ctx context.Context, m *control.Member) error {
	box, err := l.p.Member(m.Name)
	var entries []mailbox.Entry
	var at int64
	if err == nil {
		at = mailbox.FileTime(box)
		entries, err = box.Entries(ctx)
	}
	l.trouble.Note("reader "+string(m.Instance), err, "mailbox of a member that obeys files cannot be read, will retry", "member", m.Name)
	if err != nil {
		return ctx.Err()
	}
	l.mu.Lock()
	orders := l.p.Fold.Underway(m)
	l.mu.Unlock()
	for _, o := range orders {
		env, err := o.Mail.Open()
		if err != nil {
			continue
		}
		switch trace := mailbox.TraceOf(mailbox.Written{Envelope: env, File: o.File}, entries, at); {
		case trace == mailbox.Lies:
		case trace == mailbox.Erased && o.Again == "":
			err = l.again(ctx, m, o)
		case o.Commanded != nil && o.Commanded.What == record.CommandShutdown: // its answer closes it
		default:
			err = l.closed(ctx, o, evidence[trace])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// evidence says what closed an order to a reader of another program.
var evidence = map[mailbox.Trace]string{mailbox.Marked: record.ReaderMarked, mailbox.Taken: record.ReaderTook, mailbox.Erased: record.ReaderNever}

// again sends an erased message once more.
func (l *Leader) again(ctx context.Context, m *control.Member, o *control.Order) error {
	l.p.Log.Warn("a message was erased from a mailbox before its reader took it; it is sent again", "member", m.Name, "kind", o.Mail.Kind)
	err := l.put(ctx, o)
	l.trouble.Note("mailbox "+string(m.Name), err, "not delivered, will retry", "kind", o.Mail.Kind, "to", m.Name)
	if err != nil {
		return ctx.Err()
	}
	return l.sent(ctx, o, record.ErasedOnce)
}

// closed records what became of an order.
func (l *Leader) closed(ctx context.Context, o *control.Order, evidence string) error {
	return l.appendNow(ctx, func() ([]journal.Draft, error) {
		if o.Closed {
			return nil, nil
		}
		return []journal.Draft{{Kind: record.KindClosed, Must: true, Body: record.Closed{Ref: uint64(o.Seq), Evidence: evidence}}}, nil
	})
}

// guard checks the mailboxes of members that obey files, which waggle does not run, for forged
// messages in the lead's name. A mailbox that cannot be read now is read by the next pass.
func (l *Leader) guard(ctx context.Context) error {
	var others []protocol.MemberName
	if l.p.Others != nil {
		var err error
		others, err = l.p.Others(ctx)
		l.trouble.Note("others", err, "members that others run are not known, will retry")
	}
	l.mu.Lock()
	others = slices.DeleteFunc(slices.Clone(others), func(n protocol.MemberName) bool { _, known := l.p.Fold.Member(n); return known })
	for _, m := range l.p.Fold.Live() {
		if m.Trust == record.FileTrust {
			others = append(others, m.Name)
		}
	}
	l.mu.Unlock()
	for _, name := range others {
		if err := l.guardOne(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (l *Leader) guardOne(ctx context.Context, name protocol.MemberName) error {
	box, err := l.p.Member(name)
	if err == nil {
		entries, rerr := box.Entries(ctx)
		for _, e := range entries {
			if e.Err != nil {
				continue // inbox and doctor show it
			}
			in := message.Incoming{Entry: e.ID.String(), Envelope: e.Envelope, Decoded: protocol.Decode(e.Envelope)}
			if err := l.alarm(ctx, name, in); err != nil {
				return err
			}
		}
		err = rerr
	}
	l.trouble.Note("guard "+string(name), err, "mailbox of a member that obeys files cannot be read, will retry", "member", name)
	return ctx.Err()
}

func (l *Leader) alarm(ctx context.Context, name protocol.MemberName, in message.Incoming) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := false
	err := l.appendDue(ctx, func() []journal.Draft {
		ds := l.p.Fold.Alarm(name, in)
		found = len(ds) > 0
		return ds
	})
	if err != nil {
		return fmt.Errorf("alarm: %w", err)
	}
	if found {
		l.p.Log.Warn("ALARM: a forged message in the lead's name; the member may obey it", "member", name, "kind", in.Decoded.Kind)
	}
	return nil
}
