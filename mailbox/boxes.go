package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"waggle"
	"waggle/internal/atomicfile"
	"waggle/layout"
)

// MixedError reports a member with messages in both layouts. Boxes.Migrate merges them.
type MixedError = layout.MixedError

// Boxes are the mailboxes of one team in either layout. The file that exists is the mailbox; a
// member without a file gets the layout of the lead. Where both files exist, the one with messages
// is used and the other is reported; messages in both are a *MixedError.
type Boxes struct {
	Team    string // the team's directory
	Inboxes string // directory of the arrays; "" means Team/inboxes
	// Retention is what the team's dialect does with read entries of arrays; it replaces
	// Options.Retention. Read entries in lines are always removed.
	Retention Retention
	// Queue is Options.Queue of these mailboxes, when it is set.
	Queue string
}

func (b Boxes) dirs() layout.Dirs { return layout.Dirs{Team: b.Team, Inboxes: b.Inboxes} }

// Dirs are the directories to watch for mail. Either may be missing.
func (b Boxes) Dirs() []string { return []string{b.dirs().Dir(Array), b.dirs().Dir(JSONL)} }

// Open returns a member's mailbox. Like Dir.Open it creates nothing.
func (b Boxes) Open(name waggle.MemberName, o Options) (*Located, error) {
	if _, err := waggle.ParseMember(string(name)); err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	if o.Retention = b.Retention; b.Queue != "" {
		o.Queue = b.Queue
	}
	l := &Located{boxes: b, name: name, o: o, told: map[string]bool{}}
	for _, as := range []Layout{Array, JSONL} {
		box := newBox(b.dirs().Path(as, string(name)), as, o)
		if as == JSONL {
			box.o.Retention = Prune
		}
		box.where = func() (layout.Found, error) { return b.dirs().Of(string(name)) }
		l.as[as] = box
	}
	return l, nil
}

// Layout is the layout that a new mailbox gets.
func (b Boxes) Layout() (Layout, error) { return b.dirs().Default() }

// Moving returns the target layout of a migration that is running or was interrupted.
func (b Boxes) Moving() (to Layout, ok bool, err error) { return b.dirs().Moving() }

