package mailbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/layout"
	"waggle/protocol"
)

// Migrate moves every mailbox of the team to a layout, and merges what a member has in both. The caller sees to it that no
// member and no lead of the team runs, and no second migration: they read and mark mail. A process that only sends waits.
//
// Migrate may be killed at any point: an intent file beside the mailboxes names the target layout, each member is moved by
// one publication and one removal, and Finish or the next Migrate goes on. Who leads the team calls Finish first. No entry
// is lost or doubled, and read entries stay read.
//
// An entry that another program writes into the old file without its lock in the microseconds
// between the last check and the removal is lost; an entry that it writes later makes a second
// mailbox. Claude Code reads and writes arrays only.
//
// changed is false when nothing had to be moved.
func (b Boxes) Migrate(ctx context.Context, to Layout, o Options) (changed bool, err error) {
	if info, err := os.Lstat(b.Team); err != nil || !info.IsDir() {
		return false, fmt.Errorf("migrate: %s: %w", b.Team, errors.Join(err, fs.ErrNotExist))
	}
	_, changed, err = b.Moving()
	if err == nil {
		err = b.Finish(ctx, o)
	}
	if err != nil {
		return changed, fmt.Errorf("migrate: %w", err)
	}
	left, err := Dir{Path: b.dirs().Dir(to.Other()), Layout: to.Other()}.Names()
	if err != nil {
		return changed, err
	}
	if now, err := b.Layout(); now == to && len(left) == 0 && err == nil {
		return changed, nil
	}
	return true, b.migrate(ctx, to, o)
}

// Finish ends a migration that was cut short.
func (b Boxes) Finish(ctx context.Context, o Options) error {
	to, moving, err := b.Moving()
	if err != nil || !moving {
		return err
	}
	return b.migrate(ctx, to, o)
}

