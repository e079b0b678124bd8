package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
	"waggle/layout"
	"waggle/protocol"
)

// Box is a mailbox in one file of a known layout. It caches the content that it read last, so that
// reading an unchanged file costs one stat.
type Box struct {
	path   string
	layout Layout
	format format
	o      Options
	// where says in which layout the mailbox is now; nil for one that never moves.
	where func() (layout.Found, error)

	mu          sync.Mutex // guards the fields below; never held while waiting for the file's lock
	last        *contents
	lastID      atomicfile.Identity // identity of last; zero when the file must be read again
	quarantined map[string]string   // path of the quarantine file, by hash of the broken bytes
	torn        tornLine
}

var _ Store = (*Box)(nil)

// maxCached is the size up to which a file's content is kept in memory: that of
// some 100,000 messages.
const maxCached = 64 << 20

func newBox(path string, l Layout, o Options) *Box {
	return &Box{path: path, layout: l, format: formatOf(l), o: o}
}

// Path returns the mailbox file.
func (b *Box) Path() string { return b.path }

func (b *Box) file() atomicfile.Options { return b.o.file() }

func (b *Box) now() time.Time { return b.o.now() }

// Append adds all entries at the end or none; nil means that they are in the file. It makes the
// inboxes directory if only that is missing. It repairs a broken file first (see Options.Report).
// Errors: *LockedError, ErrTooLarge, *LimitError, fs.ErrNotExist when the team was deleted,
// ErrNotRegular.
func (b *Box) Append(ctx context.Context, entries ...protocol.Envelope) error {
	return b.append(ctx, entries, true)
}

// append is Append that makes the file only with create; without it a missing file is errAbsent.
func (b *Box) append(ctx context.Context, entries []protocol.Envelope, create bool) error {
	if len(entries) == 0 {
		return nil
	}
	all, err := newAddition(ctx, b.format, entries)
	if err != nil {
		return fmt.Errorf("append to %s: %w", b.path, err)
	}
	change := func(v atomicfile.View) ([]atomicfile.Splice, error) {
		if !create && !v.Exists() {
			return nil, errAbsent
		}
		last, _ := b.cached(atomicfile.Identity{})
		add, err := all.lacking(b.format, v, last)
		if err != nil || len(add.entries) == 0 {
			return nil, err
		}
		read, err := b.o.Limits.admit(b.format, v, last, add.entries, add.enc, b.now())
		b.remember(read)
		if err != nil {
			return nil, err
		}
		return b.format.add(v, add.enc)
	}
	err = b.edit(ctx, change)
	if errors.Is(err, fs.ErrNotExist) && b.makeDir() == nil {
		err = b.edit(ctx, change)
	}
	if err == nil {
		// A team that was deleted during the append lost the message with it (trust §6).
		err = b.arrived()
	}
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

// makeDir makes the inboxes directory, never its parents.
func (b *Box) makeDir() error {
	err := os.Mkdir(filepath.Dir(b.path), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Entries returns every entry in file order; a mailbox without a file has none. It takes no lock,
// unless the file stays broken for 30 ms: then Entries repairs it under the lock (not with
// Options.Unmended), and returns a *LockedError when another process holds the lock. A locked
// mailbox is never reported as empty.
func (b *Box) Entries(ctx context.Context) ([]Entry, error) {
	c, err := b.load(ctx, true)
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.entries), nil
}

// Unread is Entries without those whose read flag is true. A missing flag means
// unread (protocol §2.1); so does a flag that is not a boolean, though such an entry
// has Err set.
func (b *Box) Unread(ctx context.Context) ([]Entry, error) {
	c, err := b.load(ctx, false)
	if err != nil {
		return nil, err
	}
	return c.unreads(), nil
}

// MarkRead marks entries read or removes them, as Options.Retention says, and changes no other byte
// of the file. It ignores ids of entries that do not exist any more and, with Keep, of entries that
// are not objects.
func (b *Box) MarkRead(ctx context.Context, ids ...ID) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := atomicfile.Identify(b.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := b.edit(ctx, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		if !v.Exists() {
			return nil, nil
		}
		c, known := b.cached(atomicfile.IdentityOf(v))
		if !known || !c.knows(ids) {
			var err error
			if c, err = contentsOf(b.format, v, c, needIDs(c, ids)); err != nil {
				return nil, err
			}
		}
		return markSplices(b.format, c, ids, b.o.Retention), nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the mailbox was removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("mark read: %w", err)
	}
	b.rotate(ctx)
	return nil
}

// remember caches the content that an append read, so that the next append reads only new bytes. It
// never replaces the content that a reader cached.
func (b *Box) remember(c *contents) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c != nil && len(c.data) <= maxCached && (b.last == nil || b.lastID == (atomicfile.Identity{})) {
		b.last, b.lastID = c, atomicfile.Identity{}
	}
}

// cached returns the content that was read last, and whether a file of this identity still has it.
func (b *Box) cached(now atomicfile.Identity) (last *contents, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.last != nil && now != (atomicfile.Identity{}) && now == b.lastID
}

// load reads the file without a lock and repairs a broken one. Unless all is set, it decodes only
// the entries that Unread needs.
func (b *Box) load(ctx context.Context, all bool) (*contents, error) {
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", b.path, err)
		}
		c, err := b.read(all)
		if err == nil || !invalid(err) {
			return c, err
		}
		switch {
		case try < tornTries:
			if b.o.Hook != nil {
				b.o.Hook("torn")
			}
			if !backoff.Pause(ctx, tornDelay) {
				return nil, fmt.Errorf("read %s: %w", b.path, context.Cause(ctx))
			}
		case b.o.Unmended:
			return b.unmended(err)
		case try == tornTries:
			if merr := b.edit(ctx, b.probe); merr != nil {
				return nil, fmt.Errorf("%s is broken (%w) and could not be repaired: %w", b.path, err, merr)
			}
		default:
			return nil, fmt.Errorf("read %s: %w", b.path, err)
		}
	}
}

