package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
)

// flushTries are the pauses before a flush that failed is tried again, under the lock.
var flushTries = []time.Duration{time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond}

const (
	flushPause = 100 * time.Millisecond
	flushWait  = 5 * time.Second
)

// unflushed is an append that is whole in its segment and whose flush failed. It cannot be
// withdrawn: a reader without the lock may have folded it.
type unflushed struct {
	at   position
	raw  []byte
	recs []Record // of it, while Append waits
}

// put writes an append to the end of its segment and flushes it. An append that was not written
// whole is withdrawn. One that is whole stays even when the flush fails; until it is flushed,
// Refresh of this File fails.
func (j *File) put(ctx context.Context, f *os.File, at position, raw []byte) error {
	n, err := j.o.Write(f, raw)
	if err == nil && n < len(raw) {
		err = io.ErrShortWrite
	}
	if err != nil && n < len(raw) {
		return errors.Join(err, j.withdraw(at))
	}
	// The time is taken before the flush: a change during the flush gives the file another one, and
	// the next reading looks at all lines.
	if st, serr := f.Stat(); serr == nil {
		j.mod = st.ModTime()
	}
	if err == nil {
		err = j.o.Sync(f)
	}
	if err == nil {
		return nil
	}
	j.owed, j.cut = &unflushed{at: at, raw: slices.Clone(raw)}, nil
	for _, pause := range flushTries {
		if !backoff.Pause(ctx, pause) {
			return errors.Join(err, context.Cause(ctx))
		}
		if err = j.settle(); err == nil || j.owed == nil { // flushed, or not there any more
			return err
		}
	}
	return err
}

// awaitFlush retries until the owed append is flushed and folded, or the time is over; cause is the
// first flush error. After the time is over a later Refresh reads the append.
func (j *File) awaitFlush(ctx context.Context, cause error) error {
	patience := ctx
	if j.o.FlushWait >= 0 {
		var done func()
		patience, done = context.WithTimeout(ctx, cmp.Or(j.o.FlushWait, flushWait))
		defer done()
	}
	for j.owed != nil {
		if !backoff.Pause(patience, flushPause) {
			j.owed.recs = nil
			return cause
		}
		if err := j.settle(); err != nil {
			cause = j.failed(fmt.Errorf("append: %w", err))
			if j.owed == nil { // it is not there any more
				return cause
			}
		}
	}
	return j.Refresh(ctx)
}

// settle flushes the append that this File owes. It writes the same bytes again first: after a
// failed flush the system may report the cached pages as written.
func (j *File) settle() error {
	if j.owed == nil {
		return nil
	}
	f, err := atomicfile.OpenFile(j.segPath(j.owed.at.seg), os.O_RDWR|openFlags, 0)
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	defer f.Close()
	there := make([]byte, len(j.owed.raw))
	n, err := f.ReadAt(there, j.owed.at.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("flush: %w", err)
	}
	if !bytes.Equal(there[:n], j.owed.raw) { // reading finds what is there now
		j.owed = nil
		return fmt.Errorf("flush: %w", errNotAlone)
	}
	if _, err := f.Seek(j.owed.at.off, io.SeekStart); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if n, err := j.o.Write(f, j.owed.raw); err != nil || n < len(there) {
		return fmt.Errorf("flush: %w", errors.Join(err, io.ErrShortWrite))
	}
	if err := j.o.Sync(f); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	j.owed = nil
	return nil
}

// withdraw cuts off an append that is not whole. It opens the file again because a descriptor for
// appending may not truncate on Windows. If the cut fails too, the next writer makes it.
func (j *File) withdraw(at position) error {
	f, err := atomicfile.OpenFile(j.segPath(at.seg), os.O_WRONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return j.o.Truncate(f, at.off)
}
