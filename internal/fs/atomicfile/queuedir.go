package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
)

// queuePath names the queue file of the lock. When ok is false there is no directory that belongs
// to us alone, and only the lock directory is used.
func (l *lock) queuePath() (path string, ok bool) {
	if l.o.Queue == "" {
		return sibling(l.path, "flk"), true
	}
	if !private(l.o.Queue) {
		return "", false
	}
	sum := sha256.Sum256([]byte(l.path))
	return filepath.Join(l.o.Queue, hex.EncodeToString(sum[:])+".flk"), true
}

// private makes a directory of mode 0700, or reports whether what is there is one of ours.
func private(dir string) bool {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false
	}
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || !ownedByUs(fi) {
		return false
	}
	return fi.Mode().Perm()&^fs.FileMode(0o700) == 0 || os.Chmod(dir, 0o700) == nil
}

// ownedByUs reports a file of the user that this process runs as.
func ownedByUs(fi fs.FileInfo) bool {
	_, foreign := ForeignOwner(fi)
	return !foreign
}