// unmended returns the entries that a repair of a broken file would keep.
func (b *Box) unmended(why error) (*contents, error) {
	data, _, err := atomicfile.ReadIdentified(b.path, b.file())
	if errors.Is(err, fs.ErrNotExist) {
		return &contents{}, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := b.format.scan(data, nil)
	if err != nil {
		if !invalid(err) {
			return nil, fmt.Errorf("read %s: %w", b.path, err)
		}
		data, _ = b.format.mend(data, a)
		if a, err = b.format.scan(data, nil); err != nil {
			return nil, fmt.Errorf("read %s: %w", b.path, err)
		}
	}
	b.report([]Report{{Path: b.path, What: fmt.Sprintf("%s is broken (%v): its %d readable entries are shown, and the next write to it repairs it", b.path, why, len(a.elems))}})
	return parse(data, a, nil, nil), nil
}

// probe checks whether the file is whole and changes nothing.
func (b *Box) probe(v atomicfile.View) ([]atomicfile.Splice, error) {
	if !v.Exists() {
		return nil, nil
	}
	data, err := v.Bytes()
	if err == nil {
		_, err = b.format.scan(data, nil)
	}
	return nil, err
}

// read returns the file as it is now.
func (b *Box) read(all bool) (*contents, error) {
	id, err := atomicfile.Identify(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &contents{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	last, same := b.cached(id)
	if same && (last.full || !all) {
		b.noteTorn(last)
		return last, nil
	}
	data, id, err := atomicfile.ReadIdentified(b.path, b.file())
	if errors.Is(err, fs.ErrNotExist) {
		return &contents{}, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := b.format.scan(data, last)
	if err != nil {
		if !invalid(err) {
			err = fmt.Errorf("read %s: %w", b.path, err)
		}
		return nil, err
	}
	var need func([]byte, element) bool
	if !all && (last == nil || !last.full) { // after one call for all entries, later calls decode all too
		need = needUnread(data, a)
	}
	c := parse(data, a, last, need)
	b.noteTorn(c)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.lastID = c, id
	if len(data) > maxCached {
		b.last, b.lastID = nil, atomicfile.Identity{}
	}
	return c, nil
}
