//go:build !unix

package logfile

import "io/fs"

// Alone reports whether a file has one name; that is not known here.
func Alone(fs.FileInfo) bool { return true }
