package mailbox

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"waggle/internal/caught"
)

// Watch returns a channel that gets a value soon after a file in one of the
// directories changed, and at every interval besides. File events only shorten the
// wait; a reader must not rely on them. Values that were not received are merged into
// one. The watch ends when ctx does; the channel is then closed. The interval also
// picks up a directory that does not exist yet and one that was replaced. Where the
// system has no file events, or none to spare, only the interval remains; the error is
// then nil too.
func Watch(ctx context.Context, o WatchOptions, dirs ...string) (<-chan struct{}, error) {
	w := &watch{o: o, nudges: make(chan struct{}, 1), seen: map[string]os.FileInfo{}}
	for _, d := range dirs {
		// The path is made absolute: the watch must not follow a later change of the working
		// directory.
		abs, err := filepath.Abs(d)
		if err != nil {
			return nil, err
		}
		w.dirs = append(w.dirs, abs)
	}
	if events, err := fsnotify.NewWatcher(); err == nil {
		w.events = events
	}
	w.look()
	go w.guarded(ctx)
	return w.nudges, nil
}

type watch struct {
	o      WatchOptions
	dirs   []string
	nudges chan struct{}
	events *fsnotify.Watcher // nil: only the interval
	seen   map[string]os.FileInfo
}

// guarded is the only goroutine of a Watch. Its end is the closing of the channel.
func (w *watch) guarded(ctx context.Context) {
	defer close(w.nudges)
	if w.o.Fell == nil {
		w.run(ctx)
		return
	}
	err := caught.Do(func() error {
		w.run(ctx)
		return nil
	})
	if err != nil {
		w.o.Fell(err)
	}
}

func (w *watch) run(ctx context.Context) {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.events != nil {
		defer w.events.Close()
		events, errs = w.events.Events, w.events.Errors
	}
	clock := time.NewTicker(w.o.interval())
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			w.look()
			w.nudge()
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if w.matters(e) {
				w.nudge()
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
			} else {
				w.nudge() // events may have been lost
			}
		}
	}
}

func (w *watch) nudge() {
	select {
	case w.nudges <- struct{}{}:
	default:
	}
}

func (w *watch) matters(e fsnotify.Event) bool {
	return e.Op != fsnotify.Chmod && w.o.match(filepath.Base(e.Name)) && !certain(e.Name)
}

// certain reports the file that an append writes behind the lines of a journal, …/journal/<name>/certain.json:
// the lines have woken the watcher. A mailbox may have that name.
func certain(path string) bool {
	dir, name := filepath.Split(path)
	of := filepath.Base(dir)
	return name == "certain.json" && of != "inboxes" && filepath.Base(filepath.Dir(filepath.Clean(dir))) == "journal"
}

// look adds directories that appeared or were replaced. It watches directories, never files: the
// watch of a file ends when the file is replaced.
func (w *watch) look() {
	if w.events == nil {
		return
	}
	for _, dir := range w.dirs {
		fi, err := os.Stat(dir)
		old := w.seen[dir]
		if err == nil && old != nil && os.SameFile(old, fi) && slices.Contains(w.events.WatchList(), dir) {
			continue
		}
		if old != nil {
			_ = w.events.Remove(dir) // the watch may have ended already
			delete(w.seen, dir)
		}
		if err == nil && w.events.Add(dir) == nil {
			w.seen[dir] = fi
			w.nudge() // for changes before the first event
		}
	}
}

// WatchOptions are Watch's settings. The zero value works.
type WatchOptions struct {
	Interval time.Duration          // of the slow poll; 0 means 2 s
	Match    func(name string) bool // which file names matter; nil means all that end in .json or .jsonl
	// Fell receives a panic of the watch, which has ended then, as an error with its stack. nil: a
	// panic ends the program.
	Fell func(error)
}

func (o WatchOptions) interval() time.Duration { return cmp.Or(max(o.Interval, 0), 2*time.Second) }

// match excludes locks, temporary files and everything else that is not mail: a watcher must not be
// woken by its own lock.
func (o WatchOptions) match(name string) bool {
	if o.Match != nil {
		return o.Match(name)
	}
	return !strings.HasPrefix(name, ".") &&
		(strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl"))
}
