//go:build !unix

package claudesessions

import "io/fs"

// own is false: whose a file is cannot be told here, and no client of this system has
// such a socket.
func own(fs.FileInfo) bool { return false }
