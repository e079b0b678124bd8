package atomicfile

import (
	"context"
	"time"
)

// patience is how long a reader waits for a torn write to become whole, try by
// try: Claude Code writes config.json and task files in place (protocol §2.2, §2.3).
// About 100 ms.
var patience = [...]time.Duration{
	4 * time.Millisecond, 8 * time.Millisecond, 16 * time.Millisecond, 30 * time.Millisecond, 42 * time.Millisecond,
}

// Settle calls try until what it returns is not torn, or about 100 ms have
// passed: another program may be in the middle of an in-place write.
func Settle(ctx context.Context, torn func(error) bool, try func() error) error {
	for _, wait := range patience {
		err := try()
		if !torn(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	return try()
}
