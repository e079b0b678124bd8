//go:build !linux

package spawn

func subreaper() error { return nil }

func reapOrphans() (int, error) { return 0, nil }

// markedBelow returns none: an orphan is not below this program here.
func markedBelow(string) ([]stat, error) { return nil, nil }

// sameNamespace is true: there is one.
func sameNamespace(int) bool { return true }

// Orphans are given to process 1.
func serviceManager(stat) bool { return false }

func adopter() int { return 1 }
