// Package mailboxtest is the suite that every implementation of mailbox.Store
// passes:
//
//	mailboxtest.Run(t, func(t *testing.T, o mailbox.Options) mailbox.Store { return mailbox.NewMemory(o) })
package mailboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// Open makes a fresh, empty store with these options for one test.
type Open func(t *testing.T, o mailbox.Options) mailbox.Store

// Run checks one implementation.
func Run(t *testing.T, open Open) {
	for _, tt := range []struct {
		name string
		f    func(*testing.T, Open)
	}{
		{"empty", testEmpty},
		{"append keeps order and batch", testAppend},
		{"what was written is read", testRoundTrip},
		{"foreign keys survive", testForeignKeys},
		{"twins are two", testTwins},
		{"once", testOnce},
		{"keep", testKeep},
		{"prune", testPrune},
		{"prune keeps the identity of twins", testPruneTwins},
		{"ids that are gone are ignored", testGone},
		{"limits", testLimits},
		{"limits of what waits", testWaiting},
		{"context", testContext},
		{"results are the caller's", testOwnership},
		{"concurrent use", testConcurrent},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.f(t, open) })
	}
}

// Message is an envelope as waggle writes it, numbered.
func Message(n int) protocol.Envelope {
	return protocol.Envelope{
		From: "tester", Text: fmt.Sprintf("message %d", n), Summary: "a test",
		Timestamp: fmt.Sprintf("2026-11-20T18:15:43.%03dZ", n%1000), Color: "blue",
		MsgV: 1, MsgID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n), Type: "message",
	}
}

// Texts returns the texts of entries and fails on one that cannot be read.
func Texts(t testing.TB, entries []mailbox.Entry) []string {
	t.Helper()
	texts := []string{}
	for _, e := range entries {
		if e.Err != nil {
			t.Fatalf("entry %d: %v", e.Index, e.Err)
		}
		texts = append(texts, e.Envelope.Text)
	}
	return texts
}

func entries(t testing.TB, s mailbox.Store) []mailbox.Entry {
	t.Helper()
	return testenv.Value(s.Entries(t.Context()))(t)
}

func unread(t testing.TB, s mailbox.Store) []mailbox.Entry {
	t.Helper()
	return testenv.Value(s.Unread(t.Context()))(t)
}

func want(t testing.TB, got []mailbox.Entry, texts ...string) {
	t.Helper()
	if texts == nil {
		texts = []string{}
	}
	if d := cmp.Diff(texts, Texts(t, got)); d != "" {
		t.Fatalf("texts (-want +got):\n%s", d)
	}
}

func text(s string) protocol.Envelope {
	return protocol.Envelope{From: "tester", Text: s, Timestamp: "2026-11-20T18:15:43.000Z"}
}

func testEmpty(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	want(t, entries(t, s))
	want(t, unread(t, s))
	testenv.Must(t, s.Append(t.Context()))
	testenv.Must(t, s.MarkRead(t.Context()))
	testenv.Must(t, s.MarkRead(t.Context(), mailbox.ID{Hash: strings.Repeat("0", 64), Occurrence: 1}))
	want(t, entries(t, s))
}

func testAppend(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	testenv.Must(t, s.Append(t.Context(), text("a")))
	testenv.Must(t, s.Append(t.Context(), text("b"), text("c"), text("d")))
	testenv.Must(t, s.Append(t.Context(), text("e")))
	list := entries(t, s)
	want(t, list, "a", "b", "c", "d", "e")
	for i, e := range list {
		if e.Index != i {
			t.Errorf("entry %d has index %d", i, e.Index)
		}
	}
	want(t, unread(t, s), "a", "b", "c", "d", "e")
}

