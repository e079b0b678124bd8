package mailbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// needTier skips on a file system without the tier.
func needTier(t testing.TB, tier atomicfile.Tier) {
	t.Helper()
	b := openBox(t, t.TempDir(), mailbox.Options{}.With(tier, atomicfile.SyncNone))
	testenv.Must(t, b.Append(t.Context(), text("a")))
	if err := b.Append(t.Context(), text("b")); err != nil {
		if strings.Contains(err.Error(), "cannot exchange") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
}

func openBox(t testing.TB, dir string, o mailbox.Options) *mailbox.Box {
	t.Helper()
	return openLayout(t, mailbox.Array, dir, o)
}

func openLayout(t testing.TB, l mailbox.Layout, dir string, o mailbox.Options) *mailbox.Box {
	t.Helper()
	b, err := mailbox.Dir{Path: dir, Layout: l}.Open("tester", o)
	testenv.Must(t, err)
	return b
}

// boxWith returns a mailbox whose file holds content, and where its reports go.
func boxWith(t testing.TB, content string, o mailbox.Options) (*mailbox.Box, *[]mailbox.Report) {
	t.Helper()
	var reports []mailbox.Report
	o.Report = func(r mailbox.Report) { reports = append(reports, r) }
	b := openBox(t, t.TempDir(), o)
	put(t, b.Path(), content)
	return b, &reports
}

func put(t testing.TB, path, content string) {
	t.Helper()
	testenv.Must(t, os.WriteFile(path, []byte(content), 0o600))
}

func get(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	testenv.Must(t, err)
	return string(b)
}

func text(s string) protocol.Envelope {
	return protocol.Envelope{From: "tester", Text: s, Timestamp: "2026-11-20T18:15:43.000Z"}
}

func entriesOf(t testing.TB, s mailbox.Store) []mailbox.Entry {
	t.Helper()
	list, err := s.Entries(t.Context())
	testenv.Must(t, err)
	return list
}

func unreadOf(t testing.TB, s mailbox.Store) []mailbox.Entry {
	t.Helper()
	list, err := s.Unread(t.Context())
	testenv.Must(t, err)
	return list
}

// textsOf returns the texts of entries; "!" for one that cannot be read.
func textsOf(entries []mailbox.Entry) []string {
	list := []string{}
	for _, e := range entries {
		if e.Err != nil {
			list = append(list, "!")
		} else {
			list = append(list, e.Envelope.Text)
		}
	}
	return list
}

func wantTexts(t testing.TB, got []mailbox.Entry, texts ...string) {
	t.Helper()
	if !slices.Equal(textsOf(got), texts) {
		t.Fatalf("got %q, want %q", textsOf(got), texts)
	}
}

// quarantined returns the contents of the quarantine files of a mailbox.
func quarantined(t testing.TB, b *mailbox.Box) []string {
	t.Helper()
	names, err := filepath.Glob(b.Path() + ".corrupt-*")
	testenv.Must(t, err)
	var all []string
	for _, n := range names {
		fi, err := os.Stat(n)
		testenv.Must(t, err)
		if fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", n, fi.Mode())
		}
		all = append(all, get(t, n))
	}
	return all
}

// validArray parses a whole file as strictly as any reader may.
func validArray(t testing.TB, data string) []json.RawMessage {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "\ufeff")), &list); err != nil {
		t.Fatalf("not a JSON array: %v\n%.2000s", err, data)
	}
	return list
}
