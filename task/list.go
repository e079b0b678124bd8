package task

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
)

// List is a team's task list. Its methods may be used from several goroutines
// and processes.
type List struct {
	dir  string
	team protocol.TeamName
	o    atomicfile.Options
}

// maxTask is the largest task file that is read.
const maxTask = 16 << 20

const (
	lockName = ".lock"          // an empty file: the list's lock is taken on it
	highName = ".highwatermark" // the highest id that was ever given
)

// Open returns the list in dir (tasks/<team>); the directory must exist and must
// not be a symbolic link. o is for every file operation of the list.
func Open(dir string, team protocol.TeamName, o Options) (*List, error) {
	if _, err := protocol.ParseTeam(string(team)); err != nil {
		return nil, fmt.Errorf("task: open: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("task: open: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("task: open: %s is not a directory", dir)
	}
	return &List{dir: dir, team: team, o: o.file()}, nil
}

// Team is the name of the team whose list this is.
func (l *List) Team() protocol.TeamName { return l.team }

func (l *List) path(id ID) string { return filepath.Join(l.dir, string(id)+".json") }

func (l *List) options(rank atomicfile.Rank) atomicfile.Options {
	o := l.o
	o.Rank = rank
	return o
}

// ids returns the ids that have a file, ascending, and the highest that is in
// use for anything. Subdirectories, which are the members', and files of other
// names are left out.
func (l *List) ids() (ids []ID, highest int64, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		stem, isJSON := strings.CutSuffix(e.Name(), ".json")
		if !isJSON || !ID(stem).valid() {
			continue
		}
		highest = max(highest, ID(stem).number())
		if !e.IsDir() {
			ids = append(ids, ID(stem))
		}
	}
	slices.SortFunc(ids, func(a, b ID) int { return cmp.Compare(a.number(), b.number()) })
	return ids, highest, nil
}

// All returns every task in order of id, including those with status deleted. It ignores
// subdirectories and foreign files. problems lists the files that cannot be read and those with
// errors.
func (l *List) All(ctx context.Context) (tasks []Task, problems []string, err error) {
	ids, _, err := l.ids()
	if err != nil {
		return nil, nil, fmt.Errorf("task: list: %w", err)
	}
	for _, id := range ids {
		t, found, err := l.read(ctx, id, true)
		switch {
		case err == nil:
			tasks = append(tasks, t)
		case errors.As(err, new(*NotFoundError)): // removed meanwhile
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		default:
			problems = append(problems, fmt.Sprintf("%s.json: %v", id, err))
		}
		for _, p := range found {
			problems = append(problems, fmt.Sprintf("%s.json: %s", id, p))
		}
	}
	return tasks, problems, nil
}

// Get returns one task. It retries a torn foreign write for about 100 ms and
// then looks under the task's lock: *CorruptError when it is still broken,
// *NotFoundError when there is none.
func (l *List) Get(ctx context.Context, id ID) (Task, error) {
	t, _, err := l.read(ctx, id, true)
	return t, err
}

// read reads one task file; with locked it looks under the lock at last.
func (l *List) read(ctx context.Context, id ID, locked bool) (t Task, problems []string, err error) {
	if !id.valid() {
		return Task{}, nil, &NotFoundError{id}
	}
	err = atomicfile.Settle(ctx, torn, func() error {
		data, err := atomicfile.ReadFile(l.path(id), l.options(atomicfile.RankTask))
		if err != nil {
			return l.failed("read", id, err)
		}
		t, problems, err = l.parse(id, data)
		if torn(err) && l.o.Hook != nil {
			l.o.Hook("torn")
		}
		return err
	})
	if !locked || !torn(err) {
		return t, problems, err
	}
	looked := atomicfile.Edit(ctx, l.path(id), l.options(atomicfile.RankTask), func(v atomicfile.View) ([]atomicfile.Splice, error) {
		data, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		t, problems, err = l.parse(id, data)
		return nil, err
	})
	if looked == nil || torn(looked) || errors.As(looked, new(*atomicfile.LockedError)) {
		return t, problems, l.failed("read", id, looked)
	}
	return Task{}, nil, err
}

// parse reads a task file whose name says its id.
func (l *List) parse(id ID, data []byte) (Task, []string, error) {
	t, problems, err := Parse(data)
	if err != nil {
		if bad, ok := errors.AsType[*CorruptError](err); ok {
			bad.Path = l.path(id)
		}
		return Task{}, nil, err
	}
	if t.ID != id {
		if t.ID != "" {
			problems = append(problems, fmt.Sprintf("id %s is not that of the file", t.ID))
		}
		t.ID, t.kept.read.ID = id, id
	}
	return t, problems, nil
}

