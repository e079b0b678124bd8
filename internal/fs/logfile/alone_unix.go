//go:build unix

package logfile

import (
	"io/fs"
	"syscall"
)

// Alone reports whether a file has one name.
func Alone(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink == 1
}
