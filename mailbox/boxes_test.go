package mailbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle"
	"waggle/internal/testenv"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
)

// team makes a team's directory with files in it and returns its mailboxes.
func team(t testing.TB, files map[string]string) mailbox.Boxes {
	t.Helper()
	b := mailbox.Boxes{Team: t.TempDir()}
	for path, content := range files {
		path = filepath.Join(b.Team, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		put(t, path, content)
	}
	return b
}

func openIn(t testing.TB, b mailbox.Boxes, name waggle.MemberName, o mailbox.Options) *mailbox.Located {
	t.Helper()
	l, err := b.Open(name, o)
	must(t, err)
	return l
}

func migrate(t testing.TB, b mailbox.Boxes, to mailbox.Layout, o mailbox.Options) {
	t.Helper()
	_, err := b.Migrate(t.Context(), to, o)
	must(t, err)
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
	must(t, bob.Append(t.Context(), text("b")))
	must(t, ann.Append(t.Context(), text("c")))
	must(t, bob.MarkRead(t.Context(), unreadOf(t, bob)[0].ID))
	if got := get(t, filepath.Join(b.Team, "mailbox/bob.jsonl")); got != line("b")+"\n" {
		t.Errorf("bob: %q", got)
	}
	validArray(t, get(t, filepath.Join(b.Team, "inboxes/ann.json")))
	names, err := b.Names()
	must(t, err)
	if d := cmp.Diff([]waggle.MemberName{"ann", "bob", "team-lead"}, names); d != "" {
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
	must(t, os.Chmod(filepath.Join(b.Team, "inboxes/bob.json"), 0o644))
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
		must(t, bob.Append(t.Context(), text("a secret "+strings.Repeat("x", 1000))))
	}
	migrate(t, b, mailbox.JSONL, mailbox.Options{})
	files, err := os.ReadDir(filepath.Join(b.Team, "inboxes"))
	must(t, err)
	for _, f := range files {
		if strings.Contains(get(t, filepath.Join(b.Team, "inboxes", f.Name())), "secret") {
			t.Errorf("%s is left", f.Name())
		}
	}
}

// Senders and a receiver work while a team is migrated back and forth: every message arrives once,
// in its sender's order.
func TestMigrateUnderWay(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]"})
	b.Retention = mailbox.Prune
	const senders = 3
	each := testenv.Scale(10, 400)
	var writers, mover sync.WaitGroup
	for s := range senders {
		writers.Go(func() {
			box, err := b.Open("bob", mailbox.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range each {
				e := waggle.Envelope{From: fmt.Sprint(s), Text: fmt.Sprint(i), Timestamp: "t", Summary: strings.Repeat("large ", 300)}
				if err := box.Append(t.Context(), e); err != nil {
					t.Errorf("sender %d, message %d: %v", s, i, err)
					return
				}
			}
		})
	}
	stop := make(chan struct{})
	moves := 0
	mover.Go(func() {
		for {
			for _, to := range []mailbox.Layout{mailbox.JSONL, mailbox.Array} {
				if _, err := b.Migrate(t.Context(), to, mailbox.Options{}); err != nil {
					t.Error(err)
					return
				}
				moves++
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	defer func() {
		writers.Wait()
		close(stop)
		mover.Wait()
		if box := openIn(t, b, "bob", mailbox.Options{}); !t.Failed() && (moves < 2 || len(entriesOf(t, box)) > 0) {
			t.Errorf("%d moves, %d entries left", moves, len(entriesOf(t, box)))
		}
	}()
	box := openIn(t, b, "bob", mailbox.Options{})
	next := map[string]int{}
	seen := map[mailbox.ID]bool{}
	for got := 0; got < senders*each && !t.Failed(); {
		for _, e := range unreadOf(t, box) {
			if seen[e.ID] {
				t.Fatalf("%s of %s comes again", e.Envelope.Text, e.Envelope.From)
			}
			seen[e.ID] = true
			if e.Envelope.Text != fmt.Sprint(next[e.Envelope.From]) {
				t.Fatalf("%s of %s comes where %d should", e.Envelope.Text, e.Envelope.From, next[e.Envelope.From])
			}
			next[e.Envelope.From]++
			got++
			must(t, box.MarkRead(t.Context(), e.ID))
		}
	}
}

// An operation follows a mailbox that is migrated again and again until the deadline of its lock,
// and then fails with an error that says so.
func TestMovedAgainAndAgain(t *testing.T) {
	t.Parallel()
	for moves, deadline := range map[int]time.Duration{30: 0, math.MaxInt: 300 * time.Millisecond} {
		b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + e1 + "]", "mailbox/x": ""})
		array, lines := filepath.Join(b.Team, "inboxes/bob.json"), filepath.Join(b.Team, "mailbox/bob.jsonl")
		moved := 0
		bob := openIn(t, b, "bob", mailbox.Options{Deadline: deadline, Hook: func(step string) {
			if step != "flocked" || moved >= moves {
				return
			}
			if moved++; moved%2 == 1 {
				put(t, lines, e1+"\n")
				must(t, os.Remove(array))
			} else {
				put(t, array, "["+e1+"]")
				must(t, os.Remove(lines))
			}
		}})
		err := bob.Append(t.Context(), text("2"))
		if moves == math.MaxInt {
			if err == nil || !strings.Contains(err.Error(), "moved to another layout") {
				t.Errorf("after %d moves: %v", moved, err)
			}
			continue
		}
		must(t, err)
		if got := len(entriesOf(t, bob)); got != 2 || moved != moves {
			t.Errorf("%d entries after %d moves", got, moved)
		}
	}
}

// An operation that waited for the lock of a file that was moved continues in the new file and
// makes no second mailbox.
func TestMovedWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"append", "mark"} {
		b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + e1 + "," + e2 + "]", "mailbox/x": ""})
		moved := false
		bob := openIn(t, b, "bob", mailbox.Options{Hook: func(step string) {
			if step == "flocked" && !moved {
				moved = true
				put(t, filepath.Join(b.Team, "mailbox/bob.jsonl"), e1+"\n"+e2+"\n")
				must(t, os.Remove(filepath.Join(b.Team, "inboxes/bob.json")))
			}
		}})
		want := []string{"1", "2", "3"}
		if op == "append" {
			must(t, bob.Append(t.Context(), text("3")))
		} else {
			must(t, bob.MarkRead(t.Context(), unreadOf(t, bob)[0].ID))
			want = []string{"2"}
		}
		wantTexts(t, unreadOf(t, bob), want...)
		if _, err := os.Lstat(filepath.Join(b.Team, "inboxes/bob.json")); !errors.Is(err, fs.ErrNotExist) || !moved {
			t.Errorf("%s: a second mailbox: %v", op, err)
		}
	}
}

