package team

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
)

// step002 moves the mailboxes of a team of 2.1.150 whose name was not all lower case to the team's
// own directory (protocol §9.2 row 56): other programs look only there. Two mailboxes with messages
// are not merged: the step stops. A running client of that version writes to the old directory, so
// its team must be ended first.
var step002 = step{
	version: "1.1.0",
	what:    "put the mailboxes under the team's own name",
	files: func(ctx context.Context, t *Team, dry bool) ([]string, error) {
		from, ok := t.spelledInboxes()
		if !ok {
			return nil, nil
		}
		to := t.root.InboxesDir(t.name)
		names := filesWith(from, ".json")
		move := func(dry bool) error {
			for _, name := range names {
				if err := t.takeMailbox(ctx, filepath.Join(from, name), filepath.Join(to, name), dry); err != nil {
					return err
				}
			}
			return nil
		}
		var done []string
		for _, name := range names {
			done = append(done, fmt.Sprintf("%s moved from %s", name, from))
		}
		if err := move(true); err != nil || dry { // all of them can be moved, or none is
			return done, err
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return nil, err
		}
		if err := move(false); err != nil {
			return nil, err
		}
		removeLeftLocks(from)
		_, _ = os.Remove(from), os.Remove(filepath.Dir(from)) // unless something else is in it
		return done, nil
	},
}

// takeMailbox moves a mailbox under its lock to a place where there is none, or an
// empty one.
func (t *Team) takeMailbox(ctx context.Context, from, to string, dry bool) error {
	o := t.o
	o.Rank, o.MaxSize = atomicfile.RankInbox, maxBox
	release, err := atomicfile.Lock(ctx, from, o)
	if err != nil {
		return err
	}
	empty := func(path string) (bool, error) {
		data, err := atomicfile.ReadFile(path, o)
		data = bytes.TrimSpace(data)
		return len(data) == 0 || bytes.Equal(data, []byte("[]")), err
	}
	move := func() error {
		if exists(to) {
			mine, err1 := empty(from)
			there, err2 := empty(to)
			switch {
			case err1 != nil || err2 != nil:
				return errors.Join(err1, err2)
			case mine && !dry:
				return os.Remove(from)
			case !mine && !there:
				return fmt.Errorf("%s and %s both have messages: put them together first", from, to)
			}
		}
		if dry {
			return nil
		}
		return os.Rename(from, to)
	}
	return errors.Join(move(), release())
}

// removeLeftLocks removes the lock files that moved mailboxes have left.
func removeLeftLocks(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if hiddenLock(e.Name()) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
