package boxes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"waggle/internal/fs/atomicfile"
	"waggle/mailbox"
)

// unusable handles a mailbox that cannot be read: the file at its path is set aside, and until that
// works the mailbox counts as empty. Its messages are in that file, or in their senders' journals.
func (h *Watched) unusable(ctx context.Context, why error) ([]mailbox.Entry, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if inTheWay(why) && h.o.Aside != "" {
		moved, err := h.setAside()
		why = errors.Join(why, err)
		if moved {
			list, err := h.store.Entries(ctx)
			if err == nil {
				h.o.Trouble(nil)
				return list, nil
			}
			why = err
		}
	}
	h.o.Trouble(why)
	return nil, ctx.Err()
}

// inTheWay reports an error of what the path leads to, which does not pass.
func inTheWay(err error) bool {
	return errors.Is(err, atomicfile.ErrNotRegular) || errors.Is(err, atomicfile.ErrTooLarge) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// setAside moves what is no mailbox from where the mailbox is, or its directory.
func (h *Watched) setAside() (moved bool, err error) {
	var errs []error
	for i, dir := range h.o.Boxes.Dirs() {
		switch info, err := os.Stat(dir); {
		case errors.Is(err, fs.ErrNotExist) && !dangling(dir):
			continue
		case err != nil || !info.IsDir():
			errs = append(errs, h.put(dir, &moved))
			continue
		}
		as := []mailbox.Layout{mailbox.Array, mailbox.JSONL}[i]
		path := filepath.Join(dir, string(h.o.Name)+as.Extension())
		if info, err := os.Lstat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > atomicfile.DefaultMaxSize) {
			errs = append(errs, h.put(path, &moved))
		}
	}
	return moved, errors.Join(errs...)
}

func dangling(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (h *Watched) put(path string, moved *bool) error {
	place, err := atomicfile.SetAside(path, h.o.Aside, h.o.Now())
	if err != nil || place == "" {
		return err
	}
	*moved = true
	if h.o.Report != nil {
		h.o.Report(mailbox.Report{Path: path, What: fmt.Sprintf("%s was in the way of a mailbox and is set aside", path), Quarantine: place})
	}
	return nil
}
