package control_test

import (
	"errors"
	"strings"
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// TestAlarm: an entry in the lead's name that carries authority and that the journal does not have
// is an alarm, once; any other entry is none.
func TestAlarm(t *testing.T) {
	w, bob := fileWorld(t, record.PolicySet{})
	w.do(w.lead(), func() ([]journal.Draft, error) {
		return w.l.Assign(bob, record.Task{ID: "1", Subject: "s", Instructions: "do it"}, "leader", w.mint())
	})
	o, _ := w.l.Assignment("1")
	env := envelopeOf(t, o.Mail)
	shutdown := encode(t, protocol.ShutdownRequest{RequestID: "s1", From: "team-lead", Timestamp: stamp})
	b := &box{}
	for what, c := range map[string]struct {
		env   protocol.Envelope
		alarm bool
	}{
		"ordered":    {env, false},
		"words":      {envelope("team-lead", "hello"), false},
		"of a peer":  {envelope("ada", strings.Replace(shutdown, "team-lead", "ada", 1)), false},
		"a report":   {envelope("team-lead", encode(t, protocol.TaskCompleted{From: "team-lead", TaskID: "1", Timestamp: stamp})), false},
		"a shutdown": {envelope("team-lead", shutdown), true},
		"unreadable": {envelope("team-lead", `{"type":"shutdown_request","requestId":7}`), true},
		"other case": {envelope("Team-Lead", shutdown), true},
	} {
		in := incoming("", b.put(c.env, true))
		ds := w.l.Alarm("bob", in)
		if (len(ds) == 1) != c.alarm {
			t.Errorf("%s: %+v", what, ds)
		}
		if !c.alarm || len(ds) != 1 {
			continue
		}
		u := ds[0].Body.(record.Unverified)
		if u.Box != "bob" || u.Entry != control.AlarmEntry("bob", in.Entry) || u.Entry != "bob "+in.Entry || !strings.Contains(u.Why, "bob may obey it all the same") {
			t.Errorf("%s: %+v", what, u)
		}
		w.do(w.lead(), func() ([]journal.Draft, error) { return ds, nil })
		if again := w.l.Alarm("bob", in); again != nil {
			t.Errorf("%s once more: %+v", what, again)
		}
	}
}

// TestTakenByTheOperator: the fold owns the entries of the lead's mailbox that the operator has
// taken; a taken record by another writer is ignored.
func TestTakenByTheOperator(t *testing.T) {
	w := newWorld(t, record.PolicySet{}, nil)
	ignored := len(w.l.Ignored)
	w.append(w.lead(), record.KindTaken, record.Taken{Entries: []string{"e#1"}})
	if w.l.Owns("e#1") || len(w.l.Ignored) != ignored+1 {
		t.Errorf("the lead: %v", w.l.Ignored)
	}
	w.append(operator, record.KindTaken, record.Taken{Entries: []string{"e#1", "e#2"}})
	if !w.l.Owns("e#1") || !w.l.Owns("e#2") || w.l.Owns("e#3") {
		t.Error("the operator")
	}
}

// TestSpokenAs: words are found by the beginning of their id, in the order in which they were said.
func TestSpokenAs(t *testing.T) {
	w, ann := withAnn(t)
	first := w.say(ann, w.spoken("team-lead", "one"), record.Words{})
	second := w.say(ann, w.spoken("team-lead", "two"), record.Words{})
	if got := w.l.SpokenAs("00000000-0000-4000"); len(got) != 2 || got[0] != first || got[1] != second {
		t.Errorf("%+v", got)
	}
	if got := w.l.SpokenAs(second.MsgID); len(got) != 1 || got[0] != second {
		t.Errorf("%+v", got)
	}
	for _, none := range []string{"", "1", first.MsgID + "0"} {
		if got := w.l.SpokenAs(none); got != nil {
			t.Errorf("%q: %+v", none, got)
		}
	}
	if first.What() != string(protocol.KindText) || (&control.Order{}).What() != "answer to a question" {
		t.Errorf("%s, %s", first.What(), (&control.Order{}).What())
	}
}

// TestHear: the session is given words in a turn only, and none that were withdrawn.
func TestHear(t *testing.T) {
	w, ann := withAnn(t)
	o := w.say(ann, w.spoken("team-lead", "wait"), record.Words{})
	entry := o.Hash + "#1"
	if ds, err := ann.w.Hear([]string{entry}, w.l); ds != nil || err == nil {
		t.Errorf("outside a turn: %+v, %v", ds, err)
	}
	if _, err := ann.try(drafting(record.KindHeard, record.Heard{Entries: []string{entry}})); err == nil {
		t.Error("heard outside a turn is folded")
	}
	ann.do(func() ([]journal.Draft, error) { return ann.w.Take(record.Taken{}, ann.lead) })
	gone := w.say(ann, w.spoken("team-lead", "never mind"), record.Words{})
	w.append(operator, record.KindClosed, record.Closed{Ref: uint64(gone.Seq), Evidence: record.Withdrawn})
	if ds, err := ann.w.Hear([]string{entry, gone.Hash + "#1"}, w.l); ds != nil || !errors.Is(err, control.ErrUnsaid) {
		t.Errorf("withdrawn: %+v, %v", ds, err)
	}
	ann.do(func() ([]journal.Draft, error) { return ann.w.Hear([]string{entry}, ann.lead) })
	if got := ann.w.Heard(); len(got) != 1 || got[0] != entry || !ann.w.Owns(entry) || !ann.w.HasTaken(o) || ann.w.Copy(entry, w.l) || !ann.w.Copy(o.Hash+"#2", w.l) || ann.w.Copy(gone.Hash+"#2", w.l) {
		t.Errorf("%v", got)
	}
}

// TestBlocking: the questions that a session waits for, in the order in which it asked, and the
// calls that run.
func TestBlocking(t *testing.T) {
	w, ann := working(t, record.PolicySet{}, false)
	var keys []record.Key
	for _, name := range []string{"a.test", "b.test", "c.test"} {
		keys = append(keys, ann.ask(host, record.Ask{Host: name}))
	}
	call := ann.ask(tool, bash)
	got := ann.w.Blocking()
	if len(got) != 4 || got[3].Key != call {
		t.Fatalf("%+v", got)
	}
	for i, k := range keys {
		if got[i].Key != k {
			t.Errorf("%d: %s, want %s", i, got[i].Ask.Host, k.ID)
		}
	}
	if ds := ann.w.GiveUp(call, "x"); ds != nil || len(ann.w.Running()) != 0 {
		t.Errorf("a call that is not started: %+v", ds)
	}
	w.answered(call, true)
	w.must(ann.start(call))
	if run := ann.w.Running(); len(run) != 1 || run[0].Key != call {
		t.Errorf("%+v", run)
	}
	if ds := ann.w.Lost("it ended"); ds != nil {
		t.Errorf("a call of this start is lost: %+v", ds)
	}
	if ds := ann.w.GiveUp(record.Key{ID: "other"}, "x"); ds != nil {
		t.Errorf("no call: %+v", ds)
	}
	ann.do(func() ([]journal.Draft, error) { return ann.w.GiveUp(call, "nobody reports it"), nil })
	if c, _ := ann.w.Call(call); !c.Unknown || len(ann.w.Running()) != 0 || ann.w.GiveUp(call, "x") != nil {
		t.Errorf("%+v", c)
	}
}
