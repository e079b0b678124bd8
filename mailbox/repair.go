package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
)

// A broken file may be one that a program is writing at the moment, so it is read again a few times
// before it is repaired.
const (
	tornTries = 3
	tornDelay = 10 * time.Millisecond
)

var errTorn = errors.New("the file is not whole at the moment")

// repair describes one file that was repaired.
type repair struct {
	why        error
	kept       int
	bytes      int // number of bytes in quarantine
	quarantine string
}

func (r repair) report(path string) Report {
	what := fmt.Sprintf("%s was broken (%v): its %d readable entries were kept, all %d bytes of it are in the quarantine file",
		path, r.why, r.kept, r.bytes)
	var garbage *garbageError
	if errors.As(r.why, &garbage) {
		what = fmt.Sprintf("%s had %v: they were taken out, and all %d bytes of them are in the quarantine file", path, garbage, r.bytes)
	}
	if r.quarantine == "" {
		what = fmt.Sprintf("%s was an empty file, which no mailbox is: taken as a mailbox without entries", path)
	}
	return Report{Path: path, What: what, Quarantine: r.quarantine}
}

// quarantine copies the bytes of a broken file, or of its broken lines, to "<path>.corrupt-<time>". It
// overwrites no file and copies the same bytes once.
func (b *Box) quarantine(data []byte) (string, error) {
	sum := hashRaw(data)
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.quarantined[sum]; ok {
		if _, err := os.Lstat(at); err == nil {
			return at, nil
		}
	}
	stamp := b.path + ".corrupt-" + b.now().UTC().Format("20060102T150405.000Z")
	for n := 1; ; n++ {
		at := stamp
		if n > 1 {
			at = fmt.Sprintf("%s-%d", stamp, n)
		}
		f, err := atomicfile.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("quarantine: %w", err)
		}
		_, err = atomicfile.Write(f, data)
		// The broken bytes are about to be replaced, so their copy is flushed first.
		if err = errors.Join(err, atomicfile.Flush(f), f.Close()); err != nil {
			return "", fmt.Errorf("quarantine: %w", errors.Join(err, os.Remove(at)))
		}
		if b.quarantined == nil {
			b.quarantined = map[string]string{}
		}
		b.quarantined[sum] = at
		return at, nil
	}
}

// edit makes one change of the file under its lock. It gives a broken file time to become whole,
// then repairs it and applies the change to the result; both are published at once.
func (b *Box) edit(ctx context.Context, change func(atomicfile.View) ([]atomicfile.Splice, error)) error {
	var reports []Report
	o := b.file()
	o.Kept = func(path string) {
		reports = append(reports, Report{Path: b.path, Quarantine: path,
			What: "another program wrote " + b.path + " without its lock while it was being replaced; what it wrote could not be merged and was kept"})
	}
	o.Cleared = func(path, place string) {
		reports = append(reports, Report{Path: b.path, Quarantine: place, What: path + " was where a lock belongs and is none: it is set aside"})
	}
	for try := 0; ; try++ {
		var done []repair
		err := atomicfile.Edit(ctx, b.path, o, func(v atomicfile.View) ([]atomicfile.Splice, error) {
			splices, err := change(v)
			switch {
			case err == nil:
				return b.format.whole(v, splices)
			case !invalid(err):
				return nil, err
			case try < tornTries:
				return nil, errTorn
			}
			r, splices, err := b.mend(v, err, change)
			done = append(done, r)
			return splices, err
		})
		if errors.Is(err, errTorn) {
			if !backoff.Pause(ctx, tornDelay) {
				return context.Cause(ctx)
			}
			continue
		}
		for _, r := range done {
			if err == nil {
				reports = append(reports, r.report(b.path))
			}
		}
		b.report(reports)
		if errors.Is(err, atomicfile.ErrTooLarge) {
			err = fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
		return err
	}
}

// mend replaces the whole content of a broken file.
func (b *Box) mend(v atomicfile.View, why error, change func(atomicfile.View) ([]atomicfile.Splice, error)) (repair, []atomicfile.Splice, error) {
	r := repair{why: why}
	data, err := v.Bytes()
	if err != nil {
		return r, nil, err
	}
	a, _ := b.format.scan(data, nil)
	mended, bad := b.format.mend(data, a)
	r.kept, r.bytes = len(a.elems), len(bad)
	if len(bad) > 0 {
		if r.quarantine, err = b.quarantine(bad); err != nil {
			return r, nil, err
		}
	}
	splices, err := change(memView(mended))
	if err != nil {
		return r, nil, err
	}
	return r, []atomicfile.Splice{{Delete: v.Size(), Insert: atomicfile.Apply(mended, splices)}}, nil
}

// report passes reports to Options.Report. The caller holds no lock.
func (b *Box) report(reports []Report) {
	if b.o.Report == nil {
		return
	}
	for _, r := range reports {
		b.o.Report(r)
	}
}
