package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Splice replaces Delete bytes at Offset by Insert.
type Splice struct {
	Offset int64
	Delete int64
	Insert []byte
}

// Edit takes the lock of path, shows fn the content, publishes the splices it returns (in ascending
// order, offsets into the old content) as one new content, and releases the lock. No splices:
// nothing is written. Edit calls fn again when a program without the lock changed the file
// meanwhile, so fn must not have effects of its own. The file is created when it does not exist and
// fn inserts at 0; its directory is never created.
//
// A nil error means that the new content was published and that it replaced no change of another
// program. Edit returns an error of fn unchanged and writes nothing. Otherwise: *LockedError at the
// deadline, fs.ErrNotExist without the directory, ErrNotRegular, ErrTooLarge. A process that was
// stopped for longer than the stale time, and so lost its lock, starts over with a new deadline.
func Edit(ctx context.Context, path string, o Options, fn func(View) ([]Splice, error)) error {
	for try := 0; ; try++ {
		l, err := acquire(ctx, path, o)
		if err != nil {
			return err
		}
		err = l.editAndRelease(fn)
		if !errors.Is(err, ErrLost) || try == 2 {
			return err
		}
	}
}

// editAndRelease releases the lock also when fn panics: a caller may recover the panic and
// continue. An error of the release changes nothing that was published; the next operation on the
// lock reports it.
func (l *lock) editAndRelease(fn func(View) ([]Splice, error)) error {
	defer func() { _ = l.release() }()
	return l.edit(fn)
}

// edit repeats read, fn and publish until no other program changed the file in
// between.
func (l *lock) edit(fn func(View) ([]Splice, error)) error {
	for {
		done, err := l.attempt(fn)
		if done || err != nil {
			return err
		}
		if !l.w.wait() {
			return l.w.locked("a program that writes without taking the lock", 0)
		}
	}
}

// attempt is one round of an edit; not done means that the file changed meanwhile.
func (l *lock) attempt(fn func(View) ([]Splice, error)) (done bool, err error) {
	v, err := openView(l)
	if err != nil {
		return false, err
	}
	defer v.close()
	l.o.hook("read")
	splices, err := fn(v)
	if err != nil || len(splices) == 0 {
		return true, err
	}
	if err := checkSplices(v, splices, l.o.maxSize()); err != nil {
		return false, err
	}
	p, err := l.prepare(v, splices)
	if errors.Is(err, errShrunk) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("edit: %w", err)
	}
	done, err = p.publish()
	p.tmp.Close()
	if !done {
		_ = os.Remove(p.tmp.Name())
	}
	return done, err
}
