//go:build unix

package transport

import (
	"io/fs"
	"syscall"
)

// ownerOf is whose a file is.
func ownerOf(fi fs.FileInfo) (uid int, known bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(st.Uid), true
}
