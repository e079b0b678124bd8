package mailbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
	"waggle/protocol"
)

// team makes a team's directory with files in it and returns its mailboxes.
func team(t testing.TB, files map[string]string) mailbox.Boxes {
	t.Helper()
	b := mailbox.Boxes{Team: t.TempDir()}
	for path, content := range files {
		path = filepath.Join(b.Team, path)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		put(t, path, content)
	}
	return b
}

func openIn(t testing.TB, b mailbox.Boxes, name protocol.MemberName, o mailbox.Options) *mailbox.Located {
	t.Helper()
	l, err := b.Open(name, o)
	testenv.Must(t, err)
	return l
}

func migrate(t testing.TB, b mailbox.Boxes, to mailbox.Layout, o mailbox.Options) {
	t.Helper()
	_, err := b.Migrate(t.Context(), to, o)
	testenv.Must(t, err)
}

func TestLocatedConformance(t *testing.T) {
	t.Parallel()
	mailboxtest.Run(t, func(t *testing.T, o mailbox.Options) mailbox.Store {
		b := team(t, nil)
		b.Retention = o.Retention
		return openIn(t, b, "tester", o)
	})
}

// The mailbox is the file that exists; a new one gets the lead's layout.
func TestLocated(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "mailbox/bob.jsonl": line("a") + "\n"})
	bob, ann := openIn(t, b, "bob", mailbox.Options{}), openIn(t, b, "ann", mailbox.Options{})
	testenv.Must(t, bob.Append(t.Context(), text("b")))
	testenv.Must(t, ann.Append(t.Context(), text("c")))
	testenv.Must(t, bob.MarkRead(t.Context(), unreadOf(t, bob)[0].ID))
	if got := get(t, filepath.Join(b.Team, "mailbox/bob.jsonl")); got != line("b")+"\n" {
		t.Errorf("bob: %q", got)
	}
	validArray(t, get(t, filepath.Join(b.Team, "inboxes/ann.json")))
	names, err := b.Names()
	testenv.Must(t, err)
	if d := cmp.Diff([]protocol.MemberName{"ann", "bob", "team-lead"}, names); d != "" {
		t.Error(d)
	}
	if _, err := b.Open("../x", mailbox.Options{}); err == nil {
		t.Error("opened a bad name")
	}
	gone := mailbox.Boxes{Team: filepath.Join(b.Team, "nowhere")}
	if err := openIn(t, gone, "bob", mailbox.Options{}).Append(t.Context(), text("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a team that is gone: %v", err)
	}
}

// Messages in both layouts are an error that names the next step; a migration merges them. An empty
// second file is reported once and changes nothing.
func TestBothLayouts(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{
		"inboxes/bob.json": "[" + e1 + "," + e2 + "]", "mailbox/bob.jsonl": line("x") + "\n" + e1 + "\n",
		"inboxes/ann.json": "[]", "mailbox/ann.jsonl": line("x") + "\n",
	})
	bob := openIn(t, b, "bob", mailbox.Options{})
	_, err1 := bob.Entries(t.Context())
	_, err2 := bob.Unread(t.Context())
	for i, err := range []error{err1, err2, bob.Append(t.Context(), text("y")), bob.MarkRead(t.Context(), mailbox.ID{Hash: "x", Occurrence: 1})} {
		var mixed *mailbox.MixedError
		if !errors.As(err, &mixed) || !strings.Contains(err.Error(), "waggle team migrate") {
			t.Errorf("call %d: %v", i, err)
		}
	}
	var reports []mailbox.Report
	ann := openIn(t, b, "ann", mailbox.Options{Report: func(r mailbox.Report) { reports = append(reports, r) }})
	for range 2 {
		wantTexts(t, unreadOf(t, ann), "x")
	}
	if len(reports) != 1 || reports[0].Path != filepath.Join(b.Team, "inboxes/ann.json") {
		t.Errorf("reports: %v", reports)
	}
	for _, to := range layouts {
		migrate(t, b, to, mailbox.Options{})
		wantTexts(t, entriesOf(t, bob), "1", "2", "x")
		wantTexts(t, entriesOf(t, ann), "x")
		if l, err := bob.Layout(); l != to || err != nil {
			t.Errorf("layout %v, %v, want %v", l, err, to)
		}
	}
}

