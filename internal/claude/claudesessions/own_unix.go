//go:build unix

package claudesessions

import (
	"io/fs"
	"os"
	"syscall"
)

// own reports whether a file is this user's.
func own(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
