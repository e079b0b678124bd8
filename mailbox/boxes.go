package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"waggle/internal/fs/atomicfile"
	"waggle/layout"
	"waggle/protocol"
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
func (b Boxes) Open(name protocol.MemberName, o Options) (*Located, error) {
	if _, err := protocol.ParseMember(string(name)); err != nil {
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
func (b Boxes) Names() ([]protocol.MemberName, error) {
	var all []protocol.MemberName
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

// Located is a member's mailbox in the layout that it has: each operation looks which that is.
type Located struct {
	boxes Boxes
	name  protocol.MemberName
	o     Options
	as    [2]*Box // by layout

	mu   sync.Mutex
	told map[string]bool // empty files of the other layout that were reported
}

var _ Store = (*Located)(nil)

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

// find locates the mailbox.
func (l *Located) find() (*Box, error) {
	f, err := l.boxes.dirs().Of(string(l.name))
	if err != nil {
		return nil, fmt.Errorf("mailbox of %s: %w", l.name, err)
	}
	l.report(f)
	return l.as[f.Layout], nil
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

// Append is Box.Append. It waits for a migration that moves the mailbox.
func (l *Located) Append(ctx context.Context, entries ...protocol.Envelope) error {
	box, err := l.find()
	if err == nil {
		err = box.append(ctx, entries, false)
	}
	if mixed := (*MixedError)(nil); !errors.Is(err, errAbsent) && !errors.As(err, &mixed) {
		return err
	}
	return l.making(ctx, entries)
}

// Entries is Box.Entries.
func (l *Located) Entries(ctx context.Context) ([]Entry, error) {
	box, err := l.find()
	if err != nil {
		return nil, err
	}
	return box.Entries(ctx)
}

// Unread is Box.Unread.
func (l *Located) Unread(ctx context.Context) ([]Entry, error) {
	box, err := l.find()
	if err != nil {
		return nil, err
	}
	return box.Unread(ctx)
}

// MarkRead is Box.MarkRead.
func (l *Located) MarkRead(ctx context.Context, ids ...ID) error {
	if len(ids) == 0 {
		return nil
	}
	box, err := l.find()
	if err != nil {
		return err
	}
	return box.MarkRead(ctx, ids...)
}

// errAbsent says that there is no file.
var errAbsent = errors.New("the mailbox has no file")

// making is append that may make the mailbox's file, where the mailbox is while no migration runs: a migration finds every
// file.
func (l *Located) making(ctx context.Context, entries []protocol.Envelope) error {
	var made error
	err := atomicfile.Edit(ctx, l.boxes.dirs().Intent(), l.boxes.intent(l.o), func(atomicfile.View) ([]atomicfile.Splice, error) {
		box, err := l.find()
		if err == nil {
			err = box.append(ctx, entries, true)
		}
		made = err
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
