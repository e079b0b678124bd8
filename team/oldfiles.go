package team

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"waggle/protocol"
)

// PutFilesAway archives the files of an earlier member: it moves the log, the status and the
// artifacts in the member's directory below tasks/ to the archive, and returns the archive's path,
// "" when there are none. The next member of that name then starts with an empty directory. No
// member may use the name.
func (t *Team) PutFilesAway(name protocol.MemberName) (place string, err error) {
	place, err = t.putFilesAway(name)
	return place, t.failed("put files away", err)
}

func (t *Team) putFilesAway(name protocol.MemberName) (string, error) {
	dir := t.root.MemberDir(t.name, name)
	left, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && left.IsDir() && !holdsFiles(dir) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(t.archive(), 0o700); err != nil {
		return "", err
	}
	place := freePath(t.archiveStem(name), "")
	if err := moveDir(filepath.Dir(dir), string(name), place); err != nil {
		return "", err
	}
	return place, nil
}

// holdsFiles reports a directory that has more in it than empty directories.
func holdsFiles(dir string) bool {
	found := errors.New("there is one")
	return fs.WalkDir(os.DirFS(dir), ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return found
		}
		return nil
	}) != nil
}
