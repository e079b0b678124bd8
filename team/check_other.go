//go:build !unix

package team

// foreignDevice reports whether a rename may have failed because the two paths are on different
// volumes. It is always true here: a copy then fails with the real error.
func foreignDevice(error) bool { return true }
