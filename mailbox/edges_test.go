package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
	"waggle/protocol"
)

// TestEntryLimits: a text and an entry of exactly the limit are taken, one byte more is refused
// with both sizes, and none of the batch is written.
func TestEntryLimits(t *testing.T) {
	with := func(n int) protocol.Envelope { // an entry of n bytes as a line
		e, err := protocol.ParseEnvelope([]byte(`{"from":"a","text":"","timestamp":"t","big":""}`))
		testenv.Must(t, err)
		raw, err := e.MarshalJSON()
		testenv.Must(t, err)
		e, err = protocol.ParseEnvelope([]byte(`{"from":"a","text":"","timestamp":"t","big":"` + strings.Repeat("x", n-len(raw)) + `"}`))
		testenv.Must(t, err)
		if raw, err := e.MarshalJSON(); err != nil || len(raw) != n {
			t.Fatalf("%d bytes, want %d", len(raw), n)
		}
		return e
	}
	for what, c := range map[string]struct {
		e    protocol.Envelope
		want string
	}{
		"a text of the limit":     {text(strings.Repeat("x", protocol.MaxText)), ""},
		"a text beyond it":        {text(strings.Repeat("x", protocol.MaxText+1)), fmt.Sprintf("entry 2: too large: its text has %d bytes, at most %d are allowed", protocol.MaxText+1, protocol.MaxText)},
		"an entry of the limit":   {with(mailbox.MaxEntry), ""},
		"an entry beyond it":      {with(mailbox.MaxEntry + 1), fmt.Sprintf("entry 2: too large: it has %d bytes, at most %d are allowed", mailbox.MaxEntry+1, mailbox.MaxEntry)},
		"a time that is no UTF-8": {protocol.Envelope{From: "a", Timestamp: "\xff"}, ""},
	} {
		b := openLayout(t, mailbox.JSONL, t.TempDir(), mailbox.Options{})
		err := b.Append(t.Context(), text("first"), c.e)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, mailbox.ErrTooLarge) || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%s: %v", what, err)
		}
		want := 0
		if c.want == "" {
			want = 2
		}
		if es := entriesOf(t, b); len(es) != want || want == 2 && es[1].Err != nil {
			t.Errorf("%s: %d entries", what, len(es))
		}
	}
}