// Names lists the members that have a mailbox in either layout, sorted.
func (b Boxes) Names() ([]waggle.MemberName, error) {
	var all []waggle.MemberName
	for _, as := range []Layout{Array, JSONL} {
		names, err := Dir{Path: b.dirs().Dir(as), Layout: as}.Names()
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Located is a member's mailbox in the layout that it has at the moment: a team may be migrated
// while it is open.
type Located struct {
	boxes Boxes
	name  waggle.MemberName
	o     Options
	as    [2]*Box // by layout

	mu   sync.Mutex
	told map[string]bool // empty files of the other layout that were reported
}

var _ Store = (*Located)(nil)

// errMoved says that the mailbox changed its layout during an operation.
var errMoved = errors.New("the mailbox was moved to another layout meanwhile")

// follow limits how long one operation follows a mailbox that moves between layouts: until the
// deadline of its lock, so that a program that migrates a team again and again cannot block readers
// and senders.
type follow struct {
	l     *Located
	moves int
	until time.Time
}

// quickMoves is the number of moves that are followed without a pause.
const quickMoves = 3

// next waits before an operation is tried again where the mailbox is now. It returns cause, the
// error of the last attempt, when the time is over.
func (f *follow) next(ctx context.Context, cause error) error {
	f.moves++
	now := f.l.as[Array].now()
	switch {
	case f.moves == 1:
		f.until = now.Add(cmp.Or(f.l.o.Deadline, atomicfile.DefaultDeadline))
	case !now.Before(f.until):
		return cause
	}
	if f.moves <= quickMoves {
		return nil
	}
	return pause(ctx)
}

// Path returns the path of the mailbox file, or the path that a new file would get.
func (l *Located) Path() (string, error) {
	f, err := l.boxes.dirs().Of(string(l.name))
	return l.as[f.Layout].path, err
}

// Layout returns the layout of the mailbox, or the layout that a new one would get.
func (l *Located) Layout() (Layout, error) {
	f, err := l.boxes.dirs().Of(string(l.name))
	return f.Layout, err
}

// find locates the mailbox and finishes a migration that was interrupted.
func (l *Located) find(ctx context.Context) (*Box, error) {
	again := follow{l: l}
	for {
		f, err := l.boxes.dirs().Of(string(l.name))
		var cut *layout.UnfinishedError
		if errors.As(err, &cut) {
			if err := l.boxes.move(ctx, l.name, cut.To, l.o); err != nil && !errors.Is(err, errMoved) {
				return nil, fmt.Errorf("%w: %w", cut, err)
			}
			if err = again.next(ctx, cut); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("mailbox of %s: %w", l.name, err)
		}
		l.report(f)
		return l.as[f.Layout], nil
	}
}

// report reports an empty file of the other layout beside the mailbox, once.
func (l *Located) report(f layout.Found) {
	if f.Empty == "" || l.o.Report == nil {
		return
	}
	l.mu.Lock()
	again := l.told[f.Empty]
	l.told[f.Empty] = true
	l.mu.Unlock()
	if !again {
		l.o.Report(Report{Path: f.Empty, What: fmt.Sprintf(
			"%s is a second mailbox of %s, and empty: messages that are written there while the other has messages will not be read", f.Empty, l.name)})
	}
}

// do runs one operation on the file that is the mailbox now.
func (l *Located) do(ctx context.Context, op func(*Box) error) error {
	again := follow{l: l}
	for {
		box, err := l.find(ctx)
		if err != nil {
			return err
		}
		if err = op(box); !errors.Is(err, errMoved) {
			return err
		}
		if err := again.next(ctx, err); err != nil {
			return err
		}
	}
}

// load is Box.load of the mailbox where it is. It takes no lock, so it checks afterwards that the
// mailbox was in the file that was read.
func (l *Located) load(ctx context.Context, all bool) (c *contents, err error) {
	err = l.do(ctx, func(box *Box) error {
		if c, err = box.load(ctx, all); err != nil {
			return err
		}
		return box.here(!c.absent)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Append is Box.Append.
func (l *Located) Append(ctx context.Context, entries ...waggle.Envelope) error {
	return l.do(ctx, func(box *Box) error {
		err := box.append(ctx, entries, false)
		if !errors.Is(err, errAbsent) {
			return err
		}
		return l.boxes.making(ctx, l.o, func() error { return box.append(ctx, entries, true) })
	})
}

// Entries is Box.Entries.
func (l *Located) Entries(ctx context.Context) ([]Entry, error) {
	c, err := l.load(ctx, true)
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.entries), nil
}

// Unread is Box.Unread.
func (l *Located) Unread(ctx context.Context) ([]Entry, error) {
	c, err := l.load(ctx, false)
	if err != nil {
		return nil, err
	}
	return c.unreads(), nil
}

// MarkRead is Box.MarkRead.
func (l *Located) MarkRead(ctx context.Context, ids ...ID) error {
	if len(ids) == 0 {
		return nil
	}
	return l.do(ctx, func(box *Box) error {
		found, err := box.markRead(ctx, ids)
		if err != nil {
			return err
		}
		return box.here(found)
	})
}

// Create makes an empty mailbox when there is none.
func (b Boxes) Create(ctx context.Context, name waggle.MemberName, o Options) (*Located, error) {
	l, err := b.Open(name, o)
	if err != nil {
		return nil, err
	}
	return l, l.do(ctx, func(box *Box) error {
		if _, err := atomicfile.Identify(box.path); err == nil {
			return nil
		}
		return b.making(ctx, o, func() error { return box.create(ctx) })
	})
}

// errAbsent says that there is no file.
var errAbsent = errors.New("the mailbox has no file")

// making runs op, which may make a mailbox's file, while no migration starts: a file that is made
// in the layout that its caller has just looked up is one that every migration finds.
func (b Boxes) making(ctx context.Context, o Options, op func() error) error {
	var made error
	err := atomicfile.Edit(ctx, b.dirs().Intent(), b.intent(o), func(atomicfile.View) ([]atomicfile.Splice, error) {
		made = op()
		return nil, nil
	})
	if err != nil {
		return fmt.Errorf("make mailbox: %w", err)
	}
	return made
}

// intent is how the intent file is locked and written.
func (b Boxes) intent(o Options) atomicfile.Options {
	file := o.file()
	file.Rank, file.Sync = atomicfile.RankLayout, atomicfile.SyncFull
	if b.Queue != "" {
		file.Queue = b.Queue
	}
	return file
}

// create makes an empty file when there is none, and its directory when only that is missing.
func (b *Box) create(ctx context.Context) error {
	create := func() error {
		return atomicfile.Edit(ctx, b.path, b.file(), func(v atomicfile.View) ([]atomicfile.Splice, error) {
			if v.Exists() {
				return nil, nil
			}
			if err := b.here(false); err != nil {
				return nil, err
			}
			return []atomicfile.Splice{{Insert: []byte(b.format.empty())}}, nil
		})
	}
	err := create()
	if errors.Is(err, fs.ErrNotExist) && b.makeDir() == nil {
		err = create()
	}
	if err != nil {
		return fmt.Errorf("create mailbox: %w", err)
	}
	return nil
}

// here returns errMoved when the mailbox is not in this file any more. found says whether the caller
// found the file: one that was missing then and is there now was moved away and back meanwhile.
func (b *Box) here(found bool) error {
	if b.where == nil {
		return nil
	}
	f, err := b.where()
	var cut *layout.UnfinishedError
	if errors.As(err, &cut) || err == nil && (f.Layout != b.layout || f.Present && !found) {
		return errMoved
	}
	return err
}

// arrived checks that the file is at its path, or that a migration moved it on to the other layout.
func (b *Box) arrived() error {
	_, err := os.Lstat(b.path)
	if !errors.Is(err, fs.ErrNotExist) || b.where == nil {
		return err
	}
	if f, e := b.where(); e != nil || f.Present {
		return nil // a mailbox that is being moved, or that another fault keeps from being read, is there
	}
	return err
}