// failed gives an error its operation, or turns it into a *NotFoundError.
func (l *List) failed(op string, id ID, err error) error {
	switch {
	case err == nil || torn(err) || errors.As(err, new(*NotFoundError)) || errors.As(err, new(*StateError)):
		return err
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(l.path(id)); errors.Is(err, fs.ErrNotExist) {
			return &NotFoundError{id}
		}
	}
	return fmt.Errorf("task: %s %s: %w", op, id, err)
}

// torn reports an error that another program's write in place explains.
func torn(err error) bool {
	return errors.As(err, new(*CorruptError))
}

// edit changes one task file under its lock.
func (l *List) edit(ctx context.Context, op string, id ID, fn func(*Task) error) (after Task, err error) {
	if !id.valid() {
		return Task{}, &NotFoundError{id}
	}
	change := func(v atomicfile.View) ([]atomicfile.Splice, error) {
		if !v.Exists() {
			return nil, &NotFoundError{id}
		}
		data, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		t, _, err := l.parse(id, data)
		if err != nil {
			return nil, err
		}
		kept, before := t.kept, t.AppendJSON(nil)
		if err := fn(&t); err != nil {
			return nil, err
		}
		t.kept = kept // the keys of this file stay, whatever fn assigned
		if t.ID != id {
			return nil, fmt.Errorf("the id cannot be changed to %.20q", string(t.ID))
		}
		if err := t.checkChange(&kept.read); err != nil {
			return nil, err
		}
		written := t.AppendJSON(nil)
		if after, _, err = l.parse(id, written); err != nil {
			return nil, err
		}
		if bytes.Equal(before, written) {
			return nil, nil
		}
		return []atomicfile.Splice{{Delete: v.Size(), Insert: written}}, nil
	}
	err = atomicfile.Settle(ctx, torn, func() error {
		if _, err := os.Lstat(l.path(id)); errors.Is(err, fs.ErrNotExist) {
			return &NotFoundError{id}
		}
		return atomicfile.Edit(ctx, l.path(id), l.options(atomicfile.RankTask), change)
	})
	if err != nil {
		return Task{}, l.failed(op, id, err)
	}
	return after, nil
}

// locked runs fn under the list's lock.
func (l *List) locked(ctx context.Context, op string, fn func() error) error {
	target := filepath.Join(l.dir, lockName)
	if err := atomicfile.Clear(target, l.o); err != nil {
		return fmt.Errorf("task: %s: %w", op, err)
	}
	f, err := atomicfile.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		err = f.Close()
	case errors.Is(err, fs.ErrExist):
		err = nil
	}
	var release func() error
	if err == nil {
		release, err = atomicfile.Lock(ctx, target, l.options(atomicfile.RankTasks))
	}
	if err != nil {
		return fmt.Errorf("task: %s: %w", op, err)
	}
	err = fn()
	if lost := release(); lost != nil && err == nil {
		err = fmt.Errorf("task: %s: %w", op, lost)
	}
	return err
}

// high returns the highest id that was ever given: of .highwatermark and of the
// files. The caller holds the list's lock.
func (l *List) high() (int64, error) {
	high, path := int64(0), filepath.Join(l.dir, highName)
	if err := atomicfile.Clear(path, l.o); err != nil {
		return 0, err
	}
	data, err := atomicfile.ReadFile(path, l.o)
	switch {
	case err == nil:
		high = ID(bytes.TrimSpace(data)).number()
	case !errors.Is(err, fs.ErrNotExist):
		return 0, err
	}
	_, highest, err := l.ids()
	return max(high, highest), err
}

func (l *List) setHigh(n int64) error {
	return atomicfile.WriteFile(filepath.Join(l.dir, highName), strconv.AppendInt(nil, n, 10), l.o)
}

// Options are the settings of a list. The zero value works.
type Options struct {
	Deadline time.Duration // of each lock; 0: 5 s
	Stale    time.Duration // age of another program's lock that counts as abandoned; 0: 10 s
	// Queue is a private directory for the queue files of the list's locks; "": they are beside the
	// tasks. team.Root.Queue returns it.
	Queue string
	Now   func() time.Time // nil: time.Now
	// Hook is called with a step's name between the file operations of an edit, and with "torn" when a
	// read found the file broken; for tests that stop or kill the process there.
	Hook func(step string)
}

// LockedError reports a list or a task that another process holds (exit code 8).
type LockedError = atomicfile.LockedError

// Errors of a task's file.
var (
	// ErrNotRegular refuses a link, a FIFO, a device or a directory where a file is expected.
	ErrNotRegular = atomicfile.ErrNotRegular
	// ErrTooLarge refuses a file over 16 MiB.
	ErrTooLarge = atomicfile.ErrTooLarge
)

// file is how the files of a list are edited.
func (o Options) file() atomicfile.Options {
	return atomicfile.Options{Deadline: o.Deadline, Stale: o.Stale, MaxSize: maxTask, Perm: 0o600,
		Queue: o.Queue, Now: o.Now, Hook: o.Hook}
}
