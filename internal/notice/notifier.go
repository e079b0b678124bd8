package notice

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
)

// Wait is one request that waits for the person.
type Wait struct {
	ID  string // the same for as long as it waits
	Who string // who asks; it may have any character
}

// Options are what Start needs. Now must be set.
type Options struct {
	Channels []Channel
	Do       string // the command that shows what waits
	Now      func() time.Time
	// On reports whether the user wants notices; nil: yes. What waits while it says no is not told later.
	On func() bool
	// Kept is the file of what was told of a team, which processes share; nil or "": none. A process that is killed
	// between a notice and the write tells once more.
	Kept func(team string) string
	// Shown is for a screen that shows what waits when it begins: there is no notice of that.
	Shown bool
	// Failed gets how each use of a channel has ended; may be nil.
	Failed func(channel string, err error)
}

// Notifier tells of what waits, from one goroutine that Close ends.
type Notifier struct {
	o    Options
	stop func()          // may be called twice
	ctx  context.Context // ends some time after Close was called
	over chan struct{}
	done chan struct{}
	wake chan struct{}

	mu    sync.Mutex
	waits map[string][]Wait

	books map[string]*Book // of the goroutine
}

// channelWait is the time limit of one use of a channel.
const channelWait = 3 * time.Second

// Start starts a Notifier.
func Start(o Options) *Notifier {
	n := &Notifier{o: o, over: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1), books: map[string]*Book{}}
	ctx, cancel := context.WithCancel(context.Background())
	n.ctx, n.stop = ctx, sync.OnceFunc(func() {
		close(n.over)
		defer time.AfterFunc(channelWait, cancel).Stop()
		defer cancel()
		<-n.done
		n.look(true)
	})
	go n.run()
	return n
}

// Waiting replaces what waits, by team. It does not block.
func (n *Notifier) Waiting(all map[string][]Wait) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waits != nil && reflect.DeepEqual(n.waits, all) {
		return
	}
	n.waits = maps.Clone(all)
	if n.waits == nil {
		n.waits = map[string][]Wait{}
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Close ends the Notifier, after the notice that it shows now. It withdraws the notices of teams of which nothing
// waits; the others stay, for the process that leads next. What takes longer than 3 s is left. It may be called twice.
func (n *Notifier) Close() { n.stop() }

func (n *Notifier) run() {
	defer close(n.done)
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	for {
		select {
		case <-n.over:
			return
		case <-n.wake:
		case <-again.C:
		}
		again.Stop()
		if at := n.look(false); !at.IsZero() {
			again.Reset(at.Sub(n.o.Now()))
		}
	}
}

// look does what is due for each team, and returns when to look again; zero: after the next change.
func (n *Notifier) look(last bool) (again time.Time) {
	n.mu.Lock()
	all := n.waits
	n.mu.Unlock()
	if all == nil {
		return again
	}
	for team := range all {
		if n.books[team] == nil {
			n.books[team] = &Book{}
		}
	}
	for team, b := range n.books {
		if at := n.lookAt(team, b, all[team], last); !at.IsZero() && (again.IsZero() || at.Before(again)) {
			again = at
		}
	}
	n.o.Shown = false
	return again
}

// lookAt is look for one team, of which these requests wait: Book.Look is the rule, and this carries it out.
func (n *Notifier) lookAt(team string, b *Book, waits []Wait, last bool) (again time.Time) {
	if len(waits) == 0 && b.idle() {
		return again
	}
	defer n.lock(team)()
	ids := make([]string, len(waits))
	for i, w := range waits {
		ids[i] = w.ID
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	had := n.kept(team)
	if had.At.After(n.o.Now()) { // the clock was set back
		had.At = time.Time{}
	}
	if b.Told(had.IDs, had.At); n.o.Shown {
		b.Told(ids, time.Time{})
	}
	told := b.kept().IDs
	s := b.Look(n.o.Now(), ids)
	switch {
	case s.Withdraw:
		n.each(func(ctx context.Context, c Channel) error { return c.Withdraw(ctx, team) })
	case s.Tell && last:
		return again
	case s.Tell:
		show := func(ctx context.Context, c Channel) error { return c.Show(ctx, of(team, waits, len(ids), n.o.Do)) }
		if on := n.o.On == nil || n.o.On(); on && !n.each(show) {
			if at := b.missed(told); len(n.o.Channels) > 0 {
				again = at
			}
		}
		n.keep(team, b.kept())
		return again
	}
	if slices.ContainsFunc(had.IDs, func(id string) bool { return !slices.Contains(ids, id) }) {
		n.keep(team, b.kept()) // an id that waits again later is told again
	}
	return s.Again
}

// lock has one process at a time tell of a team. Without the lock two may.
func (n *Notifier) lock(team string) (release func()) {
	if path := n.path(team); path != "" {
		ctx, cancel := context.WithTimeout(n.ctx, channelWait)
		defer cancel()
		if release, err := atomicfile.Flock(ctx, path+".lock", atomicfile.Options{}); err == nil {
			return func() { _ = release() } // its file is closed with the process at the latest
		}
	}
	return func() {}
}

// each uses each channel, and reports whether one did what it was to do.
func (n *Notifier) each(use func(context.Context, Channel) error) (done bool) {
	for _, c := range n.o.Channels {
		ctx, cancel := context.WithTimeout(n.ctx, channelWait)
		err := use(ctx, c)
		cancel()
		done = done || err == nil
		if n.o.Failed != nil {
			n.o.Failed(c.Name, err)
		}
	}
	return done
}

// keptFile is the content of Options.Kept.
type keptFile struct {
	At  time.Time `json:"at"` // of the last notice
	IDs []string  `json:"ids"`
}

// kept is what a next process is to know.
func (b *Book) kept() keptFile {
	return keptFile{b.last.UTC(), slices.Sorted(maps.Keys(b.told))}
}

// kept reads what was told of a team. A file that cannot be read says nothing.
func (n *Notifier) kept(team string) (k keptFile) {
	if path := n.path(team); path != "" && jsonfile.Read(path, &k, 1<<20) != nil {
		return keptFile{}
	}
	return k
}

// keep writes what was told of a team. Without the file a next process tells once more.
func (n *Notifier) keep(team string, k keptFile) {
	if path := n.path(team); path != "" {
		_ = jsonfile.WriteLine(path, k, atomicfile.Options{})
	}
}

// path is the file of what was told of a team.
func (n *Notifier) path(team string) string {
	if n.o.Kept == nil {
		return ""
	}
	return n.o.Kept(team)
}
