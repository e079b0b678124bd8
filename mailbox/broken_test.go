package mailbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

const (
	e1 = `{"from":"a","text":"1","timestamp":"t","read":false}`
	e2 = `{"from":"a","text":"2","timestamp":"t","read":false}`
)

var broken = map[string]struct {
	file string
	kept []string
	left string // the content after a repair and nothing else
}{
	"cut in an entry":    {"[\n  " + e1 + ",\n  " + e2[:30], []string{"1"}, "[\n  " + e1 + "\n]"},
	"cut behind a comma": {"[" + e1 + ",", []string{"1"}, "[" + e1 + "\n]"},
	"cut behind entries": {"[" + e1 + "," + e2, []string{"1", "2"}, "[" + e1 + "," + e2 + "\n]"},
	"cut at the start":   {"[", nil, "[]"},
	"old tail":           {"[" + e1 + "]ead\":false}]", []string{"1"}, "[" + e1 + "\n]"},
	"two arrays":         {"[" + e1 + "][" + e2 + "]", []string{"1"}, "[" + e1 + "\n]"},
	"zeroed tail":        {"[" + e1 + ",\x00\x00\x00\x00", []string{"1"}, "[" + e1 + "\n]"},
	"bad in the middle":  {"[" + e1 + ",{\"from\":nope}," + e2 + "]", []string{"1"}, "[" + e1 + "\n]"},
	"trailing comma":     {"[" + e1 + ",]", []string{"1"}, "[" + e1 + "\n]"},
	"control character":  {"[" + e1 + ",\"\n\"]", []string{"1"}, "[" + e1 + "\n]"},
	"not an array":       {`{}`, nil, "[]"},
	"an object of some":  {`{"messages":[` + e1 + `]}`, nil, "[]"},
	"words":              {"hello", nil, "[]"},
	"white space":        {" \n", nil, "[]"},
	"zeroes":             {"\x00\x00\x00", nil, "[]"},
	"UTF-16":             {"\xff\xfe[\x00]\x00", nil, "[]"},
	"empty":              {"", nil, "[]"},
}

// Every operation that meets a broken file keeps the readable entries and a copy of the whole file,
// and reports it.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for name, c := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(b *mailbox.Box, reports []mailbox.Report) {
				t.Helper()
				if len(reports) != 1 || reports[0].Path != b.Path() || reports[0].What == "" {
					t.Fatalf("reports %v", reports)
				}
				files := quarantined(t, b)
				if c.file == "" {
					if len(files) > 0 || reports[0].Quarantine != "" {
						t.Errorf("an empty file in quarantine: %q", files)
					}
					return
				}
				if len(files) != 1 || files[0] != c.file || get(t, reports[0].Quarantine) != c.file {
					t.Errorf("quarantine %q", files)
				}
			}
			for _, tier := range []atomicfile.Tier{atomicfile.TierAuto, atomicfile.TierRename} {
				o := mailbox.Options{}.With(tier, atomicfile.SyncNone)

				b, reports := boxWith(t, c.file, o)
				wantTexts(t, entriesOf(t, b), c.kept...)
				if got := get(t, b.Path()); got != c.left {
					t.Errorf("left %q, want %q", got, c.left)
				}
				check(b, *reports)
				wantTexts(t, entriesOf(t, b), c.kept...) // and the file is valid now
				check(b, *reports)

				b, reports = boxWith(t, c.file, o)
				testenv.Must(t, b.Append(t.Context(), text("new")))
				wantTexts(t, entriesOf(t, b), append(c.kept[:len(c.kept):len(c.kept)], "new")...)
				check(b, *reports)

				b, reports = boxWith(t, c.file, o)
				id := mailbox.ID{Hash: mailbox.HashOf(protocol.Envelope{From: "a", Text: "1", Timestamp: "t"}), Occurrence: 1}
				testenv.Must(t, b.MarkRead(t.Context(), id))
				for _, e := range entriesOf(t, b) {
					if e.Envelope.Read != (e.ID == id) {
						t.Errorf("entry %q: read %v", e.Envelope.Text, e.Envelope.Read)
					}
				}
				check(b, *reports)
			}
		})
	}
}

