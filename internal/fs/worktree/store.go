package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
)

// Store makes and removes the worktrees of one team.
type Store struct {
	Git Git
	// Dir is the directory of the worktrees. It is made, 0700, and must not be in the repository:
	// builds there would use its go.mod and node_modules.
	Dir string
	// Records is a private directory, where members' tools cannot write.
	Records string
	// Aside is told of a record that cannot be read, which then counts as absent; nil:
	// it is an error.
	Aside func(path string) error `json:"-"`
	// Wait is how long another Create or Remove of this team is waited for; 0: 2 min.
	Wait time.Duration

	step func(string) // tests stop the process here
}

// states of a record.
const (
	making   = "making"   // it has no owner yet
	made     = "made"     // its owner works in it, or has
	removing = "removing" // it was found clean, and is being taken away
)

// Record is what a Store has recorded of one worktree.
type Record struct {
	V      int    `json:"v"`
	State  string `json:"state"`
	Member string `json:"member"`
	Owner  string `json:"owner"` // the membership that it was made for
	Tree   Tree   `json:"tree"`
	// Hook is what the repository's post-checkout hook said when it failed as the worktree was made.
	Hook string `json:"hook,omitempty"`
	// Prepared is how its preparation ended; nil: it has not.
	Prepared *Prepared `json:"prepared,omitempty"`
	// Refused is the last merge of its branch, when that changed nothing.
	Refused *Refused `json:"refused,omitempty"`

	name string // of its file and its directory
}

const (
	recordVersion = 1
	// lockWait is the default of Store.Wait.
	lockWait = 2 * time.Minute
)

// lock takes the Store's lock.
func (s Store) lock(ctx context.Context) (release func() error, err error) {
	if err := os.MkdirAll(s.Records, 0o700); err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	return atomicfile.Flock(ctx, filepath.Join(s.Records, "lock"), atomicfile.Options{Deadline: cmp.Or(s.Wait, lockWait), Aside: s.Records})
}

// at is called between steps.
func (s Store) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}

// List lists what is on record, in the order of the names.
func (s Store) List() ([]Record, error) {
	return recordsIn(s.Records, s.record)
}

// record reads a record, if it is there and is not set aside.
func (s Store) record(name string) (r Record, found bool, err error) {
	r, err = s.read(name)
	if bad, ok := errors.AsType[*atomicfile.RecordError](err); ok && s.Aside != nil {
		err = cmp.Or(s.Aside(bad.Path), fs.ErrNotExist)
	}
	if ignoreMissing(err) != nil {
		return r, false, fmt.Errorf("worktree: %w", err)
	}
	return r, err == nil, nil
}

// recordsIn reads the records in a directory that are found, in the order of their names; none where it does not exist.
func recordsIn[T any](dir string, read func(name string) (r T, found bool, err error)) (all []T, err error) {
	entries, err := os.ReadDir(dir)
	if ignoreMissing(err) != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		r, found, err := read(name)
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, r)
		}
	}
	return all, nil
}

func (s Store) file(name string) string { return filepath.Join(s.Records, name+".json") }

// read reads a record.
func (s Store) read(name string) (Record, error) {
	r := Record{name: name}
	err := readRecord(s.file(name), &r, &r.V)
	return r, err
}

// readRecord reads a file of Records, with its version.
func readRecord(path string, into any, v *int) error {
	if err := jsonfile.ReadRecord(path, into, 1<<20); err != nil {
		return err
	}
	if *v != recordVersion {
		return fmt.Errorf("%s has version %d, and this program knows %d", path, *v, recordVersion)
	}
	return nil
}

// put writes a record.
func (s Store) put(r Record) error {
	if err := jsonfile.WriteIndent(s.file(r.name), r, atomicfile.Options{Sync: atomicfile.SyncFull}); err != nil {
		return fmt.Errorf("worktree: record: %w", err)
	}
	return nil
}

// Pass makes a recorded worktree another owner's. found is false when it is not on record.
func (s Store) Pass(ctx context.Context, t Tree, owner string) (found bool, err error) {
	err = s.with(ctx, t, func(r Record) error {
		if r.Tree != t || r.State != made {
			return &UnknownError{t.Path}
		}
		r.Owner = owner
		return s.put(r)
	})
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		return false, nil
	}
	return err == nil, err
}

// with does something with the record of a worktree, under the Store's lock. Without one the error is an *UnknownError.
func (s Store) with(ctx context.Context, t Tree, do func(Record) error) (err error) {
	release, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	r, found, err := s.record(filepath.Base(t.Path))
	if err != nil {
		return err
	}
	if !found || r.Tree.Path != t.Path {
		return &UnknownError{t.Path}
	}
	return do(r)
}

// forget removes a record.
func (s Store) forget(r Record) error {
	if err := ignoreMissing(os.Remove(s.file(r.name))); err != nil {
		return fmt.Errorf("worktree: record: %w", err)
	}
	return nil
}
