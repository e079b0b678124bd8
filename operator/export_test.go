package operator

import (
	"context"

	"waggle/control"
)

// ResolveBackend says what a word means in an environment.
func ResolveBackend(ctx context.Context, env []string, word string, attended bool) (string, error) {
	return Operator{Environ: env}.resolveBackend(ctx, word, attended)
}

// ExitOf is how a worker inside of this process has ended.
var ExitOf = exitOf

// Edited is the file that a call writes to.
func Edited(c *control.Call) string { return edited(c) }
