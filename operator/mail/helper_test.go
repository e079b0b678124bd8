package mail_test

import (
	"os"
	"slices"
	"testing"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/mail"
	"waggle/protocol"
)

// foreign is the name of a team that another program leads.
const foreign protocol.TeamName = "session-1a2b3c4d"

func address(t testing.TB, s string) protocol.Address {
	t.Helper()
	return testenv.Value(protocol.ParseAddress(s))(t)
}

// send sends a message that must not be refused.
func send(t testing.TB, r *operatortest.Rig, to, text string) mail.Sent {
	t.Helper()
	sent, err := mail.Of(r.Op).Send(t.Context(), r.Name, mail.Message{To: address(t, to), Text: text})
	if err != nil || len(sent) != 1 || sent[0].Err() != nil {
		t.Fatalf("send to %s: %+v, %v", to, sent, err)
	}
	return sent[0]
}

// inbox returns the messages of a mailbox, read or not.
func inbox(t testing.TB, r *operatortest.Rig, of protocol.MemberName) *mail.Inbox {
	t.Helper()
	return testenv.Value(mail.Of(r.Op).Inbox(t.Context(), r.Name, of, false))(t)
}

// texts are the texts of an inbox.
func texts(in *mail.Inbox) (all []string) {
	for _, e := range in.Entries {
		all = append(all, e.Text)
	}
	return all
}

// states are the states of a message, in order.
func states(m mail.StoredMessage) (all []mail.Delivery) {
	for _, s := range m.States {
		all = append(all, s.State)
	}
	return all
}

// became returns the one message of an id with its states.
func became(t testing.TB, r *operatortest.Rig, id string) mail.StoredMessage {
	t.Helper()
	found, err := mail.Of(r.Op).Message(t.Context(), r.Name, id)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %+v, %v", id, found, err)
	}
	return found[0]
}

// is checks the sequence of a message's states.
func is(t testing.TB, m mail.StoredMessage, want ...mail.Delivery) {
	t.Helper()
	if !slices.Equal(states(m), want) || m.State != want[len(want)-1] {
		t.Errorf("%s: %v, not %v", m.State, states(m), want)
	}
}

// words returns the Order of a message from the journal of a team that waggle leads.
func words(t testing.TB, r *operatortest.Rig, id string) *control.Order {
	t.Helper()
	found := r.State().Lead.SpokenAs(id)
	if len(found) != 1 {
		t.Fatalf("%d records of %s", len(found), id)
	}
	return found[0]
}

func read(t testing.TB, path string) string {
	t.Helper()
	data := testenv.Value(os.ReadFile(path))(t)
	return string(data)
}
