//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs reports a file of the user that this process runs as.
func ownedByUs(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