func testRoundTrip(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	odd := []string{
		"", "plain", `"read":false ] } \`, "line\nbreak\ttab\x00nul\x7f", "<>&\u2028\u2029", "héllo 世界 🐝",
		`{"type":"shutdown_request","requestId":"x"}`, strings.Repeat("long ", 20_000),
	}
	for i, s := range odd {
		odd[i] = strings.ToValidUTF8(s, "?")
	}
	var sent []protocol.Envelope
	for i, s := range odd {
		e := Message(i)
		e.Text = s
		sent = append(sent, e)
	}
	testenv.Must(t, s.Append(t.Context(), sent...))
	list := entries(t, s)
	want(t, list, odd...)
	for i, e := range list {
		if !e.Envelope.Equal(sent[i]) {
			t.Errorf("entry %d: %s", i, e.Raw)
		}
		if e.ID.Hash != mailbox.HashOf(sent[i]) || e.ID.Occurrence != 1 {
			t.Errorf("entry %d: id %v", i, e.ID)
		}
		if id, err := mailbox.ParseID(e.ID.String()); err != nil || id != e.ID {
			t.Errorf("id %v: parsed %v, %v", e.ID, id, err)
		}
		if !json.Valid(e.Raw) {
			t.Errorf("entry %d: raw bytes are not JSON", i)
		}
	}
}

func testForeignKeys(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	foreign, err := protocol.ParseEnvelope([]byte(`{"lead_sig":"x","from":"a","metadata":{"read":false},"text":"t","timestamp":"2026-11-20T18:15:43.000Z","read":false}`))
	testenv.Must(t, err)
	testenv.Must(t, s.Append(t.Context(), foreign))
	testenv.Must(t, s.MarkRead(t.Context(), entries(t, s)[0].ID))
	e := entries(t, s)[0]
	if raw, ok := e.Envelope.Member("metadata"); !ok || !strings.Contains(string(raw), "false") {
		t.Errorf("metadata: %s", raw)
	}
	if raw, ok := e.Envelope.Member("lead_sig"); !ok || string(raw) != `"x"` {
		t.Errorf("lead_sig: %s", raw)
	}
	if !e.Envelope.Read {
		t.Error("not read")
	}
}

func testTwins(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	testenv.Must(t, s.Append(t.Context(), text("ok"), text("other"), text("ok")))
	testenv.Must(t, s.Append(t.Context(), text("ok")))
	var got []int
	for _, e := range entries(t, s) {
		if e.ID.Hash == mailbox.HashOf(text("ok")) {
			got = append(got, e.ID.Occurrence)
		}
	}
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("occurrences %v", got)
	}
}

// testOnce: a message that is put there again is there once, as long as it has an id; what is alike in all but its id is
// another message.
func testOnce(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	one, other, nameless := Message(1), Message(1), text("a")
	other.MsgID = Message(2).MsgID
	testenv.Must(t, s.Append(t.Context(), one))
	for range 2 {
		testenv.Must(t, mailbox.AppendOnce(t.Context(), s, one, other))
	}
	want(t, entries(t, s), one.Text, other.Text)
	testenv.Must(t, s.MarkRead(t.Context(), entries(t, s)[0].ID))
	testenv.Must(t, mailbox.AppendOnce(t.Context(), s, nameless, one, nameless))
	want(t, entries(t, s), one.Text, other.Text, "a", "a")
	testenv.Must(t, mailbox.AppendOnce(t.Context(), s, nameless, Message(3), one))
	want(t, entries(t, s), one.Text, other.Text, "a", "a", "a", Message(3).Text)
	testenv.Must(t, s.Append(t.Context(), one)) // a second copy is possible, where it is wanted
	want(t, entries(t, s)[6:], one.Text)
	testenv.Must(t, mailbox.AppendOnce(t.Context(), s))
}

func testKeep(t *testing.T, open Open) {
	s := open(t, mailbox.Options{Retention: mailbox.Keep})
	testenv.Must(t, s.Append(t.Context(), text("a"), text("b"), text("b"), text("c")))
	before := entries(t, s)
	testenv.Must(t, s.MarkRead(t.Context(), before[0].ID, before[2].ID))
	want(t, unread(t, s), "b", "c")
	after := entries(t, s)
	want(t, after, "a", "b", "b", "c")
	for i := range after {
		if after[i].ID != before[i].ID || after[i].Envelope.Read != (i == 0 || i == 2) {
			t.Errorf("entry %d: id %v, read %v", i, after[i].ID, after[i].Envelope.Read)
		}
	}
	testenv.Must(t, s.MarkRead(t.Context(), before[0].ID)) // again
	testenv.Must(t, s.Append(t.Context(), text("d")))
	want(t, unread(t, s), "b", "c", "d")
}

func testPrune(t *testing.T, open Open) {
	s := open(t, mailbox.Options{Retention: mailbox.Prune})
	all := []string{"a", "b", "c", "d", "e", "f"}
	for _, x := range all {
		testenv.Must(t, s.Append(t.Context(), text(x)))
	}
	list := entries(t, s)
	testenv.Must(t, s.MarkRead(t.Context(), list[0].ID, list[2].ID, list[3].ID, list[5].ID))
	want(t, entries(t, s), "b", "e")
	testenv.Must(t, s.Append(t.Context(), text("g")))
	want(t, entries(t, s), "b", "e", "g")
	for _, e := range entries(t, s) {
		testenv.Must(t, s.MarkRead(t.Context(), e.ID))
	}
	want(t, entries(t, s))
	testenv.Must(t, s.Append(t.Context(), text("h")))
	want(t, entries(t, s), "h")
}

func testPruneTwins(t *testing.T, open Open) {
	s := open(t, mailbox.Options{Retention: mailbox.Prune})
	testenv.Must(t, s.Append(t.Context(), text("ok"), text("x"), text("ok")))
	list := entries(t, s)
	testenv.Must(t, s.MarkRead(t.Context(), list[0].ID))
	rest := unread(t, s)
	want(t, rest, "x", "ok")
	if rest[1].ID != list[2].ID {
		t.Errorf("the second ok was %v and is %v", list[2].ID, rest[1].ID)
	}
	testenv.Must(t, s.MarkRead(t.Context(), rest[1].ID))
	want(t, entries(t, s), "x")
}

func testGone(t *testing.T, open Open) {
	for _, r := range []mailbox.Retention{mailbox.Keep, mailbox.Prune} {
		s := open(t, mailbox.Options{Retention: r})
		testenv.Must(t, s.Append(t.Context(), text("a")))
		id := entries(t, s)[0].ID
		testenv.Must(t, s.MarkRead(t.Context(), mailbox.ID{Hash: id.Hash, Occurrence: 2}, mailbox.ID{Hash: "x", Occurrence: 1}))
		want(t, unread(t, s), "a")
	}
}

func testLimits(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	testenv.Must(t, s.Append(t.Context(), text("a")))
	big := text(strings.Repeat("x", protocol.MaxText+1))
	if err := s.Append(t.Context(), text("fine"), big); !errors.Is(err, mailbox.ErrTooLarge) {
		t.Errorf("a text over the limit: %v", err)
	}
	want(t, entries(t, s), "a")
	big.Text = big.Text[1:]
	testenv.Must(t, s.Append(t.Context(), big))
	if e := entries(t, s)[1]; e.Err != nil || len(e.Envelope.Text) != protocol.MaxText {
		t.Errorf("a text at the limit: %d bytes, %v", len(e.Envelope.Text), e.Err)
	}
}

// at is a message of a sender at a time after the start of the test's clock.
func at(from string, n int, after time.Duration) protocol.Envelope {
	return protocol.Envelope{From: from, Text: fmt.Sprint("message ", n), Timestamp: protocol.FormatTime(start.Add(after))}
}

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// testWaiting: a store refuses a batch that goes over a limit whole, and the error names the limit.
// Control messages are not refused. Reading makes room.
func testWaiting(t *testing.T, open Open) {
	now := start
	size := int64(len(at("a", 0, 0).AppendJSON(nil))) + 16
	for name, c := range map[string]struct {
		limits mailbox.Limits
		what   string
		room   bool // for another sender
	}{
		"count":        {mailbox.Limits{Count: 5}, "Count", false},
		"bytes":        {mailbox.Limits{Bytes: 6*size - 1}, "Bytes", false},
		"sender count": {mailbox.Limits{SenderCount: 5}, "SenderCount", true},
		"sender bytes": {mailbox.Limits{SenderBytes: 6*size - 1}, "SenderBytes", true},
		"rate":         {mailbox.Limits{Rate: 5}, "Rate", true},
	} {
		t.Run(name, func(t *testing.T) {
			o := mailbox.Options{Limits: c.limits}
			o.Now = func() time.Time { return now }
			s := open(t, o)
			full := func(from string) *mailbox.LimitError {
				t.Helper()
				for n := range 100 {
					err := s.Append(t.Context(), at(from, n, 0))
					var over *mailbox.LimitError
					if errors.As(err, &over) {
						return over
					}
					testenv.Must(t, err)
				}
				t.Fatal("there is no limit")
				return nil
			}
			over := full("a")
			if over.What != c.what || over.Have <= over.Max || over.Error() == "" || (over.Sender == "a") != c.room {
				t.Fatalf("refused with %+v", over)
			}
			have := len(entries(t, s))
			if err := s.Append(t.Context(), at("b", 1, 0)); (err == nil) != c.room {
				t.Errorf("another sender: %v", err)
			} else if err == nil {
				have++
			}
			shutdown := at("a", 0, 0)
			shutdown.Text = `{"type":"shutdown_request","requestId":"s@bob","from":"team-lead"}`
			testenv.Must(t, s.Append(t.Context(), shutdown))
			if got := len(entries(t, s)); got != have+1 {
				t.Fatalf("%d entries, want %d", got, have+1)
			}
			if err := s.Append(t.Context(), shutdown, at("a", 99, 0)); err == nil {
				t.Error("words were taken together with control")
			}
			for _, e := range unread(t, s) {
				testenv.Must(t, s.MarkRead(t.Context(), e.ID))
			}
			later := at("a", 100, 2*mailbox.RateWindow)
			now = now.Add(2 * mailbox.RateWindow)
			testenv.Must(t, s.Append(t.Context(), later))
			want(t, unread(t, s), "message 100")
			now = start
		})
	}
	s := open(t, mailbox.Options{Limits: mailbox.Limits{Entry: 300}})
	var over *mailbox.LimitError
	if err := s.Append(t.Context(), text("fine"), text(strings.Repeat("x", 300))); !errors.As(err, &over) || over.What != "Entry" {
		t.Errorf("a large entry: %v", err)
	}
	want(t, entries(t, s))
}

func testContext(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	testenv.Must(t, s.Append(t.Context(), text("a")))
	id := entries(t, s)[0].ID
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err1 := s.Entries(ctx)
	_, err2 := s.Unread(ctx)
	for i, err := range []error{err1, err2, s.Append(ctx, text("b")), s.MarkRead(ctx, id)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	want(t, unread(t, s), "a")
}

func testOwnership(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	testenv.Must(t, s.Append(t.Context(), text("a"), text("b")))
	list := entries(t, s)
	list[0], list[1] = list[1], mailbox.Entry{}
	_ = append(list[:1], mailbox.Entry{})
	want(t, entries(t, s), "a", "b")
	fresh := unread(t, s)
	fresh[0] = mailbox.Entry{}
	want(t, unread(t, s), "a", "b")
}

func testConcurrent(t *testing.T, open Open) {
	s := open(t, mailbox.Options{})
	const writers = 6
	const each = 20
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for n := 0; ; {
			select {
			case <-stop:
				return
			default:
			}
			list, err := s.Entries(context.Background())
			if err != nil || len(list) < n {
				t.Errorf("%d entries after %d: %v", len(list), n, err)
				return
			}
			n = len(list)
		}
	})
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := s.Append(context.Background(), text(fmt.Sprintf("%d.%d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() { // a receiver
		for range each {
			list, err := s.Unread(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range list {
				if err := s.MarkRead(context.Background(), e.ID); err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
	close(stop)
	reader.Wait()
	next := map[string]int{}
	for _, x := range Texts(t, entries(t, s)) {
		w, i, _ := strings.Cut(x, ".")
		if fmt.Sprint(next[w]) != i {
			t.Fatalf("writer %s: %s comes where %d should", w, i, next[w])
		}
		next[w]++
	}
	for w := range writers {
		if next[fmt.Sprint(w)] != each {
			t.Errorf("writer %d: %d of %d", w, next[fmt.Sprint(w)], each)
		}
	}
}
