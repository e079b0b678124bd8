package mailbox_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/mailbox"
	"waggle/protocol"
)

// model is the expected state of a mailbox: entries by content, which may be equal.
type model struct {
	retention mailbox.Retention
	list      []modelEntry
}

type modelEntry struct {
	env  protocol.Envelope
	read bool
}

func (m *model) id(i int) mailbox.ID {
	n := 0
	for _, e := range m.list[:i+1] {
		if mailbox.HashOf(e.env) == mailbox.HashOf(m.list[i].env) {
			n++
		}
	}
	return mailbox.ID{Hash: mailbox.HashOf(m.list[i].env), Occurrence: n}
}

func (m *model) mark(ids []mailbox.ID) {
	var marked []string
	for i := range m.list {
		if slices.Contains(ids, m.id(i)) {
			m.list[i].read = true
			marked = append(marked, m.id(i).Hash)
		}
	}
	if m.retention == mailbox.Keep {
		return
	}
	m.list = slices.DeleteFunc(m.list, func(e modelEntry) bool {
		hash := mailbox.HashOf(e.env)
		return slices.Contains(marked, hash) && !slices.ContainsFunc(m.list, func(o modelEntry) bool {
			return mailbox.HashOf(o.env) == hash && !o.read
		})
	})
}

// check compares a store with the model.
func (m *model) check(t *rapid.T, s mailbox.Store) {
	all, err := s.Entries(t.Context())
	testenv.Must(t, err)
	unread, err := s.Unread(t.Context())
	testenv.Must(t, err)
	if len(all) != len(m.list) {
		t.Fatalf("%d entries, want %d", len(all), len(m.list))
	}
	var want []mailbox.ID
	for i, e := range m.list {
		got := all[i]
		e.env.Read = e.read
		if got.Err != nil || got.ID != m.id(i) || got.Index != i || !got.Envelope.Equal(e.env) {
			t.Fatalf("entry %d: %+v %s, want %+v", i, got.ID, got.Raw, e.env)
		}
		if !e.read {
			want = append(want, m.id(i))
		}
	}
	var got []mailbox.ID
	for _, e := range unread {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("unread %v, want %v", got, want)
	}
}

// Any sequence of appends, markings and fresh openings has the model's result.
func TestStoresFollowTheModel(t *testing.T) {
	if !testenv.Full() {
		testenv.Checks(t, 40, 40)
	}
	stores := map[string]func(dir string, o mailbox.Options) (mailbox.Store, error){
		"memory": func(_ string, o mailbox.Options) (mailbox.Store, error) { return mailbox.NewMemory(o), nil },
	}
	for _, layout := range layouts {
		for _, tier := range tiers {
			stores[layout.String()+"/"+tier.String()] = func(dir string, o mailbox.Options) (mailbox.Store, error) {
				o = o.With(tier, atomicfile.SyncNone)
				return mailbox.Dir{Path: dir, Layout: layout}.Open("tester", o)
			}
		}
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			if strings.HasSuffix(name, atomicfile.TierExchange.String()) {
				needTier(t, atomicfile.TierExchange)
			}
			rapid.Check(t, func(t *rapid.T) {
				o := mailbox.Options{Retention: rapid.SampledFrom([]mailbox.Retention{mailbox.Keep, mailbox.Prune}).Draw(t, "retention")}.With(atomicfile.TierAuto, rapid.SampledFrom([]atomicfile.Sync{atomicfile.SyncNone, atomicfile.SyncNone, atomicfile.SyncData, atomicfile.SyncFull}).Draw(t, "sync"))
				dir, err := os.MkdirTemp("", "waggle-mailbox")
				testenv.Must(t, err)
				defer os.RemoveAll(dir)
				s, err := open(dir, o)
				testenv.Must(t, err)
				m := &model{retention: o.Retention}
				t.Repeat(map[string]func(*rapid.T){
					"append": func(t *rapid.T) {
						var batch []protocol.Envelope
						for range rapid.IntRange(1, 4).Draw(t, "n") {
							e := drawEnvelope(t)
							batch = append(batch, e)
							m.list = append(m.list, modelEntry{e, e.Read})
						}
						testenv.Must(t, s.Append(t.Context(), batch...))
					},
					"mark": func(t *rapid.T) {
						ids := []mailbox.ID{{Hash: "gone", Occurrence: 1}}
						for i := range m.list {
							if rapid.Bool().Draw(t, "mark") {
								ids = append(ids, m.id(i))
							}
						}
						testenv.Must(t, s.MarkRead(t.Context(), ids...))
						m.mark(ids)
					},
					"open again": func(t *rapid.T) {
						if name != "memory" {
							s, err = open(dir, o)
							testenv.Must(t, err)
						}
					},
					"": func(t *rapid.T) { m.check(t, s) },
				})
			})
		})
	}
}

func drawEnvelope(t *rapid.T) protocol.Envelope {
	e := protocol.Envelope{
		From:      rapid.SampledFrom([]string{"a", "b"}).Draw(t, "from"),
		Text:      rapid.OneOf(rapid.SampledFrom([]string{"ok", `"read":false}]`, ""}), rapid.String()).Draw(t, "text"),
		Timestamp: "2026-11-20T18:15:43.000Z",
		Read:      rapid.IntRange(0, 9).Draw(t, "read") == 0,
	}
	if rapid.Bool().Draw(t, "new") {
		e.MsgV, e.Type, e.MsgID = 1, "message", fmt.Sprintf("id-%d", rapid.IntRange(0, 3).Draw(t, "id"))
	}
	return e
}
