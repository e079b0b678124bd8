package mailbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/mailbox"
)

// TestQuarantineNames: a thousand names are tried, and a broken file whose bytes have no
// place is left as it is.
func TestQuarantineNames(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	b, _ := boxWith(t, "no mailbox", mailbox.Options{Now: func() time.Time { return now }})
	stamp := b.Path() + ".corrupt-" + now.Format("20060102T150405.000Z")
	put(t, stamp, "older")
	for n := 2; n <= 1000; n++ {
		put(t, fmt.Sprintf("%s-%d", stamp, n), "older")
	}
	if err := b.Append(t.Context(), text("a")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("appended without a place for what was broken: %v", err)
	}
	if got := get(t, b.Path()); got != "no mailbox" {
		t.Errorf("the file became %q", got)
	}
	must(t, os.Remove(stamp+"-1000"))
	must(t, b.Append(t.Context(), text("a")))
	if got := get(t, stamp+"-1000"); got != "no mailbox" {
		t.Errorf("the last name holds %q", got)
	}
}

// TestMigrateTornForever: a mailbox that another program breaks each time its lock is
// taken is not moved, and the migration says so.
func TestMigrateTornForever(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[]"})
	path, tries := filepath.Join(b.Team, "inboxes", "bob.json"), 0
	hook := func(step string) {
		if step == "locked" {
			if _, err := os.Stat(path); err == nil {
				tries++
				put(t, path, `[{"from":"a","text":"`)
			}
		}
	}
	_, err := b.Migrate(t.Context(), mailbox.JSONL, mailbox.Options{Hook: hook})
	if err == nil || !strings.Contains(err.Error(), "is being changed all the time") {
		t.Errorf("after %d tries: %v", tries, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("what could not be moved is gone: %v", err)
	}
}