// A file that is broken only while a program writes it is not repaired.
func TestTornFileIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, torn := range []string{"", "[" + e1[:20], "[" + e1 + ","} {
		var path string
		b, reports := boxWith(t, torn, mailbox.Options{Hook: func(s string) {
			if s == "torn" { // the writer goes on after the first look
				testenv.Must(t, os.WriteFile(path, []byte("["+e1+"]"), 0o600))
			}
		}})
		path = b.Path()
		wantTexts(t, entriesOf(t, b), "1")
		if len(*reports) > 0 || len(quarantined(t, b)) > 0 {
			t.Errorf("repaired: %v", *reports)
		}

		b, reports = boxWith(t, torn, mailbox.Options{})
		tries := 0
		b2 := openBox(t, filepath.Dir(b.Path()), mailbox.Options{
			Report: func(r mailbox.Report) { *reports = append(*reports, r) },
			Hook: func(s string) {
				if s != "read" {
					return
				}
				if tries++; tries == 2 { // the second read comes after this
					testenv.Must(t, os.WriteFile(b.Path(), []byte("["+e1+"]"), 0o600))
				}
			},
		})
		testenv.Must(t, b2.Append(t.Context(), text("new")))
		wantTexts(t, entriesOf(t, b), "1", "new")
		if len(*reports) > 0 || len(quarantined(t, b)) > 0 {
			t.Errorf("repaired: %v", *reports)
		}
	}
}

// A quarantine file never overwrites a file, and the same bytes are kept once.
func TestQuarantineIsUnique(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 18, 15, 43, 0, time.UTC)
	b, reports := boxWith(t, "junk", mailbox.Options{Now: func() time.Time { return now }})
	taken := b.Path() + ".corrupt-20261120T181543.000Z"
	put(t, taken, "older")
	wantTexts(t, entriesOf(t, b))
	put(t, b.Path(), "more junk")
	wantTexts(t, entriesOf(t, b))
	put(t, b.Path(), "junk")
	wantTexts(t, entriesOf(t, b))
	if got := strings.Join(quarantined(t, b), "|"); got != "older|junk|more junk" {
		t.Errorf("got %q", got)
	}
	if len(*reports) != 3 {
		t.Errorf("%d reports", len(*reports))
	}
}

