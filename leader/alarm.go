package leader

import (
	"context"
	"fmt"
	"slices"

	"waggle/journal"
	"waggle/message"
	"waggle/protocol"
	"waggle/record"
)

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
