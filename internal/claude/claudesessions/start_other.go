//go:build !linux

package claudesessions

import "time"

// isStart is false: how the client spells a start on this system is not known.
func isStart(string) bool { return false }

// hasStart reports whether a start is recorded: it cannot be compared.
func hasStart(start string) bool { return start != "" }

func started(string) (time.Time, bool) { return time.Time{}, false }
