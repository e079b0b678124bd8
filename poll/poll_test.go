package poll_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
)

// machine notes what the loop does with it.
type of struct {
	did      []string
	standing map[string]poll.Standing // by text
	byID     map[string]string        // id: text
	refuse   map[string]error         // Receive, by text
	fail     map[string]error         // a step, by name
	busy     bool
}

func (m *of) step(name string) error {
	m.did = append(m.did, name)
	return m.fail[name]
}

func (m *of) Refresh(context.Context) error       { return m.step("refresh") }
func (m *of) Apply(context.Context) error         { return m.step("apply") }
func (m *of) Standing(entry string) poll.Standing { return m.standing[m.byID[entry]] }
func (m *of) Receive(_ context.Context, in message.Incoming) error {
	m.did = append(m.did, "receive "+label(in.Envelope))
	return m.refuse[label(in.Envelope)]
}

func (m *of) Deliver(_ context.Context, chat []message.Incoming) ([]mailbox.ID, error) {
	var texts []string
	var taken []mailbox.ID
	for _, in := range chat {
		texts = append(texts, label(in.Envelope))
		id, err := mailbox.ParseID(in.Entry)
		if err != nil {
			return nil, err
		}
		taken = append(taken, id)
	}
	err := m.step("deliver " + strings.Join(texts, ","))
	if m.busy || err != nil {
		taken = nil
	}
	return taken, err
}

// label names an entry: its summary.
func label(e protocol.Envelope) string { return e.Summary }

// recorder is a mailbox that notes what is marked.
type recorder struct {
	mailbox.Store
	m    *of
	fail error
}

func (r recorder) MarkRead(ctx context.Context, ids ...mailbox.ID) error {
	if r.fail != nil {
		return r.fail
	}
	for _, id := range ids {
		r.m.did = append(r.m.did, "mark "+r.m.byID[id.String()])
	}
	return r.Store.MarkRead(ctx, ids...)
}

func say(label, from string) protocol.Envelope {
	return protocol.Envelope{From: from, Text: "words " + label, Summary: label, Timestamp: "2026-01-01T00:00:00.000Z", Type: "message"}
}

func ask(t *testing.T, label, from string, p protocol.Payload) protocol.Envelope {
	t.Helper()
	text, err := protocol.Encode(p, protocol.DialectWire)
	testenv.Must(t, err)
	e := say(label, from)
	e.Text = text
	return e
}

// setup is a mailbox with entries and a poller over it.
func setup(t *testing.T, entries ...protocol.Envelope) (*poll.Poller, *of) {
	t.Helper()
	box := mailbox.NewMemory(mailbox.Options{})
	testenv.Must(t, box.Append(t.Context(), entries...))
	m := &of{standing: map[string]poll.Standing{}, byID: map[string]string{}, refuse: map[string]error{}, fail: map[string]error{}}
	es, err := box.Entries(t.Context())
	testenv.Must(t, err)
	for _, e := range es {
		m.byID[e.ID.String()] = label(e.Envelope)
	}
	return &poll.Poller{Name: "ann", Box: recorder{Store: box, m: m}, Machine: m, Mark: true}, m
}

func mixed(t *testing.T) []protocol.Envelope {
	idle := protocol.IdleNotification{From: "bob", Timestamp: "2026-01-01T00:00:00.000Z", IdleReason: "available"}
	down := protocol.ShutdownRequest{RequestID: "shutdown-1@ann", From: "team-lead", Timestamp: "2026-01-01T00:00:00.000Z"}
	return []protocol.Envelope{say("chat1", "bob"), ask(t, "idle1", "bob", idle), say("chat2", "team-lead"),
		ask(t, "down", "team-lead", down), ask(t, "idle2", "eve", idle), ask(t, "idle3", "bob", idle)}
}

func (m *of) want(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, m.did); diff != "" {
		t.Errorf("the loop did (-want +got):\n%s", diff)
	}
	m.did = nil
}

// TestPassOrder: control before chat, shutdown before all, the rest in file
// order, and marked only after everything.
func TestPassOrder(t *testing.T) {
	p, m := setup(t, mixed(t)...)
	testenv.Must(t, p.Pass(t.Context()))
	m.want(t, "refresh", "receive down", "receive idle1", "receive idle2", "receive idle3", "apply", "deliver chat1,chat2",
		"mark down", "mark idle1", "mark idle2", "mark idle3", "mark chat1", "mark chat2")
}

// TestPassBusy: a busy session leaves its chat unread.
func TestPassBusy(t *testing.T) {
	p, m := setup(t, say("chat1", "bob"))
	m.busy = true
	for range 2 {
		testenv.Must(t, p.Pass(t.Context()))
		m.want(t, "refresh", "apply", "deliver chat1")
	}
	es, err := p.Box.Unread(t.Context())
	if err != nil || len(es) != 1 {
		t.Errorf("%d unread, %v; want the one that was not taken", len(es), err)
	}
}

// TestPassStanding: the journal decides which entries are new, never the read flag. Owned entries
// are marked late, entries from before the member joined never.
func TestPassStanding(t *testing.T) {
	read := func(e protocol.Envelope) protocol.Envelope { e.Read = true; return e }
	p, m := setup(t, read(say("new but read", "bob")), say("owned", "bob"), read(say("owned and read", "bob")), say("old", "bob"))
	m.standing["owned"], m.standing["owned and read"], m.standing["old"] = poll.Owned, poll.Owned, poll.Old
	testenv.Must(t, p.Pass(t.Context()))
	m.want(t, "refresh", "apply", "deliver new but read", "mark owned", "mark new but read")
}

