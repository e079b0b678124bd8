//go:build unix && !linux

package realpath

import "testing"

// WithoutOpenat2 runs nothing again: this system never has openat2.
func WithoutOpenat2(*testing.T, func(*testing.T)) {}
