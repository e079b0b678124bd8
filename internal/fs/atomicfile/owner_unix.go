//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// ForeignOwner returns whose a file is, and whether that is another user than the one that this process runs as.
func ForeignOwner(fi fs.FileInfo) (uid int, foreign bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(st.Uid), int(st.Uid) != os.Geteuid()
}
