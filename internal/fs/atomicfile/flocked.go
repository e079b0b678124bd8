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
	held, err := flocked(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("flock: %w", err)
	}
	return held, nil
}

func flocked(path string) (bool, error) {
	path, err := canonical(path)
	if err != nil {
		return false, err
	}
	fi, err := os.Lstat(path)
	if err != nil || notRegular(fi) {
		return false, err
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|openFlags))
	free, err := l.TryRLock()
	if free {
		return false, l.Unlock()
	}
	return err == nil, err
}
