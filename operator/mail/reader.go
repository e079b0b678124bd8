package mail

import (
	"context"

	"waggle/journal"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// The state of a message whose reader writes no journal here, as its mailbox shows it: the reader
// is a member that another program runs, or another program's lead.

// foreign reports such a message.
func (v *survey) foreign(tr *trail) bool {
	if protocol.SameName(tr.to, protocol.Lead) {
		return !v.led
	}
	m, ok := v.s.Lead.Member(tr.to)
	return !ok || m.Trust == record.FileTrust
}

// vanished returns the state of such a message that is not in its mailbox any more.
func vanished(tr *trail, b *openBox) (d Delivery, evidence, detail string) {
	again := ""
	if tr.order().Again != "" {
		again = "; it was sent a second time, since another program had erased it"
	}
	switch trace(tr, b) {
	case mailbox.Lies:
		return Written, "the mailbox", "another program has written it anew without its id" + again
	case mailbox.Marked:
		return Delivered, "the mailbox", "it is marked read, and was written anew without its id" + again
	case mailbox.Taken:
		return Delivered, "the mailbox", "it is gone, and nothing older waits there: its reader has taken it" + again
	}
	return Erased, "the mailbox", "it is gone beside older unread messages, or with the file: nobody has read it" + again
}

// keep records the messages that such a reader has taken: the evidence is in its mailbox alone, and goes with the
// team's directory. The record is in the operator's own journal of that team. An error changes nothing of what is shown.
func (v *survey) keep(ctx context.Context, o Operator) {
	if v.led || v.past {
		return
	}
	var ds []journal.Draft
	for _, tr := range v.t.order {
		if tr.from != "" || tr.words == nil || !v.foreign(tr) || !v.written(tr) {
			continue
		}
		b, at := v.find(tr)
		states := v.states(tr, b, at)
		if last := states[len(states)-1]; last.State != Delivered || last.At != "" {
			continue
		}
		evidence := record.ReaderTook
		if at >= 0 || trace(tr, b) == mailbox.Marked {
			evidence = record.ReaderMarked
		}
		ds = append(ds, journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Ref: uint64(tr.sent.Seq), Evidence: evidence}})
	}
	if len(ds) == 0 {
		return
	}
	_ = o.Append(ctx, v.s, func() ([]journal.Draft, error) { return ds, nil }) // the next look finds the same, as long as the mailbox is there
}

func trace(tr *trail, b *openBox) mailbox.Trace {
	return mailbox.TraceOf(mailbox.Written{Envelope: tr.env, File: tr.order().File}, b.entries, b.file)
}

// mend sends a message once more, under the same id, that was erased before its reader took it.
func (v *survey) mend(ctx context.Context, o Operator, sent []Sent) error {
	for i := range sent {
		s := &sent[i]
		tr := v.trailOf(*s)
		if s.err != nil || tr == nil || tr.words == nil || tr.order().Again != "" || !v.written(tr) || !v.foreign(tr) || tr.reached(Withdrawn, Superseded, Expired, DeadLetter) {
			continue
		}
		b, at := v.find(tr)
		if at >= 0 || b != nil && b.broken || trace(tr, b) != mailbox.Erased {
			continue
		}
		if m, ok := v.s.Lead.Member(tr.to); ok && v.led && m.Left == nil { // only the process that leads sends it again
			if _, err := o.Pass(ctx, v.s); err != nil {
				return err
			}
			if err := v.look(ctx, o); err != nil {
				return err
			}
			continue
		}
		box, err := o.Box(v.cfg, tr.to, nil)
		if err == nil {
			err = mailbox.AppendOnce(ctx, box, tr.env)
		}
		if err != nil {
			return err
		}
		file := mailbox.FileTime(box)
		if err := o.Append(ctx, v.s, func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: record.KindSent, Must: true, Body: record.Sent{Ref: uint64(tr.sent.Seq), File: file, Again: record.ErasedOnce}}}, nil
		}); err != nil {
			return err
		}
		if err := v.look(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// fileTime is when the file of a member's mailbox was last written; 0: not known.
func (o Operator) fileTime(name protocol.TeamName, to protocol.MemberName) int64 {
	box, err := o.Box(&team.Config{Name: name}, to, nil)
	if err != nil {
		return 0
	}
	return mailbox.FileTime(box)
}
