package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// Flocked reports whether a process holds the flock of path (Flock, TryFlock); what is not a regular file is held by
// none. It makes and changes no file. A TryFlock of another process waits for the call.
func Flocked(path string) (bool, error) {
	path, err := canonical(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("flock: %w", err)
	}
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("flock: %w", err)
	}
	if notRegular(fi) {
		return false, nil
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|openFlags))
	free, err := l.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("flock: %w", err)
	case free:
		return false, l.Unlock()
	}
	return true, nil
}
