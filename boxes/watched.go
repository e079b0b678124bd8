package boxes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"waggle/mailbox"
	"waggle/protocol"
)

// Values of Change.What.
const (
	Vanished = "vanished" // the directory was deleted, or renamed as Claude Code does when a session ends
	Replaced = "replaced" // another directory has its name
	Returned = "returned" // it is there again
)

// Change is a change of a team's directory: its owner logs it and appends it to its journal.
type Change struct {
	What  string
	Path  string
	Moved string // where the directory was renamed to, while it can be found there
	Saved string // the directory in the archive where the mail is kept that was last read
	Err   error  // why something could not be kept
}

// LogTo logs the change.
func (n *Change) LogTo(log *slog.Logger) {
	switch n.What {
	case Returned:
		log.Info("the team's directory is there again", "path", n.Path)
	case Replaced:
		log.Warn("the team's directory was replaced by another", "path", n.Path, "moved", n.Moved, "saved", n.Saved)
	default:
		log.Warn("the team's directory is gone: nothing can be sent or received there", "path", n.Path, "moved", n.Moved, "saved", n.Saved)
	}
}

// Watched wraps a member's mailbox and detects that the team's directory was removed
// or replaced; a plain mailbox would only look empty then. It keeps the entries that
// it read last, so that they can be archived. It creates nothing in the wire tree.
// While the directory is gone, or the file cannot be locked, it stores entries in memory, so
// that its owner still receives what it fetches from a journal; when the directory is back, what
// remains is written there. Methods may be called from several goroutines.
type Watched struct {
	store mailbox.Store
	o     WatchOptions

	mu   sync.Mutex
	was  os.FileInfo // the directory; nil while it does not exist
	last []mailbox.Entry
	away mailbox.Store   // the mailbox while the directory does not exist; nil before
	held []mailbox.Entry // unread ones that the file does not take (hold)
}

var _ mailbox.Store = (*Watched)(nil)

// WatchOptions are the settings of Watch.
type WatchOptions struct {
	Dir     string              // the team's directory
	Archive string              // a private directory that outlives it
	Name    protocol.MemberName // whose mailbox it is
	Now     func() time.Time
	// Tree: also keep a copy of the whole directory, if it was renamed and is
	// still there. For one process of a team.
	Tree bool
	// Gone: the journal already has the record that the directory is gone.
	Gone bool
	// Boxes are the team's mailboxes, and Aside a private directory that is never emptied: a file
	// that blocks this mailbox is moved there. "": it stays.
	Boxes mailbox.Boxes
	Aside string
	// Trouble is told why the mailbox cannot be read now, which then counts as empty, and
	// nil when it can again. nil: an error is the caller's.
	Trouble func(error)
	// Locked is told why the file of the mailbox cannot be changed now, and nil when it can again: what is
	// appended is in memory, and what is marked is marked later. nil: an error is the caller's.
	Locked func(error)
	// Report is told what was set aside; may be nil.
	Report func(mailbox.Report)
}

// Watch reads the state of the directory for the first time.
func Watch(s mailbox.Store, o WatchOptions) *Watched {
	h := &Watched{store: s, o: o}
	h.was, _ = h.directory()
	return h
}

// directory is the team's directory, if it is one.
func (h *Watched) directory() (os.FileInfo, error) {
	info, err := os.Lstat(h.o.Dir)
	if err == nil && !info.IsDir() {
		return nil, fs.ErrNotExist
	}
	return info, err
}

