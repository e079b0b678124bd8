//go:build !linux && !darwin

package spawn

import (
	"context"
	"errors"
)

func ownUser(stat) bool { return true }

func environAt(stat) ([]string, error) { return nil, errors.ErrUnsupported }

// Argv is what a process runs. This system does not tell.
func Argv(int) []string { return nil }

func owner(int) (uint32, error) { return 0, errors.ErrUnsupported }

func usageStats() ([]stat, error) { return nil, errors.ErrUnsupported }

// awaitExit does nothing: this system does not report the end of a process.
func awaitExit(context.Context, Identity) {}
