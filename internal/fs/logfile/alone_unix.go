//go:build unix

package logfile

import (
	"io/fs"
	"syscall"
)

// alone reports whether a file has one name.
func alone(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink == 1
}
