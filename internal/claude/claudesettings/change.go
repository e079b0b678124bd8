package claudesettings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/aymanbagabas/go-udiff"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonc"
)

// How says what a change does.
type How string

// Kinds of changes.
const (
	Unchanged How = "unchanged"
	Installed How = "installed" // entries were added or brought up to date
	Restored  How = "restored"  // the bytes from before the install are back
	Deleted   How = "deleted"   // there was no file before the install, and there is none again
	Removed   How = "removed"   // the file has changed since: only our entries were removed
)

// Change is what is to become of one settings file.
type Change struct {
	place
	How     How
	After   []byte  // what it is to hold
	record  *Record // the record that the store keeps afterwards; nil: none
	earlier *Record // what it keeps until then
}

// Diff is the change as a unified diff; "" when nothing changes.
func (c *Change) Diff() string {
	if c.How == Unchanged {
		return ""
	}
	from, to := c.Path, c.Path
	if !c.Exists {
		from = os.DevNull
	}
	if c.How == Deleted {
		to = os.DevNull
	}
	return udiff.Unified(from, to, string(c.data), string(c.After))
}

// Install reads a settings file and says what an install would make of it.
func (s Store) Install(path, program string) (*Change, error) {
	p, r, err := s.open(path)
	if err != nil {
		return nil, err
	}
	recorded, before := r.before()
	next := &Record{V: 1, Client: s.Client, Path: p.Real, Program: program, InstalledAt: s.Now().UTC(), Existed: p.Exists, MadeDir: p.noDir}
	if r != nil {
		if f, err := s.Client.parse(p.data); err == nil && f.has(s.Client.Events()[0].Name, recorded) {
			next.InstalledAt = r.InstalledAt
		}
	}
	base := p.data
	if r != nil && p.Exists && bytes.Equal(p.data, r.Written) {
		base, next.Existed, next.MadeDir = r.Original, r.Existed, r.MadeDir
	}
	c := &Change{place: *p, How: Installed, earlier: r, record: next}
	if c.After, err = s.Client.Install(base, program, recorded); err != nil {
		return nil, unreadable(path, err)
	}
	if next.Original, err = s.Client.Uninstall(base, before, recorded); err != nil {
		return nil, unreadable(path, err)
	}
	next.Written = c.After
	if p.Exists && bytes.Equal(c.After, p.data) {
		c.How, c.record = Unchanged, r
		return c, nil
	}
	return c, p.writable()
}

// Uninstall reads a settings file and says what an uninstall would make of it.
func (s Store) Uninstall(path string) (*Change, error) {
	p, r, err := s.open(path)
	if isMissing(err) {
		return &Change{place: place{Path: path, Real: path}, How: Unchanged}, nil
	}
	if err != nil {
		return nil, err
	}
	c := &Change{place: *p, How: Removed, earlier: r}
	switch {
	case !p.Exists:
		c.How = Unchanged
		return c, nil
	case r != nil && bytes.Equal(p.data, r.Written) && r.Existed:
		c.How, c.After = Restored, r.Original
	case r != nil && bytes.Equal(p.data, r.Written):
		c.How = Deleted
	default:
		recorded, before := r.before()
		if c.After, err = s.Client.Uninstall(p.data, before, recorded); err != nil {
			return nil, unreadable(path, err)
		}
		if bytes.Equal(c.After, p.data) {
			c.How = Unchanged
			return c, nil
		}
	}
	return c, p.writable()
}

func (s Store) open(path string) (*place, *Record, error) {
	p, err := s.find(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.record(p.Real)
	return p, r, err
}

func unreadable(path string, err error) error {
	return &RefusedError{path, "cannot be edited: " + err.Error(), "mend the file, then try again", err}
}

// has reports whether there is an entry of ours for an event.
func (f *file) has(event, recorded string) bool {
	return slices.ContainsFunc(f.entries(recorded), func(e Entry) bool { return e.Ours && e.Event == event })
}

// Apply makes a change, if the file still is the one that the change was made from. The store keeps
// the old bytes before the file is written, so that a crash between the two leaves nothing that
// cannot be undone.
func (s Store) Apply(ctx context.Context, c *Change) (err error) {
	if c.How == Unchanged && c.record == c.earlier {
		return nil
	}
	release, err := s.lock(ctx, c.Real)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	now, err := s.find(c.Path)
	if err != nil {
		return err
	}
	if now.Real != c.Real || now.Exists != c.Exists || !bytes.Equal(now.data, c.data) {
		return changed(c.Path)
	}
	if c.How == Unchanged {
		return s.keep(c.Real, nil)
	}
	if c.record != nil {
		if err := s.keep(c.Real, c.record); err != nil {
			return err
		}
	}
	if err := c.publish(ctx); err != nil {
		if c.record != nil {
			err = errors.Join(err, s.keep(c.Real, c.earlier))
		}
		return err
	}
	if c.record == nil {
		return s.keep(c.Real, nil)
	}
	return nil
}

func changed(path string) error {
	return &RefusedError{path, "was changed by another program since it was shown; nothing was written", "run the command again and check the new difference", ErrChanged}
}

// publish gives the file its new content.
func (c *Change) publish(ctx context.Context) error {
	dir := filepath.Dir(c.Real)
	if c.How == Deleted {
		return c.delete(dir)
	}
	if c.noDir {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return &RefusedError{c.Path, "cannot be made: " + err.Error(), "", err}
		}
	}
	err := atomicfile.Edit(ctx, c.Real, atomicfile.Options{Sync: atomicfile.SyncFull, MaxSize: jsonc.MaxSize}, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		have, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		if v.Exists() != c.Exists || !bytes.Equal(have, c.data) {
			return nil, changed(c.Path)
		}
		return []atomicfile.Splice{{Delete: v.Size(), Insert: c.After}}, nil
	})
	c.tidy(dir)
	if err != nil && c.noDir {
		_ = os.Remove(dir) // fails when it is not empty
	}
	if errors.Is(err, fs.ErrPermission) {
		return &RefusedError{c.Path, "cannot be written: " + err.Error(), "check the owner of " + dir + " and its mode", err}
	}
	return err
}

// delete removes a file that an install made.
func (c *Change) delete(dir string) error {
	id, err := atomicfile.Identify(c.Real)
	if err != nil {
		return err
	}
	have, err := atomicfile.ReadFile(c.Real, atomicfile.Options{MaxSize: jsonc.MaxSize})
	if err != nil {
		return err
	}
	if !bytes.Equal(have, c.data) {
		return changed(c.Path)
	}
	gone, err := atomicfile.Remove(c.Real, id, atomicfile.Options{Sync: atomicfile.SyncFull})
	if err != nil {
		return fmt.Errorf("remove %s: %w", c.Real, err)
	}
	if !gone {
		return changed(c.Path)
	}
	if c.earlier != nil && c.earlier.MadeDir {
		_ = os.Remove(dir) // stays when it has other files by now
	}
	return nil
}

// tidy removes the files that the edit keeps beside the file for the next edit. Every editor of the
// file in this package holds the store's lock, so no process waits on them.
func (c *Change) tidy(dir string) {
	for _, suffix := range []string{"flk", "shadow"} {
		_ = os.Remove(filepath.Join(dir, "."+filepath.Base(c.Real)+"."+suffix))
	}
}
