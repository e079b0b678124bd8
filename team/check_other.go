//go:build !unix

package team

import "io/fs"

func foreignOwner(fs.FileInfo) (uid int, other bool) { return 0, false }

// foreignDevice reports whether a rename may have failed because the two paths are on different
// volumes. It is always true here: a copy then fails with the real error.
func foreignDevice(error) bool { return true }
