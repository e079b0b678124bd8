//go:build !unix

package logfile

import "io/fs"

// alone reports whether a file has one name; that is not known here.
func alone(fs.FileInfo) bool { return true }
