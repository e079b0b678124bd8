package teamfile

import (
	"errors"
	"io/fs"

	"waggle/internal/fs/atomicfile"
	"waggle/record"
)

// Changed reports whether the team file, or an agent definition that it names, differs from the one
// that was accepted. A file that was
// removed or cannot be read does not count as changed.
func (f *File) Changed() (bool, error) {
	data, err := ReadBounded(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, atomicfile.ErrNotRegular):
		return false, nil
	case errors.Is(err, atomicfile.ErrTooLarge):
		return true, nil
	case err != nil:
		return false, err
	}
	return record.HashText(string(data)) != f.SHA256 || len(f.ChangedTypes()) > 0, nil
}
