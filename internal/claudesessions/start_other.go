//go:build !linux

package claudesessions

import "time"

// isStart is false: how the client spells a start on this system is not known.
func isStart(string) bool { return false }

func started(string) (time.Time, bool) { return time.Time{}, false }
