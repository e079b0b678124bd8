package mailbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
)

// Archive is where the read entries of a large mailbox are moved, for mailboxes that only this
// package marks and that keep read entries. The zero value keeps everything in the mailbox.
type Archive struct {
	Dir  string // private directory of the files <8 digits>.jsonl; it is made when it is missing
	Over int64  // rotate when the mailbox is larger than this; 0 means 1 MiB
}

func (a Archive) over() int64 { return cmp.Or(max(a.Over, 0), 1<<20) }

// rotate moves read entries into a new file of the archive when there are enough of them. The copy
// is flushed before the mailbox is published without them. A process that is killed in between
// leaves a newest archive file with entries that are still in the mailbox: the next rotation
// replaces it. Unread entries stay, and so do read entries with the same content as an unread one,
// whose identity would change otherwise. When the archive cannot be written, the entries stay and
// Report is called.
func (b *Box) rotate(ctx context.Context) {
	if b.o.Archive.Dir == "" || b.o.Retention != Keep {
		return
	}
	if info, err := os.Lstat(b.path); err != nil || info.Size() <= b.o.Archive.over() {
		return
	}
	err := b.edit(ctx, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		if v.Size() <= b.o.Archive.over() {
			return nil, nil
		}
		last, _ := b.cached(atomicfile.Identity{})
		c, err := contentsOf(b.format, v, last, nil)
		if err != nil {
			return nil, err
		}
		remove, moved := c.old()
		if int64(len(moved)) < b.o.Archive.over()/4 {
			return nil, nil // most entries are unread
		}
		if err := b.o.Archive.put(moved); err != nil {
			return nil, err
		}
		return b.format.without(c, remove, nil), nil
	})
	if err != nil && ctx.Err() == nil {
		b.report([]Report{{Path: b.path, What: fmt.Sprintf("%s has become large, and its read messages could not be moved to the archive: %v", b.path, err)}})
	}
}

// old selects the entries that may move, and returns them as lines.
func (c *contents) old() (remove []bool, moved []byte) {
	unread := map[string]bool{}
	for i, e := range c.entries {
		if c.array.elems[i].read != readTrue {
			unread[e.ID.Hash] = true
		}
	}
	remove = make([]bool, len(c.entries))
	for i, e := range c.entries {
		if c.array.elems[i].read == readTrue && !unread[e.ID.Hash] {
			remove[i] = true
			moved = appendLine(moved, e.Raw)
		}
	}
	return remove, moved
}

// put writes lines to the next file, or to the newest one when all lines of that file are among
// them. It may be repeated.
func (a Archive) put(lines []byte) error {
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	n := 1 // the first that is not there
	for ; ; n++ {
		if _, err := os.Lstat(a.file(n)); err != nil {
			break
		}
	}
	if n > 1 {
		before, err := atomicfile.ReadFile(a.file(n-1), atomicfile.Options{})
		if err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if among(before, lines) {
			n--
		}
	}
	return atomicfile.WriteFile(a.file(n), lines, atomicfile.Options{Sync: atomicfile.SyncFull})
}

func (a Archive) file(n int) string { return filepath.Join(a.Dir, fmt.Sprintf("%08d.jsonl", n)) }

// among reports whether lines has every line of part, in this order.
func among(part, lines []byte) bool {
	for line := range bytes.Lines(part) {
		found := false
		for len(lines) > 0 && !found {
			end := bytes.IndexByte(lines, '\n') + 1
			found = bytes.Equal(lines[:end], line)
			lines = lines[end:]
		}
		if !found {
			return false
		}
	}
	return true
}

// Keep copies entries into the archive, before its caller removes them by marking.
func (a Archive) Keep(entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	return a.put(linesOf(entries))
}

// Entries reads the archive, oldest first. From a broken file it returns the entries that can be
// found, with an error that says so.
func (a Archive) Entries() ([]Entry, error) {
	files, err := filepath.Glob(filepath.Join(a.Dir, "*"+JSONL.Extension()))
	if err != nil {
		return nil, err
	}
	var all []Entry
	var errs []error
	for _, f := range files {
		entries, err := ReadArchived(f)
		all, errs = append(all, entries...), append(errs, err)
	}
	return all, errors.Join(errs...)
}
