package spawn

import (
	"context"
	"fmt"
)

// WaitGone waits until exactly this process does not run any more, whoever started it: it has
// ended, or was never there. It need not be a child of this program. A recycled pid is another
// process and is not waited for. The error is that of ctx.
//
// On Linux and macOS the kernel reports the end. Elsewhere, and where the kernel has no handle, it
// is polled every 50 ms. A process that cannot be inspected counts as running.
func WaitGone(ctx context.Context, id Identity) error {
	if id.Ended() {
		return nil
	}
	awaitExit(ctx, id)
	// Polled after the kernel's report too: it may come a moment before the process is a zombie.
	if ended, _ := until(ctx, func() (bool, error) { return id.Ended(), nil }); !ended {
		return fmt.Errorf("spawn: wait for the end of %d: %w", id.PID, ctx.Err())
	}
	return nil
}