// An operation that finds no file, because the mailbox is in the other layout at that moment, works
// on the mailbox although it is back when the operation looks again.
func TestMovedThereAndBack(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"append", "mark", "withdraw"} {
		b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + e1 + "," + e2 + "]", "mailbox/x": ""})
		b.Retention = mailbox.Prune
		array, lines := filepath.Join(b.Team, "inboxes/bob.json"), filepath.Join(b.Team, "mailbox/bob.jsonl")
		steps := []string{"flocked", "read"}
		bob := openIn(t, b, "bob", mailbox.Options{Hook: func(step string) {
			if len(steps) == 0 || step != steps[0] {
				return
			}
			if steps = steps[1:]; step == "flocked" {
				put(t, lines, e1+"\n"+e2+"\n")
				must(t, os.Remove(array))
			} else {
				put(t, array, "["+e1+","+e2+"]")
				must(t, os.Remove(lines))
			}
		}})
		want := []string{"2"}
		first := unreadOf(t, bob)[0].ID
		switch op {
		case "append":
			must(t, bob.Append(t.Context(), text("3")))
			want = []string{"1", "2", "3"}
		case "mark":
			must(t, bob.MarkRead(t.Context(), first))
		case "withdraw":
			gone, err := bob.Withdraw(t.Context(), first)
			must(t, err)
			if len(gone) != 1 {
				t.Errorf("withdrawn: %v", gone)
			}
		}
		wantTexts(t, entriesOf(t, bob), want...)
		if len(steps) > 0 {
			t.Errorf("%s: step %s did not come", op, steps[0])
		}
	}
}

// No migration starts while a mailbox's file is made: it would not find the file, and the member
// would have two mailboxes.
func TestMigrateWaitsForNew(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"append", "create"} {
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
				t.Errorf("%s: a migration beside it: %v", op, err)
			}
		}}
		want := []string{}
		if op == "append" {
			must(t, openIn(t, b, "bob", o).Append(t.Context(), text("1")))
			want = append(want, "1")
		} else {
			_, err := b.Create(t.Context(), "bob", o)
			must(t, err)
		}
		if !tried {
			t.Errorf("%s: the step did not come", op)
		}
		migrate(t, b, mailbox.JSONL, mailbox.Options{})
		wantTexts(t, entriesOf(t, openIn(t, b, "bob", mailbox.Options{})), want...)
	}
}
