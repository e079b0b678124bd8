package journal

import (
	"io/fs"
	"os"
)

const openFlags = 0

// fileID is equal for all files on Windows: there the chain detects a replaced file.
type fileID struct{ known bool }

func identify(fs.FileInfo) fileID { return fileID{true} }

// othersWrite is for access lists to answer there, not for mode bits.
func othersWrite(fs.FileInfo) bool { return false }

// syncDir does nothing: Windows cannot flush directories.
func syncDir(string, func(*os.File) error) error { return nil }