// TestFileLimits: a mailbox grows to exactly its largest size.
func TestFileLimits(t *testing.T) {
	size := func(s mailbox.Store) (n int64) {
		for range 3 {
			testenv.Must(t, s.Append(t.Context(), text("x")))
		}
		info, err := os.Stat(s.(*mailbox.Box).Path())
		testenv.Must(t, err)
		return info.Size()
	}(openBox(t, t.TempDir(), mailbox.Options{}))
	for name, open := range map[string]func(mailbox.Options) mailbox.Store{
		"memory": mailbox.NewMemory, "box": func(o mailbox.Options) mailbox.Store { return openBox(t, t.TempDir(), o) },
	} {
		for most, taken := range map[int64]int{size: 3, size - 1: 2, 0: 4, -1: 4} {
			s := open(mailbox.Options{MaxSize: most})
			n := 0
			for range 4 {
				err := s.Append(t.Context(), text("x"))
				if err == nil {
					n++
				} else if !errors.Is(err, mailbox.ErrTooLarge) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if n != taken || len(entriesOf(t, s)) != taken {
				t.Errorf("%s of at most %d bytes took %d, want %d", name, most, n, taken)
			}
		}
	}
}

// TestParseID reads what String writes, and nothing else.
func TestParseID(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for _, n := range []int{1, 2, 1 << 40} {
		id := mailbox.ID{Hash: hash, Occurrence: n}
		if got, err := mailbox.ParseID(id.String()); got != id || err != nil {
			t.Errorf("%v is %v, %v", id, got, err)
		}
	}
	for _, bad := range []string{"", "#", hash, hash + "#", hash + "#0", hash + "#-1", hash + "#01", hash + "#+1", hash + "#1 ", hash + "#1#1", hash[2:] + "#1", hash + "0a#1",
		hash[1:] + "#1", strings.ToUpper(hash) + "#1", "g" + hash[1:] + "#1", "#1", hash + "#99999999999999999999"} {
		if got, err := mailbox.ParseID(bad); err == nil || got != (mailbox.ID{}) || !strings.Contains(err.Error(), "want 64 hex digits") {
			t.Errorf("%q is %v, %v", bad, got, err)
		}
	}
}

// TestTornPatience: an unfinished line is reported when it is older than its writer's lock may be,
// not before, and once; one that has grown has time again.
func TestTornPatience(t *testing.T) {
	const patience = 10 * time.Second
	wrote := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	now := wrote
	b, reports := linesWith(t, "", mailbox.Options{Now: func() time.Time { return now }})
	torn := func(s string) {
		put(t, b.Path(), s)
		testenv.Must(t, os.Chtimes(b.Path(), wrote, wrote))
	}
	reported := func(what string, after time.Duration, want int) {
		t.Helper()
		now = wrote.Add(after)
		wantTexts(t, entriesOf(t, b), "a")
		if len(*reports) != want {
			t.Fatalf("%s: %v", what, *reports)
		}
	}
	torn(line("a") + "\n{")
	reported("at once", 0, 0)
	reported("after its patience", patience, 0)
	reported("a nanosecond later", patience+1, 1)
	reported("and later", time.Hour, 1)
	if r := (*reports)[0]; r.Path != b.Path() || !strings.Contains(r.What, "has not grown for 10s") {
		t.Errorf("%+v", r)
	}
	wrote = wrote.Add(2 * time.Hour)
	torn(line("a") + "\n" + `{"from`)
	reported("grown", 0, 1)
	reported("after its patience again", patience, 1)
	reported("a nanosecond later again", patience+1, 2)
}

// TestEnded: a context that has ended stops every call on every store, and changes nothing.
func TestEnded(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, s := range withdrawers(t) {
		testenv.Must(t, s.Append(t.Context(), text("a"), text("b")))
		before := entriesOf(t, s)
		fresh := text("c")
		_, read := s.Entries(over)
		_, unread := s.Unread(over)
		gone, withdraw := s.(mailbox.Withdrawer).Withdraw(over, before[0].ID)
		_, prompt := mailbox.ReadPrompt(over, s)
		for what, err := range map[string]error{"Entries": read, "Unread": unread, "Withdraw": withdraw, "ReadPrompt": prompt,
			"Append": s.Append(over, fresh), "MarkRead": s.MarkRead(over, before[0].ID)} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
		if err := s.Append(over); err != nil {
			t.Errorf("%s: nothing to append: %v", name, err)
		}
		if after := entriesOf(t, s); gone != nil || !slices.Equal(textsOf(after), []string{"a", "b"}) || after[0].Envelope.Read {
			t.Errorf("%s: %v withdrawn, %v there", name, gone, after)
		}
	}
}

// TestNothingThere: the operations on a mailbox without a file succeed and create none.
func TestNothingThere(t *testing.T) {
	dir := t.TempDir()
	b := openBox(t, dir, mailbox.Options{})
	id := mailbox.ID{Hash: "h", Occurrence: 1}
	testenv.Must(t, b.MarkRead(t.Context(), id))
	testenv.Must(t, b.MarkRead(t.Context()))
	for _, ids := range [][]mailbox.ID{nil, {id}} {
		if gone, err := b.Withdraw(t.Context(), ids...); gone != nil || err != nil {
			t.Errorf("%v, %v", gone, err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("made %v", files)
	}
	if got, err := (mailbox.Dir{Path: dir}).Names(); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	file := filepath.Join(dir, "file")
	put(t, file, "")
	if got, err := (mailbox.Dir{Path: file}).Names(); got != nil || err == nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestProblemsAreBounded: a thousand problems are reported, and no more.
func TestProblemsAreBounded(t *testing.T) {
	for n, want := range map[int]int{999: 999, 1000: 1000, 1001: 1000} {
		if got := mailbox.Validate([]byte("[1" + strings.Repeat(",1", n-1) + "]")); len(got) != want {
			t.Errorf("%d of %d", len(got), n)
		}
	}
}

// TestMigrateNothing: a second migration has nothing to do, and a team that is no directory is an
// error.
func TestMigrateNothing(t *testing.T) {
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + e1 + "]"})
	for range 2 {
		if changed, err := b.Migrate(t.Context(), mailbox.Array, mailbox.Options{}); changed || err != nil {
			t.Errorf("to what it is: %v, %v", changed, err)
		}
	}
	changed, err := b.Migrate(t.Context(), mailbox.JSONL, mailbox.Options{})
	if !changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if changed, err := b.Migrate(t.Context(), mailbox.JSONL, mailbox.Options{}); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	for what, dir := range map[string]string{"none": filepath.Join(b.Team, "none"), "a file": filepath.Join(b.Team, "mailbox", "bob.jsonl")} {
		if changed, err := (mailbox.Boxes{Team: dir}).Migrate(t.Context(), mailbox.Array, mailbox.Options{}); changed || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", what, changed, err)
		}
	}
}

// TestMigrateUnderTheTeamsLock: a migration runs while its caller holds the lock of config.json.
func TestMigrateUnderTheTeamsLock(t *testing.T) {
	b := team(t, map[string]string{"config.json": "{}", "inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + e1 + "]"})
	release, err := atomicfile.Lock(t.Context(), filepath.Join(b.Team, "config.json"), atomicfile.Options{Rank: atomicfile.RankConfig})
	testenv.Must(t, err)
	migrate(t, b, mailbox.JSONL, mailbox.Options{})
	testenv.Must(t, release())
	wantTexts(t, entriesOf(t, openIn(t, b, "bob", mailbox.Options{})), "1")
}

// TestRepairIsPatient: a broken file is looked at four times under its lock before it is repaired,
// because its writer may not have finished.
func TestRepairIsPatient(t *testing.T) {
	looks := 0
	b, reports := boxWith(t, "["+e1+",", mailbox.Options{Hook: func(step string) {
		if step == "locked" {
			looks++
		}
	}})
	testenv.Must(t, b.Append(t.Context(), text("x")))
	if looks != 4 || len(*reports) != 1 {
		t.Errorf("locked %d times, want 4; %v", looks, *reports)
	}
	wantTexts(t, entriesOf(t, b), "1", "x")
}

// TestRepairIsNotAnAppend: an append to a broken file that the limits refuse once it can be counted
// is refused, and the file stays as it was.
func TestRepairIsNotAnAppend(t *testing.T) {
	broken := "[" + e1 + ","
	b, reports := boxWith(t, broken, mailbox.Options{Limits: mailbox.Limits{Count: 1}})
	refused, ok := errors.AsType[*mailbox.LimitError](b.Append(t.Context(), text("x")))
	if !ok || refused.What != "Count" || refused.Have != 2 {
		t.Errorf("%+v", refused)
	}
	if got := get(t, b.Path()); got != broken || len(*reports) != 0 {
		t.Errorf("the file is %q, reports %v", got, *reports)
	}
}

// TestOnceMeanwhile: many that put a message there at once leave it there once, each by a handle of its own.
func TestOnceMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		box := openBox(t, dir, mailbox.Options{})
		all.Go(func() {
			for n := range 5 {
				if err := mailbox.AppendOnce(context.Background(), box, mailboxtest.Message(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(entriesOf(t, openBox(t, dir, mailbox.Options{}))); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
}

// TestOnceElsewhere: a store of another program, which cannot compare under its lock, is read before.
func TestOnceElsewhere(t *testing.T) {
	s := struct{ mailbox.Store }{mailbox.NewMemory(mailbox.Options{})}
	one, other := mailboxtest.Message(1), mailboxtest.Message(2)
	for range 2 {
		testenv.Must(t, mailbox.AppendOnce(t.Context(), s, one, other))
	}
	wantTexts(t, entriesOf(t, s), one.Text, other.Text)
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := mailbox.AppendOnce(over, s, one); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
