package process

import (
	"context"

	"waggle/operator"
)

// ResolveBackend says what a word means in an environment.
func ResolveBackend(ctx context.Context, env []string, word string, attended bool) (string, error) {
	return Of(operator.Operator{Environ: env}).ResolveBackend(ctx, word, attended)
}

// ExitOf is how a worker inside of this process has ended.
var ExitOf = exitOf
