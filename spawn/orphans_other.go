//go:build !linux && !darwin

package spawn

import "errors"

func ownUser(stat) bool { return true }

func sameNamespace(int) bool { return true }

func environAt(stat) ([]string, error) { return nil, errors.ErrUnsupported }

// Argv is what a process runs. This system does not tell.
func Argv(int) []string { return nil }

func serviceManager(stat) bool { return false }

func adopter() int { return 1 }
