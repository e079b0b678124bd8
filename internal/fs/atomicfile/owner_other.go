//go:build !unix

package atomicfile

import "io/fs"

// ForeignOwner finds none: elsewhere a file in the user's own place is theirs.
func ForeignOwner(fs.FileInfo) (uid int, foreign bool) { return -1, false }
