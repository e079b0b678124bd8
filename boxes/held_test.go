package boxes_test

import (
	"errors"
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

// TestHeld: what cannot be appended, because another program holds the lock of the file, is an entry of the mailbox
// until it is read or the file has it, whichever comes first; two of equal content are two. What is marked is no error.
func TestHeld(t *testing.T) {
	t.Parallel()
	root := team.Root{Path: t.TempDir()}
	b := boxes.Of(root, "api")
	testenv.Must(t, os.MkdirAll(b.Team, 0o700))
	box, err := b.Open("bob", mailbox.Options{Deadline: 20 * time.Millisecond})
	testenv.Must(t, err)
	testenv.Must(t, box.Append(t.Context(), message("one")))
	var why []error
	h := boxes.Watch(box, boxes.WatchOptions{Dir: b.Team, Archive: t.TempDir(), Name: "bob", Now: time.Now,
		Trouble: func(err error) { testenv.Must(t, err) }, Locked: func(err error) { why = append(why, err) }})
	lock := filepath.Join(b.Inboxes, "bob.json.lock")
	testenv.Must(t, os.Mkdir(lock, 0o700))
	testenv.Must(t, h.Append(t.Context(), message("one"), message("two")))
	var locked *mailbox.LockedError
	if len(why) != 1 || !errors.As(why[0], &locked) {
		t.Fatalf("told %v", why)
	}
	list := func() (texts []string, ids []mailbox.ID) {
		t.Helper()
		all, err := h.Entries(t.Context())
		testenv.Must(t, err)
		for i, e := range all {
			if e.Index != i || e.Err != nil {
				t.Errorf("entry %d: %+v", i, e)
			}
			texts, ids = append(texts, e.Envelope.Text), append(ids, e.ID)
		}
		return texts, ids
	}
	texts, ids := list()
	if len(texts) != 3 || texts[1] != "one" || texts[2] != "two" || ids[1] != (mailbox.ID{Hash: ids[0].Hash, Occurrence: 2}) || ids[2].Occurrence != 1 {
		t.Fatalf("%q %v", texts, ids)
	}
	if unread, err := h.Unread(t.Context()); err != nil || len(unread) != 3 {
		t.Errorf("%d unread, %v", len(unread), err)
	}
	testenv.Must(t, h.MarkRead(t.Context(), ids[0], ids[1])) // of the file and of memory
	if len(why) != 2 || why[1] == nil {
		t.Errorf("told %v", why)
	}
	if texts, _ := list(); len(texts) != 2 || texts[1] != "two" {
		t.Errorf("what was read is there: %q", texts)
	}
	testenv.Must(t, os.Remove(lock))
	testenv.Must(t, box.Append(t.Context(), message("two"))) // by its sender
	if texts, now := list(); len(texts) != 2 || now[1] != ids[2] {
		t.Errorf("%q %v", texts, now)
	}
	testenv.Must(t, h.MarkRead(t.Context(), ids[0], ids[2]))
	if unread, err := h.Unread(t.Context()); err != nil || len(unread) != 0 || why[len(why)-1] != nil {
		t.Errorf("%d unread, %v; told %v", len(unread), err, why)
	}

	// While the directory is gone, what was held is in the mailbox in memory, and then in the file.
	testenv.Must(t, os.Mkdir(lock, 0o700))
	testenv.Must(t, h.Append(t.Context(), message("three")))
	testenv.Must(t, os.Remove(lock))
	testenv.Must(t, os.Rename(b.Team, b.Team+"-away"))
	if texts, _ := list(); len(texts) != 1 || texts[0] != "three" {
		t.Errorf("%q", texts)
	}
	testenv.Must(t, os.Rename(b.Team+"-away", b.Team))
	if texts, _ := list(); len(texts) != 3 || texts[2] != "three" {
		t.Errorf("%q", texts)
	}
	if all, err := box.Entries(t.Context()); err != nil || len(all) != 3 || all[2].Envelope.Text != "three" {
		t.Errorf("the file: %v, %v", all, err)
	}
	if err := h.Append(t.Context(), protocol.Envelope{Text: string(make([]byte, protocol.MaxText+1))}); !errors.Is(err, mailbox.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}
