package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/atomicfile"
)

// Append implements Journal.
func (j *File) Append(ctx context.Context, w Writer, propose func() ([]Draft, error)) (recs []Record, err error) {
	if j.sticky != nil {
		return nil, j.sticky
	}
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	release, err := atomicfile.Flock(ctx, filepath.Join(j.dir, "lock"),
		atomicfile.Options{Rank: atomicfile.RankJournal, Deadline: j.o.Deadline})
	if err != nil {
		return nil, j.failed(err)
	}
	defer func() {
		if rerr := release(); err == nil && rerr != nil {
			recs, err = nil, j.failed(rerr)
		}
	}()
	return j.append(ctx, w, propose)
}

// prepare makes the journal's directory, unless there was one: a directory that is
// gone is not made again.
func (j *File) prepare(ctx context.Context) error {
	if j.at.seq > 0 {
		if _, err := os.Lstat(j.dir); err != nil {
			return errors.Join(j.Refresh(ctx), err)
		}
		return nil
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return j.failed(err)
	}
	return j.checkDir()
}

// append is Append under the lock.
func (j *File) append(ctx context.Context, w Writer, propose func() ([]Draft, error)) ([]Record, error) {
	j.mod = time.Time{} // a time may not tell: look at the last line
	if err := j.Refresh(ctx); err != nil {
		return nil, err
	}
	if err := j.at.stale(w); err != nil {
		return nil, err
	}
	if err := j.cutRest(); err != nil {
		return nil, err
	}
	var drafts []Draft
	for _, ref := range j.cut {
		drafts = append(drafts, Draft{Kind: KindRepaired, Body: Repaired{Cut: ref}})
	}
	repairs := len(drafts)
	proposed, err := propose()
	if err != nil {
		// The cut must be on record even when nothing else is.
		if _, werr := j.write(w, drafts); werr != nil {
			return nil, errors.Join(err, werr)
		}
		return nil, err
	}
	recs, err := j.write(w, append(drafts, proposed...))
	if err != nil || len(recs) == repairs {
		return nil, err
	}
	return recs[repairs:], nil
}

// cutRest removes an unfinished append and keeps its bytes. The lock is held, so
// its writer is dead or has failed.
func (j *File) cutRest() error {
	if j.size <= j.at.off {
		return nil
	}
	f, err := os.OpenFile(j.segPath(j.at.seg), os.O_RDWR|openFlags, 0)
	if err != nil {
		return j.failed(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return j.failed(err)
	}
	if identify(st) != j.id || st.Size() != j.size {
		return j.failed(errNotAlone)
	}
	rest := make([]byte, j.size-j.at.off)
	if _, err := f.ReadAt(rest, j.at.off); err != nil {
		return j.failed(err)
	}
	ref, err := j.writeBody(rest)
	if err != nil {
		return err
	}
	if err := j.o.Truncate(f, j.at.off); err != nil {
		return j.failed(fmt.Errorf("cut an unfinished append: %w", err))
	}
	j.size, j.cut = j.at.off, append(j.cut, ref)
	if err := j.o.Sync(f); err != nil {
		return j.failed(fmt.Errorf("cut an unfinished append: %w", err))
	}
	return nil
}

var errNotAlone = errors.New("another program writes to the segment without the lock")

// write appends the drafts as one write and folds them.
func (j *File) write(w Writer, drafts []Draft) ([]Record, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	at := j.at
	if at.off >= j.o.Segment {
		at = at.next()
	}
	lines, raw, err := at.draw(j.o.Now(), w, drafts, j.writeBody)
	if err != nil {
		return nil, err
	}
	if err := j.put(at, raw); err != nil {
		return nil, j.failed(fmt.Errorf("append: %w", err))
	}
	j.cut = nil
	recs := make([]Record, 0, len(lines))
	for _, l := range lines {
		recs = append(recs, l.Record)
		at.pass(l)
	}
	j.size = at.off
	if err := j.take(at, recs); err != nil {
		return nil, err
	}
	return recs, nil
}

// put writes p at the end of a segment and flushes it. When that fails it takes p
// back. Should that fail too, what stays is an unfinished append for the next
// writer to cut, or a whole one for the next Refresh to fold.
func (j *File) put(at position, p []byte) error {
	f, err := os.OpenFile(j.segPath(at.seg), os.O_WRONLY|os.O_APPEND|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Size() != at.off || at.off > 0 && identify(st) != j.id {
		return errNotAlone
	}
	// Whatever has a line in it is found again after a power cut.
	if at.off == 0 {
		if err := j.syncDirs(at.seg); err != nil {
			return err
		}
	}
	if err := j.writeSynced(f, p); err != nil {
		return errors.Join(err, j.withdraw(at))
	}
	j.id = identify(st)
	if st, err := f.Stat(); err == nil {
		j.mod = st.ModTime()
	}
	return nil
}

// withdraw takes back a failed append. The descriptor that appends is of no use:
// on Windows it may not truncate.
func (j *File) withdraw(at position) error {
	f, err := os.OpenFile(j.segPath(at.seg), os.O_WRONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return j.o.Truncate(f, at.off)
}

func (j *File) syncDirs(seg int) error {
	dir := j.dir
	if err := syncDir(dir, j.o.Sync); err != nil || seg > 1 {
		return err
	}
	// The directories above may be as new as the journal.
	for range 2 {
		dir = filepath.Dir(dir)
		if err := syncDir(dir, j.o.Sync); err != nil {
			return err
		}
	}
	return nil
}
