package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

func said(id, text, at string, read bool) protocol.Envelope {
	return protocol.Envelope{From: "a", Text: text, Timestamp: "2026-01-01T00:00:0" + at + ".000Z", MsgID: id, Read: read}
}

// TestTraceOf: TraceOf derives the trace of a message from the current entries and the time of the
// mailbox file.
func TestTraceOf(t *testing.T) {
	of := func(envs ...protocol.Envelope) (es []mailbox.Entry) {
		for _, e := range envs {
			es = append(es, mailbox.Entry{Envelope: e})
		}
		return es
	}
	sent := said("m", "x", "5", false)
	broken := mailbox.Entry{Envelope: said("o", "old", "1", false), Err: errors.New("not read")}
	for what, c := range map[string]struct {
		entries   []mailbox.Entry
		then, now int64
		want      mailbox.Trace
	}{
		"unread":                        {of(sent), 7, 7, mailbox.Lies},
		"read":                          {of(said("m", "x", "5", true)), 7, 7, mailbox.Marked},
		"without its id":                {of(said("", "x", "5", true)), 7, 7, mailbox.Marked},
		"behind an older one":           {of(said("o", "old", "1", false), said("m", "x", "5", true)), 7, 7, mailbox.Marked},
		"gone":                          {nil, 7, 7, mailbox.Taken},
		"gone, the file is newer":       {nil, 7, 8, mailbox.Taken},
		"gone, the file is older":       {nil, 7, 6, mailbox.Erased},
		"gone, there is no file":        {nil, 7, 0, mailbox.Erased},
		"gone, no time was known":       {nil, 0, 6, mailbox.Taken},
		"an older one is unread":        {of(said("o", "old", "1", false)), 7, 7, mailbox.Erased},
		"one of its time is unread":     {of(said("o", "old", "5", false)), 7, 7, mailbox.Erased},
		"a newer one is unread":         {of(said("n", "new", "6", false)), 7, 7, mailbox.Taken},
		"an older one is read":          {of(said("o", "old", "1", true)), 7, 7, mailbox.Taken},
		"an older one that is not read": {[]mailbox.Entry{broken}, 7, 7, mailbox.Taken},
	} {
		if got := mailbox.TraceOf(mailbox.Written{Envelope: sent, File: c.then}, c.entries, c.now); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// TestSame: a message is known again without its id, and not by less than its sender, time and text.
func TestSame(t *testing.T) {
	m := said("m", "x", "5", false)
	for what, c := range map[string]struct {
		change func(*protocol.Envelope)
		want   bool
	}{
		"as it is": {func(*protocol.Envelope) {}, true}, "read": {func(e *protocol.Envelope) { e.Read = true }, true},
		"no id": {func(e *protocol.Envelope) { e.MsgID = "" }, true}, "another id": {func(e *protocol.Envelope) { e.MsgID = "n" }, false},
		"another text": {func(e *protocol.Envelope) { e.Text = "y" }, false}, "another sender": {func(e *protocol.Envelope) { e.From = "b" }, false},
		"another time": {func(e *protocol.Envelope) { e.Timestamp = "t" }, false},
	} {
		o := m
		c.change(&o)
		if mailbox.Same(m, o) != c.want || mailbox.Same(o, m) != c.want {
			t.Errorf("%s: want %v", what, c.want)
		}
	}
}

// TestFileTime: FileTime is the time of a mailbox's file, and 0 where there is no file.
func TestFileTime(t *testing.T) {
	b := team(t, map[string]string{"inboxes/bob.json": "[]"})
	path := filepath.Join(b.Team, "inboxes", "bob.json")
	at := time.Unix(1_700_000_000, 123_456_000)
	testenv.Must(t, os.Chtimes(path, at, at))
	box, err := mailbox.Dir{Path: filepath.Dir(path)}.Open("bob", mailbox.Options{})
	testenv.Must(t, err)
	for what, s := range map[string]mailbox.Store{"a box": box, "one that may move": openIn(t, b, "bob", mailbox.Options{})} {
		if got := mailbox.FileTime(s); got != at.UnixNano() {
			t.Errorf("%s: %d, want %d", what, got, at.UnixNano())
		}
	}
	testenv.Must(t, os.Remove(path))
	mixed := team(t, map[string]string{"inboxes/bob.json": "[" + e1 + "]", "mailbox/bob.jsonl": line("x") + "\n"})
	for what, s := range map[string]mailbox.Store{"no file": box, "memory": mailbox.NewMemory(mailbox.Options{}), "two files": openIn(t, mixed, "bob", mailbox.Options{})} {
		if got := mailbox.FileTime(s); got != 0 {
			t.Errorf("%s: %d", what, got)
		}
	}
}

// TestMissing: Missing returns each sent envelope that is not in the mailbox, as often as it is
// missing; a read entry is in the mailbox.
func TestMissing(t *testing.T) {
	m := mailbox.NewMemory(mailbox.Options{})
	a, b, c := said("", "a", "1", false), said("", "b", "1", false), said("", "c", "1", false)
	if gone, err := mailbox.Missing(t.Context(), m, a); err != nil || len(gone) != 1 {
		t.Errorf("of an empty mailbox: %v, %v", gone, err)
	}
	testenv.Must(t, m.Append(t.Context(), a, b))
	testenv.Must(t, m.MarkRead(t.Context(), entriesOf(t, m)[1].ID))
	gone, err := mailbox.Missing(t.Context(), m, c, a, b, a, c)
	if err != nil || len(gone) != 3 || gone[0].Text != "c" || gone[1].Text != "a" || gone[2].Text != "c" {
		t.Errorf("%v, %v", gone, err)
	}
	if gone, err := mailbox.Missing(t.Context(), m, a, b); err != nil || gone != nil {
		t.Errorf("all are there: %v, %v", gone, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if gone, err := mailbox.Missing(over, m, a); gone != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", gone, err)
	}
	if gone, err := mailbox.Missing(over, m); gone != nil || err != nil {
		t.Errorf("nothing was sent: %v, %v", gone, err)
	}
}

// TestMemView: bytes in memory are read as a file's are.
func TestMemView(t *testing.T) {
	for _, data := range [][]byte{nil, {}, []byte("a"), []byte("abcd")} {
		v := mailbox.MemView(data)
		if v.Size() != int64(len(data)) || v.Exists() != (data != nil) {
			t.Errorf("%q: size %d, exists %v", data, v.Size(), v.Exists())
		}
		for off := int64(0); off < 6; off++ {
			for n := range 6 {
				got, want := make([]byte, n), make([]byte, n)
				gn, gerr := v.ReadAt(got, off)
				wn, werr := bytes.NewReader(data).ReadAt(want, off)
				if gn != wn || gerr != werr && !(n == 0 && off == int64(len(data))) || !bytes.Equal(got, want) {
					t.Errorf("%q: %d bytes at %d: %q, %d, %v; want %q, %d, %v", data, n, off, got, gn, gerr, want, wn, werr)
				}
			}
		}
		if n, err := v.ReadAt(make([]byte, 1), -1); n != 0 || err == nil || err == io.EOF { // as of a file
			t.Errorf("before the file: %d, %v", n, err)
		}
	}
}