func (b Boxes) migrate(ctx context.Context, to Layout, o Options) (err error) {
	intent, err := jsonobj.Marshal(layout.Intention{To: to.String()})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	err = atomicfile.Edit(ctx, b.dirs().Intent(), b.intent(o), func(v atomicfile.View) ([]atomicfile.Splice, error) {
		return []atomicfile.Splice{{Delete: v.Size(), Insert: append(intent, '\n')}}, nil
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	// Who makes a mailbox holds the same lock: all that were made in the old layout are listed.
	release, err := atomicfile.Lock(ctx, b.dirs().Intent(), b.intent(o))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := os.Mkdir(b.dirs().Dir(to), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("migrate: %w", err)
	}
	old := Dir{Path: b.dirs().Dir(to.Other()), Layout: to.Other()}
	for {
		names, err := old.Names()
		if err != nil {
			return err
		}
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			if err := b.move(ctx, name, to, o); err != nil {
				return fmt.Errorf("migrate %s: %w", name, err)
			}
		}
	}
	// The layout of the lead's mailbox is the layout of new mailboxes.
	if err := newBox(b.dirs().Path(to, string(protocol.Lead)), to, o).create(ctx); err != nil {
		return err
	}
	if err := os.Remove(b.dirs().Intent()); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// move moves one member's mailbox.
func (b Boxes) move(ctx context.Context, name protocol.MemberName, to Layout, o Options) error {
	from := newBox(b.dirs().Path(to.Other(), string(name)), to.Other(), o)
	into := newBox(b.dirs().Path(to, string(name)), to, o)
	for try := 0; ; try++ {
		// Broken files are repaired first: the locks are taken one after the other.
		for _, box := range []*Box{from, into} {
			if _, err := box.load(ctx, true); err != nil {
				return err
			}
		}
		release, err := atomicfile.Lock(ctx, from.path, from.file())
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another program has removed it
		}
		if err != nil {
			return err
		}
		done, reports, err := moveLocked(from, into)
		if e := release(); errors.Is(e, atomicfile.ErrLost) && err == nil && !done {
			err = e
		}
		from.report(reports)
		switch {
		case err != nil && !invalid(err):
			return err
		case done:
			return nil
		case try == 5*tornTries:
			return fmt.Errorf("%s is being changed all the time by a program that does not take its lock: %w", from.path, errTorn)
		}
		if !backoff.Pause(ctx, tornDelay) {
			return context.Cause(ctx)
		}
	}
}

// moveLocked publishes a mailbox in its new file and removes the old one. Not done:
// the old file was changed meanwhile.
func moveLocked(from, into *Box) (done bool, reports []Report, err error) {
	info, err := os.Lstat(from.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	data, id, err := atomicfile.ReadIdentified(from.path, from.file())
	if err != nil {
		return false, nil, err
	}
	a, err := from.format.scan(data, nil)
	if err != nil {
		return false, nil, err
	}
	there, err := atomicfile.ReadFile(into.path, into.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, nil, err
	}
	list, tail, err := into.union(parse(data, a, nil, nil), there)
	if err != nil {
		return false, nil, err
	}
	if from.layout == JSONL && a.torn >= 0 { // an array has no place for it
		at, err := from.quarantine(data[a.torn:])
		if err != nil {
			return false, nil, err
		}
		reports = append(reports, Report{Path: from.path, Quarantine: at,
			What: "the last line of " + from.path + " was not complete when the mailbox was moved to another layout; it is kept"})
	}
	o := from.file()
	o.Sync, o.Perm = atomicfile.SyncFull, info.Mode().Perm()
	if err := atomicfile.WriteFile(into.path, into.build(list, tail), o); err != nil {
		return false, nil, err
	}
	if id == (atomicfile.Identity{}) { // the file is too new to detect a later change: read it again
		return false, nil, nil
	}
	done, err = atomicfile.Remove(from.path, id, o)
	return done, reports, err
}

// union is what a mailbox holds after a move: the entries that were in the new file
// already, which a move that was cut short put there or another program, and then
// those of the old one. An entry in both is taken from the old. tail is an unfinished
// last line of the new file.
func (b *Box) union(old *contents, there []byte) (list []json.RawMessage, tail []byte, err error) {
	left := map[ID]json.RawMessage{}
	for _, e := range old.entries {
		left[e.ID] = e.Raw
	}
	if len(bytes.TrimSpace(there)) > 0 {
		a, err := b.format.scan(there, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range parse(there, a, nil, nil).entries {
			raw, both := left[e.ID]
			if !both {
				raw = e.Raw
			}
			delete(left, e.ID)
			list = append(list, raw)
		}
		if b.layout == JSONL && a.torn >= 0 {
			tail = there[a.torn:]
		}
	}
	for _, e := range old.entries {
		if raw, ok := left[e.ID]; ok {
			list = append(list, raw)
		}
	}
	return list, tail, nil
}

// build lays entries out in the box's format. They keep their bytes, up to white
// space between tokens where a line needs it.
func (b *Box) build(list []json.RawMessage, tail []byte) []byte {
	if b.layout == JSONL {
		var out []byte
		for _, raw := range list {
			out = appendLine(out, raw)
		}
		return append(out, tail...)
	}
	if len(list) == 0 {
		return []byte(emptyArray)
	}
	return slices.Concat([]byte{'['}, join(list), []byte("\n]"))
}

// ReadArchived reads an archived mailbox file, of either layout by its extension. It takes no lock
// and repairs nothing: from a broken file it returns the entries that can be read, and an error
// that says so.
func ReadArchived(path string) ([]Entry, error) {
	as := Array
	if strings.HasSuffix(path, JSONL.Extension()) {
		as = JSONL
	}
	data, err := atomicfile.ReadFile(path, atomicfile.Options{})
	if err != nil {
		return nil, err
	}
	a, err := formatOf(as).scan(data, nil)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return parse(data, a, nil, nil).entries, err
}

// WriteLines writes entries to a file of lines that only the caller writes. The entries are as in
// their mailbox, except for white space between tokens. A Dir with the layout JSONL reads the file.
// Its data is flushed to the disk.
func WriteLines(path string, entries []Entry) error {
	return atomicfile.WriteFile(path, linesOf(entries), atomicfile.Options{Sync: atomicfile.SyncData})
}
