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

// MixedError reports a member with messages in both layouts. Boxes.Migrate puts
// them together.
type MixedError = layout.MixedError

// Boxes are the mailboxes of one team, each in whichever layout it has: the file
// that exists is the mailbox, and a member without one gets the layout of the lead.
// Where both exist, the one with messages counts, which is reported; messages in
// both are a *MixedError.
type Boxes struct {
	Team    string // the team's directory
	Inboxes string // of the arrays; "" means Team/inboxes
	// Retention is what the team's dialect does with read entries of arrays, in
	// place of Options.Retention. What is taken from lines is removed.
	Retention Retention
	// Queue is Options.Queue of these mailboxes, where it is set.
	Queue string
}

func (b Boxes) dirs() layout.Dirs { return layout.Dirs{Team: b.Team, Inboxes: b.Inboxes} }

// Dirs are the directories to watch for mail. Either may be missing.
func (b Boxes) Dirs() []string { return []string{b.dirs().Dir(Array), b.dirs().Dir(JSONL)} }

// Open returns a member's mailbox. Like Dir.Open it makes nothing.
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
		box.other = b.dirs().Path(as.Other(), string(name))
		box.still = func() error { return l.still(as) }
		l.as[as] = box
	}
	return l, nil
}

// Layout is the layout of a mailbox that is still to be made.
func (b Boxes) Layout() (Layout, error) { return b.dirs().Default() }

// Moving returns the layout that a migration under way, or one that was cut short,
// moves the team to.
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

// Located is a member's mailbox in whichever layout it has at the moment: a team
// may be migrated while it is open.
type Located struct {
	boxes Boxes
	name  waggle.MemberName
	o     Options
	as    [2]*Box // by layout

	mu   sync.Mutex
	told map[string]bool // empty files beside the mailbox that were reported
}

var _ Store = (*Located)(nil)

// errMoved says that the mailbox has another layout than it had a moment ago.
var errMoved = errors.New("the mailbox was moved to another layout meanwhile")

// follow counts the moves that one operation follows: as many as there are before the
// deadline of its lock is over, for a program that moves a team to and fro must stop
// nobody's mail.
type follow struct {
	l     *Located
	moves int
	until time.Time
}

// quickMoves are followed without a pause.
const quickMoves = 3

// next waits before an operation goes where its mailbox is now. It returns cause, which
// stopped the operation, when its time is over.
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

// Path returns the file where the mailbox is, or would be made.
func (l *Located) Path() (string, error) {
	f, err := l.boxes.dirs().Of(string(l.name))
	return l.as[f.Layout].path, err
}

// Layout returns the layout that the mailbox has, or would be made in.
func (l *Located) Layout() (Layout, error) {
	f, err := l.boxes.dirs().Of(string(l.name))
	return f.Layout, err
}

// find looks where the mailbox is, and finishes a migration that was cut short.
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
		l.tell(f)
		return l.as[f.Layout], nil
	}
}

// tell reports an empty file of the other layout beside the mailbox, once.
func (l *Located) tell(f layout.Found) {
	if f.Empty == "" || l.o.Report == nil {
		return
	}
	l.mu.Lock()
	again := l.told[f.Empty]
	l.told[f.Empty] = true
	l.mu.Unlock()
	if !again {
		l.o.Report(Report{Path: f.Empty, What: fmt.Sprintf(
			"%s is a second mailbox of %s, and empty: what is written there while the other has messages will not be read", f.Empty, l.name)})
	}
}

// still reports errMoved when the mailbox is not, or no longer, in a layout. It is
// called under the lock of its file there.
func (l *Located) still(as Layout) error {
	f, err := l.boxes.dirs().Of(string(l.name))
	var cut *layout.UnfinishedError
	if errors.As(err, &cut) || err == nil && f.Layout != as {
		return errMoved
	}
	return err
}

// do runs one operation where the mailbox is.
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

// read is do for what takes no lock: it looks afterwards whether the mailbox was
// where it read.
func (l *Located) read(ctx context.Context, op func(*Box) error) error {
	return l.do(ctx, func(box *Box) error {
		if err := op(box); err != nil {
			return err
		}
		return l.still(box.layout)
	})
}

// Append is Box.Append.
func (l *Located) Append(ctx context.Context, entries ...waggle.Envelope) error {
	return l.do(ctx, func(box *Box) error { return box.Append(ctx, entries...) })
}

// Entries is Box.Entries.
func (l *Located) Entries(ctx context.Context) (list []Entry, err error) {
	err = l.read(ctx, func(box *Box) error {
		list, err = box.Entries(ctx)
		return err
	})
	return list, err
}

// Unread is Box.Unread.
func (l *Located) Unread(ctx context.Context) (list []Entry, err error) {
	err = l.read(ctx, func(box *Box) error {
		list, err = box.Unread(ctx)
		return err
	})
	return list, err
}

// MarkRead is Box.MarkRead.
func (l *Located) MarkRead(ctx context.Context, ids ...ID) error {
	if len(ids) == 0 {
		return nil
	}
	return l.do(ctx, func(box *Box) error {
		if err := box.MarkRead(ctx, ids...); err != nil {
			return err
		}
		return l.still(box.layout)
	})
}

// Create makes the mailbox, empty, when there is none.
func (b Boxes) Create(ctx context.Context, name waggle.MemberName, o Options) (*Located, error) {
	l, err := b.Open(name, o)
	if err != nil {
		return nil, err
	}
	return l, l.do(ctx, func(box *Box) error { return box.create(ctx) })
}

// create makes the file with nothing in it when it is not there, and its directory
// when only that is missing.
func (b *Box) create(ctx context.Context) error {
	if _, err := atomicfile.Identify(b.path); err == nil {
		return nil
	}
	create := func() error {
		return atomicfile.Edit(ctx, b.path, b.file(), func(v atomicfile.View) ([]atomicfile.Splice, error) {
			if v.Exists() {
				return nil, nil
			}
			if err := b.here(); err != nil {
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

// here asks whether the mailbox is in this file.
func (b *Box) here() error {
	if b.still == nil {
		return nil
	}
	return b.still()
}

// arrived reports that the file is where it was published, or was moved on from
// there to another layout.
func (b *Box) arrived() error {
	_, err := os.Lstat(b.path)
	if errors.Is(err, fs.ErrNotExist) && b.other != "" {
		_, err = os.Lstat(b.other)
	}
	return err
}
