//go:build !unix

package team

import "io/fs"

func foreignOwner(fs.FileInfo) (uid int, other bool) { return 0, false }

// syncDir does nothing: directories cannot be flushed here.
func syncDir(string) error { return nil }

// foreignDevice reports that a rename failed because the two places may not be on
// one volume: what else it can be is found by copying.
func foreignDevice(error) bool { return true }
