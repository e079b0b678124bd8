package poll_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
)

// owner is a machine that owns every entry that it was given, counts its calls, and treats some
// entries as older than its member.
type owner struct {
	owned, old map[string]bool
	given      map[string]int
	asked      int
}

func (*owner) Refresh(context.Context) error { return nil }
func (*owner) Apply(context.Context) error   { return nil }

func (l *owner) Receive(_ context.Context, in message.Incoming) error {
	l.owned[in.Entry] = true
	l.given[in.Entry]++
	return nil
}

func (l *owner) Standing(entry string) poll.Standing {
	l.asked++
	switch {
	case l.old[entry]:
		return poll.Old
	case l.owned[entry]:
		return poll.Owned
	}
	return poll.New
}

func (l *owner) Deliver(ctx context.Context, chat []message.Incoming) (taken []mailbox.ID, err error) {
	for _, in := range chat {
		if err := l.Receive(ctx, in); err != nil {
			return nil, err
		}
		id, err := mailbox.ParseID(in.Entry)
		if err != nil {
			return nil, err
		}
		taken = append(taken, id)
	}
	return taken, nil
}

// shelf is a store whose file the test rewrites.
type shelf struct{ entries []mailbox.Entry }

func (s *shelf) Append(context.Context, ...protocol.Envelope) error { return nil }
func (s *shelf) Entries(context.Context) ([]mailbox.Entry, error)   { return s.entries, nil }
func (s *shelf) Unread(context.Context) ([]mailbox.Entry, error)    { return nil, nil }
func (s *shelf) MarkRead(_ context.Context, ids ...mailbox.ID) (err error) {
	for _, id := range ids {
		for i := range s.entries {
			if s.entries[i].ID == id {
				s.entries[i].Envelope.Read = true
			}
		}
	}
	return nil
}

// TestSettled: whatever happens to the file between two passes, a pass has the result of reading
// every entry: each entry is given once, owned entries are marked, old ones are neither.
func TestSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, l := &shelf{}, &owner{owned: map[string]bool{}, old: map[string]bool{}, given: map[string]int{}}
		p := poll.Poller{Name: "ann", Box: s, Machine: l, Mark: true}
		n := 0
		entry := func(t *rapid.T) mailbox.Entry {
			n++
			e := mailbox.Entry{ID: mailbox.ID{Hash: fmt.Sprintf("%064x", n), Occurrence: 1}, Envelope: protocol.Envelope{From: "bob", Text: fmt.Sprint(n), Read: rapid.Bool().Draw(t, "read")}}
			if rapid.IntRange(0, 4).Draw(t, "old") == 0 {
				l.old[e.ID.String()] = true
			}
			return e
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) { s.entries = append(s.entries, entry(t)) },
			"insert": func(t *rapid.T) {
				i := rapid.IntRange(0, len(s.entries)).Draw(t, "at")
				s.entries = append(s.entries[:i:i], append([]mailbox.Entry{entry(t)}, s.entries[i:]...)...)
			},
			"remove": func(t *rapid.T) {
				if len(s.entries) > 0 {
					i := rapid.IntRange(0, len(s.entries)-1).Draw(t, "at")
					s.entries = append(s.entries[:i:i], s.entries[i+1:]...)
				}
			},
			"flip": func(t *rapid.T) {
				if len(s.entries) > 0 {
					e := &s.entries[rapid.IntRange(0, len(s.entries)-1).Draw(t, "at")].Envelope
					e.Read = !e.Read
				}
			},
			"": func(t *rapid.T) {
				unread := map[string]bool{}
				for _, e := range s.entries {
					unread[e.ID.String()] = !e.Envelope.Read
				}
				for range 2 { // the second marks what a pass that was given it did
					testenv.Must(t, p.Pass(context.Background()))
				}
				for _, e := range s.entries {
					id := e.ID.String()
					switch {
					case l.old[id] && (l.given[id] > 0 || e.Envelope.Read == unread[id]):
						t.Fatalf("old entry %s: given %d times, read %v", e.Envelope.Text, l.given[id], e.Envelope.Read)
					case !l.old[id] && (l.given[id] != 1 || !e.Envelope.Read):
						t.Fatalf("entry %s: given %d times, read %v", e.Envelope.Text, l.given[id], e.Envelope.Read)
					}
				}
				l.asked = 0
				testenv.Must(t, p.Pass(context.Background()))
				want := 0 // old and unread: it may become something to mark
				for i, e := range s.entries {
					if !e.Envelope.Read {
						want = len(s.entries) - i
						break
					}
				}
				if l.asked != want {
					t.Fatalf("%d entries were looked at again, though nothing has changed, want %d", l.asked, want)
				}
			},
		})
	})
}
