//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"waggle/internal/fs/atomicfile"
)

// openFlags are added to every open: no symbolic link in the last component, and
// no waiting for the other end of a FIFO.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// fileID identifies a file, so that a new file under the same name is noticed.
type fileID struct{ dev, ino uint64 }

func identify(st fs.FileInfo) fileID {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(s.Dev), uint64(s.Ino)}
	}
	return fileID{}
}

// othersWrite reports whether users other than the owner may write.
func othersWrite(st fs.FileInfo) bool { return st.Mode()&0o022 != 0 }

// syncDir flushes a directory's entries, where the file system can do that.
func syncDir(path string, sync func(*os.File) error) error {
	d, err := atomicfile.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	err = sync(d)
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