// now returns the current mailbox: the one in memory while the directory does not exist.
func (h *Watched) now(ctx context.Context) (mailbox.Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.directory()
	if errors.Is(err, fs.ErrNotExist) {
		if h.away == nil {
			h.away = mailbox.NewMemory(mailbox.Options{})
			if err := h.away.Append(ctx, envelopes(h.held)...); err != nil {
				return nil, err
			}
			h.held = nil
		}
		return h.away, nil
	}
	if h.away == nil {
		return h.store, nil
	}
	left, err := h.away.Unread(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.store.Append(ctx, envelopes(left)...); err != nil {
		if h.o.Trouble != nil && ctx.Err() == nil {
			h.o.Trouble(err)
			return h.away, nil // until it can be used
		}
		return nil, err
	}
	h.away = nil
	return h.store, nil
}

// Append implements mailbox.Store.
func (h *Watched) Append(ctx context.Context, entries ...protocol.Envelope) error {
	s, err := h.now(ctx)
	if err != nil {
		return err
	}
	err = s.Append(ctx, entries...)
	if s != h.store || errors.Is(err, fs.ErrNotExist) || h.locked(ctx, err) == nil {
		return err
	}
	return h.hold(ctx, entries)
}

// Unread implements mailbox.Store.
func (h *Watched) Unread(ctx context.Context) ([]mailbox.Entry, error) {
	s, err := h.now(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.Unread(ctx)
	if err != nil || s != h.store {
		return list, err
	}
	return h.withHeld(list), nil
}

// MarkRead implements mailbox.Store.
func (h *Watched) MarkRead(ctx context.Context, ids ...mailbox.ID) error {
	s, err := h.now(ctx)
	if err != nil {
		return err
	}
	if s != h.store {
		return s.MarkRead(ctx, ids...)
	}
	if ids = h.give(ids); len(ids) == 0 {
		return nil
	}
	err = s.MarkRead(ctx, ids...)
	if h.locked(ctx, err) != nil {
		return nil // the flag is output: the journal has the entries that were read
	}
	return err
}

// Entries implements mailbox.Store and remembers what was in the file.
func (h *Watched) Entries(ctx context.Context) ([]mailbox.Entry, error) {
	s, err := h.now(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.Entries(ctx)
	if err != nil && s == h.store && h.o.Trouble != nil {
		return h.unusable(ctx, err)
	}
	if err != nil || s != h.store {
		return list, err
	}
	if h.o.Trouble != nil {
		h.o.Trouble(nil)
	}
	h.mu.Lock()
	if info, err := h.directory(); err == nil && h.was != nil && os.SameFile(info, h.was) {
		h.last = list
	}
	h.mu.Unlock()
	return h.withHeld(list), nil
}

// Check returns what happened to the directory since the last call, nil when nothing has. A failed
// check is not reported as a change.
func (h *Watched) Check() *Change {
	info, err := h.directory()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	was, gone := h.was, h.o.Gone
	c := &Change{Path: h.o.Dir}
	switch {
	case err != nil && (was != nil || !gone):
		c.What, h.was, h.o.Gone = Vanished, nil, true
	case err == nil && was == nil, err == nil && gone:
		h.was, h.o.Gone = info, false
		c.What = Returned
		return c
	case err == nil && !os.SameFile(info, was):
		c.What, h.was = Replaced, info
	default:
		return nil
	}
	h.save(c, was)
	h.last = nil
	return c
}

// save keeps what can be kept of a directory that lost its name.
func (h *Watched) save(c *Change, was os.FileInfo) {
	if was != nil {
		c.Moved = moved(h.o.Dir, was)
	}
	place := filepath.Join(h.o.Archive, c.What+"-"+h.o.Now().UTC().Format("20060102T150405.000Z"))
	var errs []error
	if len(h.last) > 0 {
		if err := os.MkdirAll(place, 0o700); err != nil {
			errs = append(errs, err)
		} else if err := mailbox.WriteLines(filepath.Join(place, string(h.o.Name)+mailbox.JSONL.Extension()), h.last); err != nil {
			errs = append(errs, err)
		} else {
			c.Saved = place
		}
	}
	if c.Moved != "" && h.o.Tree {
		// The process that renamed it may be removing it at this moment, so missing files are
		// ignored.
		if err := os.MkdirAll(place, 0o700); err != nil {
			errs = append(errs, err)
		} else if err := os.CopyFS(filepath.Join(place, "team"), os.DirFS(c.Moved)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			c.Saved = place
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		c.Err = fmt.Errorf("keep what team directory %s held: %w", h.o.Dir, err)
	}
}

// moved finds the directory under another name beside its old one: Claude Code
// renames it to <team>.deleted-<uuid> before it removes it (protocol §3).
func moved(dir string, was os.FileInfo) string {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return ""
	}
	base := filepath.Base(dir)
	for _, e := range entries {
		if !e.IsDir() || e.Name() == base || !strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), base) {
			continue
		}
		if info, err := e.Info(); err == nil && os.SameFile(info, was) {
			return filepath.Join(filepath.Dir(dir), e.Name())
		}
	}
	return ""
}
