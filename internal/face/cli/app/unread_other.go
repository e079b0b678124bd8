//go:build !unix

package app

import (
	"context"
	"os"
)

// untilUnread waits for the end of ctx: here only a write shows that nobody reads an output.
func untilUnread(ctx context.Context, _ *os.File) { <-ctx.Done() }
