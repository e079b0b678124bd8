package control_test

import (
	"testing"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestStopRecords: the begin of a stop and the step that ended it are recorded once each,
// the step only behind the begin, and neither for a member that has left.
func TestStopRecords(t *testing.T) {
	w, ann := withAnn(t)
	m, _ := w.l.ByInstance(ann.instance)
	none := func(what string, ds []journal.Draft) {
		t.Helper()
		if len(ds) != 0 {
			t.Errorf("%s: %+v", what, ds)
		}
	}
	none("a step without a begin", w.l.Stopped(m, "kill"))
	w.do(operator, func() ([]journal.Draft, error) { return w.l.Stop(m, "its work is over"), nil })
	if m.Stopping == nil || m.Stopping.Why != "its work is over" || m.Stopping.Step != "" {
		t.Fatalf("begun: %+v", m.Stopping)
	}
	none("begun again", w.l.Stop(m, "another reason"))
	w.do(operator, func() ([]journal.Draft, error) { return w.l.Stopped(m, "kill"), nil })
	if m.Stopping.Step != "kill" || m.Stopping.Why != "its work is over" {
		t.Errorf("ended: %+v", m.Stopping)
	}
	none("ended again", w.l.Stopped(m, "term"))
	w.append(w.lead(), record.KindLeft, record.Left{Instance: ann.instance, How: record.LeftStopped})
	if m.Left == nil {
		t.Fatal("it has not left")
	}
	none("begun after it left", w.l.Stop(m, "x"))
	none("ended after it left", w.l.Stopped(m, "x"))
}

// TestLapse: words expire at their time and not before, once; an order has no such time.
func TestLapse(t *testing.T) {
	w, ann := withAnn(t)
	soon := w.now.Add(10 * time.Second)
	words := w.say(ann, w.spoken("team-lead", "soon"), record.Words{Expires: &soon})
	w.say(ann, w.spoken("team-lead", "for ever"), record.Words{})
	w.assign(ann, record.Task{ID: "1", Subject: "one", Instructions: "do 1"})
	if ds := w.l.Lapse(soon.Add(-1)); len(ds) != 0 {
		t.Errorf("before its time: %+v", ds)
	}
	ds := w.l.Lapse(soon)
	if len(ds) != 1 || ds[0].Body.(record.Closed).Ref != uint64(words.Seq) || ds[0].Body.(record.Closed).Evidence != record.Expired {
		t.Fatalf("at its time: %+v", ds)
	}
	w.do(w.lead(), func() ([]journal.Draft, error) { return ds, nil })
	if ds := w.l.Lapse(soon.Add(time.Hour)); len(ds) != 0 || !words.Closed {
		t.Errorf("afterwards: %+v, closed: %v", ds, words.Closed)
	}
}

// TestUnderway: Underway lists the sent orders in the mailbox of a member that speaks by file:
// orders to its instance, and words to its name from before it joined.
func TestUnderway(t *testing.T) {
	w := newWorld(t, record.PolicySet{}, nil)
	file := func(name protocol.MemberName) *control.Member {
		i := record.Instance(name + "-file")
		w.append(operator, record.KindJoined, record.Joined{Instance: i, Name: name, Agent: "claude", Cwd: "/work", Trust: record.FileTrust})
		m, ok := w.l.ByInstance(i)
		if !ok {
			t.Fatalf("%s has not joined", name)
		}
		return m
	}
	say := func(to protocol.MemberName, m *control.Member, text string) {
		t.Helper()
		env := w.spoken("bob", text)
		w.do(operator, func() ([]journal.Draft, error) { return w.l.Say(m, to, env, record.Words{By: policy.RoleOperator}) })
	}
	ann, eve := file("ann"), file("eve")
	say("ann", nil, "to the name")
	say("ann", ann, "to the instance")
	say("eve", nil, "to another")
	under := func(m *control.Member) (texts []string) {
		for _, o := range w.l.Underway(m) {
			env := envelopeOf(t, o.Mail)
			texts = append(texts, env.Text)
		}
		return texts
	}
	if got := under(ann); len(got) != 0 {
		t.Errorf("before they are sent: %q", got)
	}
	for _, o := range w.l.Outbox() {
		w.append(w.lead(), record.KindSent, record.Sent{Ref: uint64(o.Seq)})
	}
	if got := under(ann); len(got) != 2 || got[0] != "to the name" || got[1] != "to the instance" {
		t.Errorf("ann has %q", got)
	}
	if got := under(eve); len(got) != 1 || got[0] != "to another" {
		t.Errorf("eve has %q", got)
	}
}
