package mailbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/mailbox"
)

// TestMigrateInterrupted: a migration whose context is cancelled while it waits for a torn mailbox
// returns the error of the context, and the file that it did not move is there.
func TestMigrateInterrupted(t *testing.T) {
	t.Parallel()
	b := team(t, map[string]string{"inboxes/team-lead.json": "[]", "inboxes/zed.json": "[]"})
	path := filepath.Join(b.Team, "inboxes", "zed.json")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hook := func(step string) {
		if step == "read" {
			if _, err := os.Stat(path); err == nil {
				put(t, path, `[{"from":"a","text":"`)
			}
		}
		if step == "unlocked" {
			if data, err := os.ReadFile(path); err == nil && string(data) != "[]" {
				cancel()
			}
		}
	}
	put(t, path, `[{"from":"a","text":"`)
	_, err := b.Migrate(ctx, mailbox.JSONL, mailbox.Options{Hook: hook})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("what was not moved is gone: %v", err)
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
