//go:build !linux

package atomicfile

import "os"

// turn is a place in a line. This system has no locks for it: every waiter just tries.
type turn struct{ n int64 }

func lineUp(string) *turn    { return nil }
func (t *turn) ahead() int64 { return 0 }
func (t *turn) leave()       {}
func lined(string) bool      { return false }

// hasWriter cannot be answered here: there are no leases.
func hasWriter(*os.File) bool { return false }

// Holder cannot be answered here.
func Holder(string) int { return 0 }
