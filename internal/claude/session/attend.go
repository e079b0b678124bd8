package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/internal/json/jsonobj"
)

// Beside the sessions: these names are no session ids.
const (
	attendDir = ".attended"  // a file for each process that attends, which it holds locked
	awayFile  = ".away.json" // Away
	maxAway   = 4 << 10
)

// attendTries is how often Attend takes another file when another process clears its file away.
const attendTries = 10

// Attend says that this process shows a person what waits, until release or the end of the process: it
// holds the lock of a file of its own, and the kernel releases that when the process ends. It removes the
// files of processes that have ended.
func (s Store) Attend() (release func() error, err error) {
	dir := filepath.Join(s.Dir, attendDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	for _, path := range s.attendFiles() {
		if unlock, held, err := atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease}); err == nil && held {
			_ = os.Remove(path) // the next process tries again
			_ = unlock()        // nobody waits for it
		}
	}
	for range attendTries {
		f, err := os.CreateTemp(dir, "*.lock")
		if err != nil {
			return nil, fmt.Errorf("sessions: %w", err)
		}
		path := f.Name()
		_ = f.Close() // nothing was written
		unlock, held, err := atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease})
		if err != nil {
			return nil, fmt.Errorf("sessions: %w", err)
		}
		if held {
			return func() error {
				_ = os.Remove(path) // where an open file cannot be removed, the next Attend does it
				return unlock()
			}, nil
		}
	}
	return nil, fmt.Errorf("sessions: the lock files in %s are cleared away again and again", dir)
}

// Attending are the processes that attend now, 0 for one whose id the system does not say.
func (s Store) Attending() (pids []int) {
	for _, path := range s.attendFiles() {
		if held, err := atomicfile.Flocked(path); err == nil && held {
			pids = append(pids, atomicfile.Holder(path))
		}
	}
	return pids
}

func (s Store) attendFiles() []string {
	paths, _ := filepath.Glob(filepath.Join(s.Dir, attendDir, "*.lock")) // of a directory that cannot be read there are none
	return paths
}

// Away is the user's word that answers come from the list, not from the sessions' own dialogs. The zero
// value is off.
type Away struct {
	On    bool       `json:"on"`
	Until *time.Time `json:"until,omitempty"` // nil: until it is turned off
}

// sameTime reports whether two ends are the same; nil: there is none.
func sameTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// At reports whether it holds at a time.
func (a Away) At(now time.Time) bool { return a.On && (a.Until == nil || now.Before(*a.Until)) }

// AwayError reports a file of the user's word that is none: it is neither on nor off, and never replaced.
type AwayError struct {
	Path string
	Why  string
}

func (e *AwayError) Error() string { return fmt.Sprintf("away: %s %s", e.Path, e.Why) }

// Away reads the user's word; without a file it is off. The error is an *AwayError where the file is not as SetAway
// writes it.
func (s Store) Away() (Away, error) {
	path := filepath.Join(s.Dir, awayFile)
	b, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: maxAway})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Away{}, nil
	case errors.Is(err, atomicfile.ErrTooLarge):
		return Away{}, &AwayError{path, fmt.Sprintf("is larger than %d bytes", maxAway)}
	case err != nil:
		return Away{}, fmt.Errorf("away: %s: %w", path, err)
	}
	a, why := decodeAway(b)
	if why != "" {
		return Away{}, &AwayError{path, why}
	}
	return a, nil
}

// decodeAway decodes the user's word, by the exact names of its fields. why is what is wrong with it.
func decodeAway(b []byte) (a Away, why string) {
	o, err := jsonobj.Parse(b)
	if err != nil {
		return a, "is no JSON object: " + err.Error()
	}
	if twice := o.Duplicates(); len(twice) > 0 {
		return a, "has " + strings.Join(twice, ", ") + " more than once"
	}
	on, _ := o.Get("on")
	if json.Unmarshal(on, &a.On) != nil || jsonobj.TypeOf(on) == "null" {
		return Away{}, `does not say "on": true or false`
	}
	if until, ok := o.Get("until"); ok && json.Unmarshal(until, &a.Until) != nil {
		return Away{}, `has an "until" that is no time`
	}
	return a, ""
}

// SetAway replaces the user's word. changed is false where it was the same. A file that cannot be read stays,
// and is the error.
func (s Store) SetAway(ctx context.Context, a Away) (changed bool, err error) {
	err = s.edit(ctx, awayFile, func(path string) error {
		was, err := s.Away()
		if err != nil || a.On == was.On && sameTime(a.Until, was.Until) {
			return err
		}
		err = jsonfile.WriteIndent(path, a, atomicfile.Options{Perm: 0o600})
		changed = err == nil
		return err
	})
	return changed, err
}

// edit changes a file beside the sessions under its lock. It makes the store.
func (s Store) edit(ctx context.Context, name string, change func(path string) error) (err error) {
	if err := s.Prepare(); err != nil {
		return err
	}
	path := filepath.Join(s.Dir, name)
	release, err := atomicfile.Flock(ctx, path+".lock", atomicfile.Options{})
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	return change(path)
}