// A migration keeps order, read flags, foreign keys, unreadable entries and file modes; a torn line
// goes to quarantine.
func TestMigrate(t *testing.T) {
	t.Parallel()
	foreign := "{\"lead_sig\":\"\\u0073\",\n\t\"from\" : \"f\",\"text\":\"a  b\",\"timestamp\":\"t\",\"n\":1.0,\"read\":true}"
	flat := `{"lead_sig":"\u0073","from":"f","text":"a  b","timestamp":"t","n":1.0,"read":true}`
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + foreign + ",null," + e1 + "," + e1 + "]"})
	testenv.Must(t, os.Chmod(filepath.Join(b.Team, "inboxes/bob.json"), 0o644))
	var reports []mailbox.Report
	o := mailbox.Options{Report: func(r mailbox.Report) { reports = append(reports, r) }}
	bob := openIn(t, b, "bob", o)
	before := entriesOf(t, bob)
	same := func() {
		t.Helper()
		after := entriesOf(t, bob)
		if len(after) != len(before) {
			t.Fatalf("%d entries, want %d", len(after), len(before))
		}
		for i := range after {
			if after[i].ID != before[i].ID || after[i].Envelope.Read != before[i].Envelope.Read {
				t.Errorf("entry %d: %v, want %v", i, after[i], before[i])
			}
		}
	}
	migrate(t, b, mailbox.JSONL, o)
	same()
	path := filepath.Join(b.Team, "mailbox/bob.jsonl")
	if got := get(t, path); got != flat+"\nnull\n"+e1+"\n"+e1+"\n" {
		t.Errorf("lines: %q", got)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if changed, err := b.Migrate(t.Context(), mailbox.JSONL, o); err != nil || changed {
		t.Errorf("again: changed %v, %v", changed, err)
	}
	same()
	put(t, path, get(t, path)+`{"from":`)
	migrate(t, b, mailbox.Array, o)
	same()
	if len(reports) != 1 || get(t, reports[0].Quarantine) != `{"from":` {
		t.Errorf("reports: %v", reports)
	}
	for _, left := range []string{".layout", "mailbox/bob.jsonl", "mailbox/team-lead.jsonl"} {
		if _, err := os.Lstat(filepath.Join(b.Team, left)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
	if _, err := (mailbox.Boxes{Team: filepath.Join(b.Team, "nowhere")}).Migrate(t.Context(), mailbox.JSONL, o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a team that is gone: %v", err)
	}
}

// A migration leaves no content in the old file.
func TestMigrateLeavesNothing(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]"})
	bob := openIn(t, b, "bob", mailbox.Options{})
	for range 20 {
		testenv.Must(t, bob.Append(t.Context(), text("a secret "+strings.Repeat("x", 1000))))
	}
	migrate(t, b, mailbox.JSONL, mailbox.Options{})
	files, err := os.ReadDir(filepath.Join(b.Team, "inboxes"))
	testenv.Must(t, err)
	for _, f := range files {
		if strings.Contains(get(t, filepath.Join(b.Team, "inboxes", f.Name())), "secret") {
			t.Errorf("%s is left", f.Name())
		}
	}
}

// TestMigrateBesideSenders: commands that send while a team that is down is moved back and forth wait: every message is
// there once, in its sender's order.
func TestMigrateBesideSenders(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]"})
	const senders = 3
	each := testenv.Scale(10, 400)
	var writers sync.WaitGroup
	for s := range senders {
		writers.Go(func() {
			for i := range each {
				box, err := b.Open("bob", mailbox.Options{Deadline: time.Minute})
				if err == nil {
					err = box.Append(t.Context(), protocol.Envelope{From: fmt.Sprint(s), Text: fmt.Sprint(i), Timestamp: "t", Summary: strings.Repeat("large ", 300)})
				}
				if err != nil {
					t.Errorf("sender %d, message %d: %v", s, i, err)
					return
				}
			}
		})
	}
	sent := make(chan struct{})
	go func() { writers.Wait(); close(sent) }()
	for done := false; !done; {
		select {
		case <-sent:
			done = true
		default:
		}
		for _, to := range []mailbox.Layout{mailbox.JSONL, mailbox.Array} {
			migrate(t, b, to, mailbox.Options{Deadline: time.Minute})
		}
	}
	next := map[string]int{}
	for _, e := range entriesOf(t, openIn(t, b, "bob", mailbox.Options{})) {
		if e.Envelope.Text != fmt.Sprint(next[e.Envelope.From]) {
			t.Fatalf("%s of %s comes where %d should", e.Envelope.Text, e.Envelope.From, next[e.Envelope.From])
		}
		next[e.Envelope.From]++
	}
	for s := range senders {
		if next[fmt.Sprint(s)] != each && !t.Failed() {
			t.Errorf("%d of %d messages of sender %d", next[fmt.Sprint(s)], each, s)
		}
	}
}

// TestMovedWhileWaiting: an append that waited for the lock of a file that was moved continues in the new file and makes no
// second mailbox.
func TestMovedWhileWaiting(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + e1 + "," + e2 + "]", "mailbox/x": ""})
	moved := false
	bob := openIn(t, b, "bob", mailbox.Options{Hook: func(step string) {
		if step == "flocked" && !moved {
			moved = true
			put(t, filepath.Join(b.Team, "mailbox/bob.jsonl"), e1+"\n"+e2+"\n")
			testenv.Must(t, os.Remove(filepath.Join(b.Team, "inboxes/bob.json")))
		}
	}})
	testenv.Must(t, bob.Append(t.Context(), text("3")))
	wantTexts(t, unreadOf(t, bob), "1", "2", "3")
	if _, err := os.Lstat(filepath.Join(b.Team, "inboxes/bob.json")); !errors.Is(err, fs.ErrNotExist) || !moved {
		t.Errorf("a second mailbox: %v", err)
	}
}

// No migration starts while a mailbox's file is made: it would not find the file, and the member
// would have two mailboxes.
func TestMigrateWaitsForNew(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]"})
	tried := false
	o := mailbox.Options{Hook: func(step string) {
		if _, err := os.Lstat(filepath.Join(b.Team, "inboxes/bob.json")); step != "temp-written" || tried || err == nil {
			return
		}
		tried = true
		said := make(chan error)
		go func() {
			_, err := b.Migrate(t.Context(), mailbox.JSONL, mailbox.Options{Deadline: 50 * time.Millisecond})
			said <- err
		}()
		var held *mailbox.LockedError
		if err := <-said; !errors.As(err, &held) {
			t.Errorf("a migration beside it: %v", err)
		}
	}}
	testenv.Must(t, openIn(t, b, "bob", o).Append(t.Context(), text("1")))
	if !tried {
		t.Error("the step did not come")
	}
	migrate(t, b, mailbox.JSONL, mailbox.Options{})
	wantTexts(t, entriesOf(t, openIn(t, b, "bob", mailbox.Options{})), "1")
}
