package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"waggle/internal/backoff"
)

// blockedAfter is how long git works in a confined member's files before they are looked through for one that
// blocks it, each time.
const blockedAfter = time.Second

// readAlways are the files that git opens in a checkout without a look at what they are.
var readAlways = []string{".gitattributes", ".gitignore", ".gitmodules"}

// giveUpBlocked ends a git that works in a confined member's files when one of those that it reads is no plain
// file: it would wait for whoever writes into a named pipe.
func giveUpBlocked(ctx context.Context, giveUp context.CancelCauseFunc, top string) {
	for wait := blockedAfter; backoff.Pause(ctx, wait); wait *= 4 {
		if path := blocking(ctx, top); path != "" {
			giveUp(fmt.Errorf("%s is no plain file, and git would wait for it: remove it", path))
			return
		}
	}
}

// blocking finds a file that git would wait for, "" for none.
func blocking(ctx context.Context, top string) (found string) {
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil // git cannot read it either
		case slices.Contains(readAlways, e.Name()) && e.Type()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0:
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found
}
