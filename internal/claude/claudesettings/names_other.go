//go:build !unix

package claudesettings

import "io/fs"

// names is 1: an os.FileInfo does not say it here.
func names(fs.FileInfo) uint64 { return 1 }