// A locked mailbox is never reported as empty, neither to a reader that must repair it nor to a
// writer.
func TestLockedIsAnError(t *testing.T) {
	t.Parallel()
	b, reports := boxWith(t, "[", mailbox.Options{Deadline: 30 * time.Millisecond})
	testenv.Must(t, os.Mkdir(b.Path()+".lock", 0o755))
	_, err1 := b.Entries(t.Context())
	_, err2 := b.Unread(t.Context())
	err3 := b.Append(t.Context(), text("x"))
	err4 := b.MarkRead(t.Context(), mailbox.ID{Hash: "x", Occurrence: 1})
	for i, err := range []error{err1, err2, err3, err4} {
		var locked *mailbox.LockedError
		if !errors.As(err, &locked) || locked.Holder != "another program" {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if get(t, b.Path()) != "[" || len(*reports) > 0 {
		t.Error("changed without the lock")
	}
	// A whole file is read although it is locked.
	put(t, b.Path(), "["+e1+"]")
	wantTexts(t, entriesOf(t, b), "1")
}

// Without a copy in quarantine a file is not repaired.
func TestNoRepairWithoutQuarantine(t *testing.T) {
	t.Parallel()
	b, _ := boxWith(t, "junk", mailbox.Options{})
	dir := filepath.Dir(b.Path())
	o := mailbox.Options{Hook: func(s string) {
		if s == "read" {
			_ = os.Chmod(dir, 0o500)
		}
	}}
	defer os.Chmod(dir, 0o700)
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	if _, err := openBox(t, dir, o).Entries(t.Context()); err == nil {
		t.Error("no error")
	}
	if get(t, b.Path()) != "junk" {
		t.Error("changed")
	}
}

func TestBombs(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	b, reports := boxWith(t, "["+deep+","+e1+","+strings.Repeat("[", 50_000)+strings.Repeat("]", 50_000)+"]", mailbox.Options{})
	wantTexts(t, unreadOf(t, b), "!", "1", "!")
	for _, e := range unreadOf(t, b) {
		testenv.Must(t, b.MarkRead(t.Context(), e.ID))
	}
	wantTexts(t, unreadOf(t, b), "!") // the array entry has no flag that could be set

	huge := `{"from":"a","text":"` + strings.Repeat("x", mailbox.MaxEntry) + `","timestamp":"t"}`
	b, _ = boxWith(t, "["+huge+","+e1+"]", mailbox.Options{})
	wantTexts(t, unreadOf(t, b), "!", "1")

	b, _ = boxWith(t, "[0"+strings.Repeat(",0", mailbox.MaxElements)+"]", mailbox.Options{})
	if _, err := b.Entries(t.Context()); !errors.Is(err, mailbox.ErrTooLarge) {
		t.Errorf("too many entries: %v", err)
	}
	b, _ = boxWith(t, "["+e1+"]", mailbox.Options{MaxSize: 20})
	if _, err := b.Entries(t.Context()); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Errorf("too large to read: %v", err)
	}
	if err := b.Append(t.Context(), text("x")); !errors.Is(err, mailbox.ErrTooLarge) {
		t.Errorf("too large to append to: %v", err)
	}
	b, _ = boxWith(t, "["+e1+"]", mailbox.Options{MaxSize: 100})
	if err := b.Append(t.Context(), text("x")); !errors.Is(err, mailbox.ErrTooLarge) {
		t.Errorf("grown too large: %v", err)
	}
	if get(t, b.Path()) != "["+e1+"]" || len(*reports) > 0 {
		t.Error("changed")
	}
}

// Links, FIFOs and directories at the path of a mailbox are refused, and the target of a link is
// not touched.
func TestPlantedLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(t.TempDir(), "target")
	put(t, target, "["+e1+"]")
	if err := os.Symlink(target, filepath.Join(dir, "tester.json")); err != nil {
		t.Skip(err)
	}
	b := openBox(t, dir, mailbox.Options{})
	_, err := b.Entries(t.Context())
	for i, err := range []error{err, b.Append(t.Context(), text("x")), b.MarkRead(t.Context(), mailbox.ID{Hash: "x", Occurrence: 1})} {
		if !errors.Is(err, atomicfile.ErrNotRegular) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if get(t, target) != "["+e1+"]" {
		t.Error("the target was touched")
	}
}

// When another program changes the file between the read and the write of an append, the file has
// both changes afterwards.
func TestForeignChangeMeanwhile(t *testing.T) {
	t.Parallel()
	change := map[string]func(path, content string) error{
		"mv": func(path, content string) error {
			tmp := path + ".foreign"
			if err := os.WriteFile(tmp, []byte(content), 0o644); err != nil {
				return err
			}
			return os.Rename(tmp, path)
		},
		"in place": func(path, content string) error { return os.WriteFile(path, []byte(content), 0o644) },
	}
	for _, tier := range tiers {
		needTierOnce := false
		for how, write := range change {
			for _, step := range []string{"read", "temp-created", "temp-written", "synced", "checked"} {
				if tier == atomicfile.TierRename && step == "checked" {
					continue // that tier cannot detect the change, and reports so
				}
				if !needTierOnce {
					needTier(t, tier)
					needTierOnce = true
				}
				for _, op := range []string{"append", "mark"} {
					done := false
					o := mailbox.Options{}.With(tier, atomicfile.SyncNone)
					b, _ := boxWith(t, "["+e1+"]", mailbox.Options{})
					o.Hook = func(s string) {
						if s == step && !done {
							done = true
							testenv.Must(t, write(b.Path(), `[{"from":"f","text":"foreign","timestamp":"t"},`+e1+"]"))
						}
					}
					box := openBox(t, filepath.Dir(b.Path()), o)
					if op == "append" {
						testenv.Must(t, box.Append(context.Background(), text("ours")))
						wantTexts(t, entriesOf(t, b), "foreign", "1", "ours")
						continue
					}
					id := entriesOf(t, b)[0].ID
					testenv.Must(t, box.MarkRead(context.Background(), id))
					wantTexts(t, unreadOf(t, b), "foreign")
					if !done {
						t.Errorf("%v %s %s: no change was made", tier, how, step)
					}
				}
			}
		}
	}
}
