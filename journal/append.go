package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
)

// Append implements Journal. When an append is whole in its segment and its flush failed, Append
// waits for the flush without holding the lock (Options.FlushWait).
func (j *File) Append(ctx context.Context, w Writer, propose func() ([]Draft, error)) ([]Record, error) {
	if j.sticky != nil {
		if err := j.mend(ctx); err != nil {
			return nil, err
		}
	}
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	recs, err := j.appendLocked(ctx, w, propose)
	if j.owed == nil || j.owed.recs == nil {
		return recs, err
	}
	if ferr := j.awaitFlush(ctx, err); ferr != nil {
		return nil, ferr
	}
	return recs, nil
}

func (j *File) appendLocked(ctx context.Context, w Writer, propose func() ([]Draft, error)) (recs []Record, err error) {
	release, err := atomicfile.Flock(ctx, filepath.Join(j.dir, "lock"),
		atomicfile.Options{Rank: atomicfile.RankJournal, Deadline: j.o.Deadline, Aside: j.dir})
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

// prepare makes the journal's directory before the first append. It does not make a directory again
// that existed and was removed.
func (j *File) prepare(ctx context.Context) error {
	if j.at.seq > 0 || j.least.seq > 0 {
		st, err := os.Lstat(j.dir)
		if err != nil {
			return errors.Join(j.Refresh(ctx), err)
		}
		return j.checkEarlier(st.ModTime())
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return j.failed(err)
	}
	return j.checkDir()
}

// checkEarlier checks that the segments before the present one are still there, when something was put
// into the directory or removed since, at the time changed.
func (j *File) checkEarlier(changed time.Time) error {
	if j.at.seg == 1 || changed.Equal(j.checked) {
		return nil
	}
	if err := j.checkDir(); err != nil {
		return err
	}
	j.checked = changed
	return nil
}

// append is Append under the lock.
func (j *File) append(ctx context.Context, w Writer, propose func() ([]Draft, error)) ([]Record, error) {
	j.doubt = true // the modification time may be unchanged: compare the last line
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
		drafts = append(drafts, Draft{Kind: KindRepaired, Body: Repaired{Cut: &ref}})
	}
	drafts = append(drafts, j.unnamed()...)
	repairs := len(drafts)
	proposed, err := propose()
	if err != nil {
		// The journal records the cut even when propose drafts nothing.
		if _, werr := j.write(ctx, w, drafts); werr != nil {
			if j.owed != nil {
				j.owed.recs = nil // no caller waits for these records
			}
			return nil, errors.Join(err, werr)
		}
		return nil, err
	}
	recs, err := j.write(ctx, w, append(drafts, proposed...))
	if len(recs) <= repairs {
		return nil, err
	}
	return recs[repairs:], err
}

// cutRest removes an unfinished append and keeps its bytes. The caller holds the lock, so the
// append's writer is dead or has failed.
func (j *File) cutRest() error {
	if j.size <= j.at.off {
		return nil
	}
	f, err := atomicfile.OpenFile(j.segPath(j.at.seg), os.O_RDWR|openFlags, 0)
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

// write folds the drafts and appends them as one write. When the lines are written and the flush
// fails, it returns the records with the error and folds none.
func (j *File) write(ctx context.Context, w Writer, drafts []Draft) ([]Record, error) {
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
	recs := make([]Record, 0, len(lines))
	for _, l := range lines {
		recs = append(recs, l.Record)
	}
	f, id, err := j.end(at)
	if err != nil {
		return nil, j.failed(fmt.Errorf("append: %w", err))
	}
	defer f.Close()
	after, first, ok := at, j.tentative(), false
	for _, l := range lines {
		after.pass(l)
	}
	if first != nil {
		defer func() {
			if !ok {
				j.rebuild()
			}
		}()
		if err := try(first, recs); err != nil {
			return nil, err
		}
	}
	if err := j.put(ctx, f, at, raw); err != nil {
		err = j.failed(fmt.Errorf("append: %w", err))
		if j.owed == nil {
			return nil, err
		}
		j.owed.recs = recs
		return recs, err
	}
	j.certify(after.chain)
	ok = true
	j.id, j.cut, j.size = id, nil, after.off
	if first == nil {
		if err := j.take(after, recs); err != nil {
			return nil, err
		}
		return recs, nil
	}
	for _, r := range recs {
		j.named(r)
		after.count(r)
	}
	j.folded += len(recs)
	j.at = after
	first.Keep()
	return recs, nil
}

// try folds drafts that are not written yet.
func try(fold Tentative, recs []Record) error {
	fold.Hold()
	for _, r := range recs {
		if err := fold.Apply(r); err != nil {
			return &DraftError{Journal: r.Journal, Kind: r.Kind, Err: err}
		}
	}
	return nil
}

// end opens the segment for writing and checks that it still ends where it was read to.
func (j *File) end(at position) (_ *os.File, id fileID, err error) {
	f, err := atomicfile.OpenFile(j.segPath(at.seg), os.O_WRONLY|os.O_APPEND|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return nil, id, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, id, err
	}
	if !st.Mode().IsRegular() || st.Size() != at.off || at.off > 0 && identify(st) != j.id {
		return nil, id, errNotAlone
	}
	// The directory entry of a new segment is flushed, so that the segment exists after a power
	// cut.
	if at.off == 0 {
		if err := j.syncDirs(at.seg); err != nil {
			return nil, id, err
		}
	}
	return f, identify(st), nil
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
