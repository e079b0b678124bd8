package mailbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

func fat(n int) protocol.Envelope {
	return protocol.Envelope{From: "a", Text: fmt.Sprintf("%d %s", n, strings.Repeat("x", 500)), Timestamp: "t"}
}

// archived returns the numbers of the messages in the archive, file by file.
func archived(t testing.TB, dir string) (numbers []string) {
	t.Helper()
	for _, f := range mustGlob(t, filepath.Join(dir, "*.jsonl")) {
		list, err := mailbox.ReadArchived(f)
		testenv.Must(t, err)
		for _, x := range textsOf(list) {
			n, _, _ := strings.Cut(x, " ")
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func remaining(t testing.TB, s mailbox.Store) (numbers []string) {
	t.Helper()
	for _, x := range textsOf(entriesOf(t, s)) {
		n, _, _ := strings.Cut(x, " ")
		numbers = append(numbers, n)
	}
	return numbers
}

// Read entries of a large mailbox move to the archive; unread entries and read ones of equal
// content stay.
func TestRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	arch := filepath.Join(dir, "mail", "tester")
	o := mailbox.Options{Archive: mailbox.Archive{Dir: arch, Over: 8 << 10}}
	b := openBox(t, dir, o)
	twin := fat(100)
	testenv.Must(t, b.Append(t.Context(), twin, twin))
	testenv.Must(t, b.MarkRead(t.Context(), entriesOf(t, b)[0].ID))
	unread := 0
	for n := range 40 {
		testenv.Must(t, b.Append(t.Context(), fat(n)))
		if n%10 == 9 {
			unread++
			continue
		}
		list := unreadOf(t, b)
		testenv.Must(t, b.MarkRead(t.Context(), list[len(list)-1].ID))
	}
	if fi, err := os.Stat(b.Path()); err != nil || fi.Size() > 9<<10 {
		t.Errorf("the mailbox has %d bytes, %v", fi.Size(), err)
	}
	if got := len(unreadOf(t, b)); got != unread+1 {
		t.Errorf("%d unread, want %d", got, unread+1)
	}
	moved, left := archived(t, arch), remaining(t, b)
	seen := map[string]int{}
	for _, n := range append(moved, left...) {
		seen[n]++
	}
	for n := range 40 {
		if seen[fmt.Sprint(n)] != 1 {
			t.Errorf("message %d is there %d times", n, seen[fmt.Sprint(n)])
		}
	}
	if seen["100"] != 2 || left[0] != "100" || left[1] != "100" || len(mustGlob(t, filepath.Join(arch, "*"))) < 2 {
		t.Errorf("left %q, archive %q", left, moved)
	}
	for _, n := range moved {
		if n == "9" || n == "19" {
			t.Errorf("%s was unread", n)
		}
	}

	// No entry moves without an archive, from a mailbox with Prune, or from one whose entries are
	// mostly unread.
	for _, o := range []mailbox.Options{{}, {Retention: mailbox.Prune, Archive: o.Archive}} {
		other := t.TempDir()
		if o.Archive.Dir != "" {
			o.Archive.Dir = filepath.Join(other, "mail")
		}
		b := openBox(t, other, o)
		for n := range 30 {
			testenv.Must(t, b.Append(t.Context(), fat(n)))
		}
		testenv.Must(t, b.MarkRead(t.Context(), entriesOf(t, b)[0].ID))
		if _, err := os.Stat(filepath.Join(other, "mail")); err == nil {
			t.Errorf("an archive was made for %+v", o)
		}
	}
}

// When the archive cannot be written, that is reported and no entry leaves the mailbox.
func TestRotateFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "mail"), "in the way")
	var reports []mailbox.Report
	b := openBox(t, dir, mailbox.Options{Archive: mailbox.Archive{Dir: filepath.Join(dir, "mail", "tester"), Over: 1 << 10},
		Report: func(r mailbox.Report) { reports = append(reports, r) }})
	for n := range 4 {
		testenv.Must(t, b.Append(t.Context(), fat(n)))
	}
	for _, e := range entriesOf(t, b) {
		testenv.Must(t, b.MarkRead(t.Context(), e.ID))
	}
	if got := len(entriesOf(t, b)); got != 4 || len(reports) == 0 {
		t.Errorf("%d entries, reports %v", got, reports)
	}
}

func mustGlob(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	testenv.Must(t, err)
	return names
}
