package control_test

import (
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/record"
)

// TestCourseOfWords: a fold keeps the first record that words are in their mailbox, the one that gave them to the session, and
// the notice that ended that turn, also through its snapshot.
func TestCourseOfWords(t *testing.T) {
	w, ann := withAnn(t)
	o := w.say(ann, w.spoken("team-lead", "hi"), record.Words{})
	w.append(w.lead(), record.KindSent, record.Sent{Ref: uint64(o.Seq)})
	w.append(w.lead(), record.KindSent, record.Sent{Ref: uint64(o.Seq), Again: record.ErasedOnce})
	if l := keptLeader(t, w.l); l.OrderAt(o.Seq).Written.Seq != o.Seq+1 || len(l.Orders()) != 1 || o.Kind != record.KindSaid {
		t.Errorf("%+v", l.Orders())
	}
	first, more := o.Hash+"#1", "more#1"
	var took control.Mark
	for turn := range 2 {
		ann.do(func() ([]journal.Draft, error) { return ann.w.Take(record.Taken{Entries: []string{first}}, ann.lead) })
		if in := ann.w.Intake(first); in.Kind != record.KindTaken || in.End != nil && in.End.Said.Failed {
			t.Fatalf("%+v", in)
		} else if turn == 0 {
			took = in.Mark
		}
		ann.do(func() ([]journal.Draft, error) { return ann.w.Hear([]string{more}, ann.lead) })
		ann.idle()
		ann.idle() // a repeated notice ends nothing
	}
	fold := keptWorker(t, ann.w)
	in, heard := fold.Intake(first), fold.Intake(more)
	if in.End == nil || heard.End != in.End || heard.Kind != record.KindHeard || in.End.Seq != heard.Seq+1 || in.Mark != took || in.Seq+1 != heard.Seq || fold.Intake("none#1") != nil {
		t.Errorf("%+v, %+v", in, heard)
	}
}

// TestCourseOfOrders: a fold keeps by which record a member took a command or a decision, with or without an entry of its
// mailbox, and why it refused a forged one.
func TestCourseOfOrders(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	k := m.ask(tool, bash)
	w.round()
	if w.l.Intake(w.box.entries[0].id).Of != tool {
		t.Errorf("%+v", w.l.Intake(w.box.entries[0].id))
	}
	w.decide(verdict(w.request(k), true), operator)
	order := w.request(k).Order
	if order.Kind != record.KindDecided || m.w.Obeyed(order) != nil {
		t.Errorf("%+v, %+v", order, m.w.Obeyed(order))
	}
	m.box.put(envelope("team-lead", `{"type":"shutdown_request","requestId":"s","from":"team-lead"}`), true)
	w.round()
	assigned := w.l.Orders()[0]
	fold := keptWorker(t, m.w)
	for o, kind := range map[*control.Order]string{assigned: record.KindApplied, order: record.KindAnswered} {
		if in := fold.Obeyed(o); in == nil || in.Kind != kind || in.At.IsZero() {
			t.Errorf("%s: %+v", o.Kind, in)
		}
	}
	for _, e := range m.box.entries {
		if in := fold.Intake(e.id); in == nil || (in.Kind == record.KindUnverified) != e.forged || (in.Why != "") != e.forged {
			t.Errorf("%s: %+v", e.env.Text, in)
		}
	}
}
