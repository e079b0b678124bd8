//go:build unix && !linux

package realpath

import "testing"

// WithoutOpenat2 does nothing: this system never has openat2.
func WithoutOpenat2(*testing.T, func(*testing.T)) {}
