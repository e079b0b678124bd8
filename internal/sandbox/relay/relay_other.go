//go:build !linux

package relay

import (
	"errors"
	"fmt"
	"io"
	"runtime"
)

func run(Config, []string) (int, error) {
	return CodeFailed, fmt.Errorf("the relay on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func probe(string, []string, io.Writer) (int, error) {
	return CodeFailed, fmt.Errorf("the sandbox's probe on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// LandlockABI is the version of Landlock that this kernel has, 0 for none.
func LandlockABI() int { return 0 }

// IDOf returns which file is at a path without links.
func IDOf(string) (ID, error) { return ID{}, nil }