// TestPassUnreadable: an entry that cannot be read delays no other.
func TestPassUnreadable(t *testing.T) {
	p, m := setup(t, say("chat1", "bob"))
	p.Box = broken{p.Box}
	testenv.Must(t, p.Pass(t.Context()))
	m.want(t, "refresh", "apply", "deliver chat1", "mark chat1")
}

// broken puts an unreadable entry before the others.
type broken struct{ mailbox.Store }

func (b broken) Entries(ctx context.Context) ([]mailbox.Entry, error) {
	es, err := b.Store.Entries(ctx)
	return append([]mailbox.Entry{{ID: mailbox.ID{Hash: "x", Occurrence: 1}, Err: errors.New("not an object")}}, es...), err
}

// TestPassNotOurs: a mailbox that another program leads is not marked.
func TestPassNotOurs(t *testing.T) {
	p, m := setup(t, mixed(t)...)
	p.Mark = false
	testenv.Must(t, p.Pass(t.Context()))
	if slices.ContainsFunc(m.did, func(s string) bool { return strings.HasPrefix(s, "mark") }) {
		t.Errorf("marked in a mailbox that is not ours: %v", m.did)
	}
}

// TestPassErrors: the entries behind an error are left for the next pass; owned entries are marked
// all the same.
func TestPassErrors(t *testing.T) {
	bad := errors.New("no room")
	for _, tt := range []struct {
		name string
		fail func(*of)
		want []string
	}{
		{"refresh", func(m *of) { m.fail["refresh"] = bad }, []string{"refresh"}},
		{"receive", func(m *of) { m.refuse["idle2"] = bad },
			[]string{"refresh", "receive down", "receive idle1", "receive idle2", "mark down", "mark idle1"}},
		{"apply", func(m *of) { m.fail["apply"] = bad },
			[]string{"refresh", "receive down", "receive idle1", "receive idle2", "receive idle3", "apply", "mark down", "mark idle1", "mark idle2", "mark idle3"}},
		{"deliver", func(m *of) { m.fail["deliver chat1,chat2"] = bad },
			[]string{"refresh", "receive down", "receive idle1", "receive idle2", "receive idle3", "apply", "deliver chat1,chat2",
				"mark down", "mark idle1", "mark idle2", "mark idle3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, m := setup(t, mixed(t)...)
			tt.fail(m)
			if err := p.Pass(t.Context()); !errors.Is(err, bad) || !strings.Contains(fmt.Sprint(err), "poll ann") {
				t.Errorf("pass: %v, want %v and whose pass it was", err, bad)
			}
			m.want(t, tt.want...)
		})
	}
}

func TestPassMarkFails(t *testing.T) {
	p, m := setup(t, say("chat1", "bob"))
	bad := errors.New("locked")
	p.Box = recorder{p.Box.(recorder).Store, m, bad}
	if err := p.Pass(t.Context()); !errors.Is(err, bad) {
		t.Errorf("pass: %v, want %v", err, bad)
	}
}

// TestPassLater: all later entries of one sender wait, those of other senders are judged.
func TestPassLater(t *testing.T) {
	p, m := setup(t, mixed(t)...)
	m.refuse["idle1"] = fmt.Errorf("journal of bob: %w", poll.ErrLater)
	testenv.Must(t, p.Pass(t.Context()))
	m.want(t, "refresh", "receive down", "receive idle1", "receive idle2", "apply", "deliver chat1,chat2",
		"mark down", "mark idle2", "mark chat1", "mark chat2")
}

// TestRunPace: a pass that fails is tried again at the next change of the mailbox and not before,
// until the error is one that retry does not accept.
func TestRunPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, m := setup(t)
		m.fail["apply"] = errors.New("no room")
		nudges := make(chan struct{})
		var seen []error
		got := make(chan error)
		go func() {
			got <- p.Run(t.Context(), nudges, func(err error) bool { seen = append(seen, err); return len(seen) < 4 })
		}()
		for n := 1; n < 4; n++ {
			synctest.Wait()
			if len(seen) != n {
				t.Fatalf("%d passes after %d nudges", len(seen), n-1)
			}
			nudges <- struct{}{}
		}
		if err := <-got; !errors.Is(err, m.fail["apply"]) {
			t.Errorf("run: %v", err)
		}
	})
}

func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := setup(t)
		retry := func(error) bool { t.Error("asked whether to retry"); return false }
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error)
		go func() { got <- p.Run(ctx, nil, retry) }()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v, want the end of ctx", err)
		}
		nudges := make(chan struct{})
		close(nudges)
		if err := p.Run(t.Context(), nudges, retry); err != nil {
			t.Errorf("run: %v, want nil when nobody nudges any more", err)
		}
	})
}

// TestRunEndsInAPass: an error of a pass that ctx cut short is not asked about.
func TestRunEndsInAPass(t *testing.T) {
	p, m := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	m.fail["apply"] = context.Canceled
	m.standing = nil
	cancel()
	err := p.Run(ctx, nil, func(error) bool { t.Error("asked whether to retry"); return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
}

func TestFinal(t *testing.T) {
	for err, want := range map[error]bool{
		&journal.BrokenError{}:                               true,
		&journal.FutureError{}:                               true,
		&journal.StaleError{}:                                true,
		&journal.DraftError{Err: &machine.TransitionError{}}: false,
		context.Canceled:                                     false,
		errors.New("anything else"):                          false,
		fmt.Errorf("x: %w", errors.ErrUnsupported):           false,
	} {
		if got := poll.Final(fmt.Errorf("poll ann: %w", err)); got != want {
			t.Errorf("Final(%T) = %v, want %v", err, got, want)
		}
	}
}
