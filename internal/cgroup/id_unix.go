//go:build unix

package cgroup

import (
	"errors"
	"os"
	"syscall"
)

// identify returns the id of a directory: of a control group it is never used again.
func identify(path string) (uint64, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.IsDir() {
		return 0, errors.New(path + " is no control group")
	}
	return st.Ino, nil
}
