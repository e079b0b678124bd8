package foreigntest_test

import (
	"slices"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// erases takes a text out of a mailbox without reading any of it.
func (f foreign) erases(box, text string) error {
	return f.edit(box, func(es []entry) []entry {
		return slices.DeleteFunc(es, func(e entry) bool { return e.Text == text })
	})
}

func (s *stage) sends(to, text string) string {
	s.t.Helper()
	sent, err := mail.Of(s.op).Send(s.t.Context(), s.team, mail.Message{To: toMember(to), Text: text})
	testenv.Must(s.t, err)
	testenv.Must(s.t, mail.Exit(sent))
	return sent[0].MsgID
}

// became is the state of a message.
func (s *stage) became(id string) mail.Delivery {
	s.t.Helper()
	list, err := mail.Of(s.op).Message(s.t.Context(), s.team, id)
	testenv.Must(s.t, err)
	if len(list) != 1 {
		s.t.Fatalf("%s is there %d times", id, len(list))
	}
	return list[0].State
}

// holds lists the texts in bob's mailbox.
func (s *stage) holds() (texts []string) {
	s.t.Helper()
	testenv.Must(s.t, s.them.edit(s.them.name, func(es []entry) []entry {
		for _, e := range es {
			texts = append(texts, e.Text)
		}
		return es
	}))
	return texts
}

// TestErasedWordsAreSentAgain: if another program erases a message before its reader took it, and
// nobody waits for the message, the process that leads sends it again, once, and on record.
func TestErasedWordsAreSentAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	s.sends("bob", "one")
	id := s.sends("bob", "two")
	s.pass()
	testenv.Must(t, s.them.erases("bob", "two"))
	s.pass()
	s.pass()
	if got := s.holds(); !slices.Equal(got, []string{"one", "two"}) {
		t.Fatalf("after it was erased its mailbox holds %q", got)
	}
	if d := s.became(id); d != mail.Written {
		t.Errorf("it is %s", d)
	}
	testenv.Must(t, s.them.erases("bob", "two"))
	s.pass()
	s.pass()
	if got := s.holds(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("after it was erased twice its mailbox holds %q", got)
	}
	if d := s.became(id); d != mail.Erased {
		t.Errorf("it is %s", d)
	}
	st, err := s.op.Open(t.Context(), s.team, operator.Act)
	testenv.Must(t, err)
	if o := st.Lead.SpokenAs(id)[0]; o.Again != record.ErasedOnce || o.End != record.ReaderNever {
		t.Errorf("on record: again %q, end %q", o.Again, o.End)
	}
}

// TestTakenWordsAreClosed: a message that its reader took is closed by that, and no later pass
// examines it.
func TestTakenWordsAreClosed(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	id := s.sends("bob", "one")
	s.pass()
	s.takes()
	s.pass()
	if got := s.holds(); len(got) != 0 {
		t.Errorf("its mailbox holds %q", got)
	}
	if d := s.became(id); d != mail.Delivered {
		t.Errorf("it is %s", d)
	}
	st, err := s.op.Open(t.Context(), s.team, operator.Act)
	testenv.Must(t, err)
	if o := st.Lead.SpokenAs(id)[0]; !o.Closed || o.End != record.ReaderTook {
		t.Errorf("on record: %+v", o)
	}
}

func toMember(name string) protocol.Address {
	return protocol.Address{Scheme: protocol.SchemeMember, Member: protocol.MemberName(name)}
}
