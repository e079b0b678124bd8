package boxes_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/boxes"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/team"
)

func message(s string) protocol.Envelope {
	return protocol.Envelope{From: "a", Text: s, Timestamp: "2026-11-20T18:15:43.000Z"}
}

// home is a team with one mailbox and a Watched for it.
func home(t *testing.T, tree bool) (h *boxes.Watched, b mailbox.Boxes, archive string) {
	t.Helper()
	root := team.Root{Path: t.TempDir()}
	b = boxes.Of(root, "api")
	testenv.Must(t, os.MkdirAll(b.Team, 0o700))
	box, err := b.Open("bob", mailbox.Options{})
	testenv.Must(t, err)
	testenv.Must(t, box.Append(t.Context(), message("one"), message("two")))
	archive = t.TempDir()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return boxes.Watch(box, boxes.WatchOptions{Dir: b.Team, Archive: archive, Name: "bob", Tree: tree,
		Now: func() time.Time { now = now.Add(time.Second); return now }}), b, archive
}

// kept reads what was saved of bob's mail.
func kept(t *testing.T, dir string) []string {
	t.Helper()
	box, err := mailbox.Dir{Path: dir, Layout: mailbox.JSONL}.Open("bob", mailbox.Options{})
	testenv.Must(t, err)
	list, err := box.Entries(t.Context())
	testenv.Must(t, err)
	var texts []string
	for _, e := range list {
		texts = append(texts, e.Envelope.Text)
	}
	return texts
}

// A directory that is renamed and removed, as Claude Code does it, is noticed once, nothing is made
// in its place, and the read mail is kept.
func TestVanished(t *testing.T) {
	for _, tree := range []bool{false, true} {
		h, b, _ := home(t, tree)
		if n := h.Check(); n != nil {
			t.Fatalf("a change of nothing: %+v", n)
		}
		list, err := h.Entries(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("%d entries, %v", len(list), err)
		}
		doomed := b.Team + ".deleted-0f8fad5b-d9cb-469f-a165-70867728950e"
		testenv.Must(t, os.Rename(b.Team, doomed))
		if list, err := h.Entries(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%d entries of a team that is gone, %v", len(list), err)
		}
		n := h.Check()
		if n == nil || n.What != boxes.Vanished || n.Path != b.Team || n.Moved != doomed || n.Err != nil || n.Saved == "" {
			t.Fatalf("change %+v", n)
		}
		if texts := kept(t, n.Saved); len(texts) != 2 || texts[1] != "two" {
			t.Errorf("kept %q", texts)
		}
		if _, err := os.Stat(filepath.Join(n.Saved, "team", "inboxes", "bob.json")); (err == nil) != tree {
			t.Errorf("a copy of the tree: %v", err)
		}
		for range 2 {
			if n := h.Check(); n != nil {
				t.Errorf("told again: %+v", n)
			}
		}
		// Messages that its owner appends meanwhile are read, and written to the directory later.
		testenv.Must(t, h.Append(t.Context(), message("fetched"), message("later")))
		list, err = h.Unread(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("%d entries meanwhile, %v", len(list), err)
		}
		testenv.Must(t, h.MarkRead(t.Context(), list[0].ID))
		if _, err := os.Lstat(b.Team); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory was made again: %v", err)
		}
		testenv.Must(t, os.Rename(doomed, b.Team))
		if n := h.Check(); n == nil || n.What != boxes.Returned {
			t.Errorf("change %+v", n)
		}
		if n := h.Check(); n != nil {
			t.Errorf("told again: %+v", n)
		}
		if list, err = h.Entries(t.Context()); err != nil || len(list) != 3 || list[2].Envelope.Text != "later" {
			t.Errorf("%d entries there again, %v", len(list), err)
		}
	}
}

func TestReplaced(t *testing.T) {
	h, b, archive := home(t, false)
	_, err := h.Entries(t.Context())
	testenv.Must(t, err)
	testenv.Must(t, os.Rename(b.Team, filepath.Join(filepath.Dir(b.Team), "elsewhere")))
	testenv.Must(t, os.Mkdir(b.Team, 0o700))
	n := h.Check()
	if n == nil || n.What != boxes.Replaced || n.Moved != "" || filepath.Dir(n.Saved) != archive {
		t.Fatalf("change %+v", n)
	}
	if texts := kept(t, n.Saved); len(texts) != 2 {
		t.Errorf("kept %q", texts)
	}
	if n := h.Check(); n != nil {
		t.Errorf("told again: %+v", n)
	}
}

// TestGoneBefore: the first Check of a process reports that the directory is gone, unless
// WatchOptions.Gone says that this is on record. Check reports a directory that is there again in
// both cases.
func TestGoneBefore(t *testing.T) {
	for _, known := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "api")
		h := boxes.Watch(mailbox.NewMemory(mailbox.Options{}), boxes.WatchOptions{Dir: dir, Archive: t.TempDir(), Name: "bob", Now: time.Now, Gone: known})
		n := h.Check()
		if known && n != nil || !known && (n == nil || n.What != boxes.Vanished || n.Saved != "") {
			t.Errorf("known %v: change %+v", known, n)
		}
		testenv.Must(t, os.Mkdir(dir, 0o700))
		if n := h.Check(); n == nil || n.What != boxes.Returned {
			t.Errorf("known %v: change %+v", known, n)
		}
	}
	dir := t.TempDir()
	h := boxes.Watch(mailbox.NewMemory(mailbox.Options{}), boxes.WatchOptions{Dir: dir, Archive: t.TempDir(), Name: "bob", Now: time.Now, Gone: true})
	if n := h.Check(); n == nil || n.What != boxes.Returned {
		t.Errorf("there again: change %+v", n)
	}
}

// TestOf: the dialect of a team decides whether a read entry stays in its mailbox.
func TestOf(t *testing.T) {
	root := team.Root{Path: t.TempDir()}
	for name, left := range map[protocol.TeamName]int{"api": 1, "session-0123abcd": 0} {
		b := boxes.Of(root, name)
		testenv.Must(t, os.MkdirAll(b.Team, 0o700))
		box, err := b.Open("bob", mailbox.Options{})
		testenv.Must(t, err)
		foreign, err := protocol.ParseEnvelope([]byte(`{"from":"team-lead","text":"x","timestamp":"t","lead_sig":"s","ours":{"a":1},"read":false}`))
		testenv.Must(t, err)
		testenv.Must(t, box.Append(t.Context(), foreign))
		list, err := box.Unread(t.Context())
		testenv.Must(t, err)
		testenv.Must(t, box.MarkRead(context.Background(), list[0].ID))
		list, err = box.Entries(t.Context())
		if err != nil || len(list) != left {
			t.Errorf("%s: %d entries, %v", name, len(list), err)
		}
		for _, e := range list {
			for _, key := range []string{"lead_sig", "ours"} {
				if _, ok := e.Envelope.Member(key); !ok {
					t.Errorf("%s: %s is gone from %s", name, key, e.Raw)
				}
			}
		}
	}
}
