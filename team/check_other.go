//go:build !unix

package team

import "io/fs"

func foreignOwner(fs.FileInfo) (uid int, other bool) { return 0, false }

// syncDir does nothing: directories cannot be flushed here.
func syncDir(string) error { return nil }
