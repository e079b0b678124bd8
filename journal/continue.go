package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/fs/atomicfile"
)

// Break is the place where a journal is broken, and the lines behind it.
type Break struct {
	Err    *BrokenError
	Prefix Seq // the last record before the break: the readable part ends with its append
	// Records are the lines behind that, the bad one included, with those that are certain and not there.
	// Bytes is the size of what is there, and SHA256 over these bytes, segment after segment.
	Records int
	Bytes   int64
	SHA256  string

	at position
}

// FindBreak reads a journal from its first line and folds the records before a break into fold,
// which must be fresh. It returns nil when the journal is whole or does not exist.
func (d Dir) FindBreak(name Name, fold Fold, o Options) (*Break, error) {
	o.SnapshotAfter = -1
	j, err := d.Open(name, fold, o)
	b, ok := errors.AsType[*BrokenError](err)
	if !ok {
		return nil, err
	}
	if b.File == "." {
		return nil, fmt.Errorf("%w: nothing in it is cut for that: put the directory right (chmod go-w)", err)
	}
	if j.at.seq == 0 { // a missing segment is found before anything is read
		j.sticky = nil
		if err := j.Refresh(context.Background()); err != nil && !errors.As(err, new(*BrokenError)) {
			return nil, err
		}
	}
	if st, err := os.Lstat(j.segPath(j.at.seg)); err == nil && st.Mode().IsRegular() && othersWrite(st) {
		return nil, fmt.Errorf("%w: nothing in it is cut for that: put the file right (chmod go-w)", b)
	}
	f := &Break{Err: b, Prefix: j.at.seq, at: j.at}
	err = d.weigh(f)
	if n := j.certain.seq; n > f.Prefix {
		f.Records = max(f.Records, int(n-f.Prefix))
	}
	return f, err
}

// weigh counts and hashes the lines behind the break.
func (d Dir) weigh(b *Break) error {
	sum := sha256.New()
	later, err := d.behind(b.Err.Journal, b.at.seg)
	if err != nil {
		return err
	}
	b.Records, b.Bytes = 0, 0
	for _, n := range append([]int{b.at.seg}, later...) {
		from := int64(0)
		if n == b.at.seg {
			from = b.at.off
		}
		if err := b.add(sum, d.segment(b.Err.Journal, n), from); err != nil {
			return err
		}
	}
	b.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// add reads one file from an offset. It counts nothing for a path that is not a regular file.
func (b *Break) add(sum hash.Hash, path string, from int64) error {
	if st, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	lines := &counter{}
	n, err := io.Copy(io.MultiWriter(sum, lines), io.LimitReader(f, maxRead))
	b.Bytes += n
	b.Records += lines.n
	if n > 0 && lines.last != '\n' {
		b.Records++
	}
	return err
}

// counter counts lines.
type counter struct {
	n    int
	last byte
}

func (c *counter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		c.n, c.last = c.n+bytes.Count(p, []byte{'\n'}), p[len(p)-1]
	}
	return len(p), nil
}

func (d Dir) segment(name Name, n int) string {
	return filepath.Join(d.Path, string(name), segmentName(n))
}

// behind lists the segments after one, in order.
func (d Dir) behind(name Name, seg int) (ns []int, err error) {
	ents, err := os.ReadDir(filepath.Join(d.Path, string(name)))
	for _, e := range ents {
		if n, ok := segmentNumber(e.Name()); ok && n > seg {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return ns, err
}

// Continue repairs a broken journal: it cuts the lines behind the break and appends the records
// that propose drafts. Before that it copies the whole journal to keep, a directory that does not
// exist yet. The fold must be fresh; it holds the continued journal afterwards.
//
// Other processes may read the journal during Continue, but not append. A Continue that is
// interrupted leaves a journal that is broken or one that is continued, never one that is only
// shorter. A journal without a readable record cannot be continued.
func (d Dir) Continue(ctx context.Context, b *Break, keep string, fold Tentative, o Options, w Writer, propose func() ([]Draft, error)) error {
	name := b.Err.Journal
	dir := filepath.Join(d.Path, string(name))
	if b.Prefix == 0 {
		return fmt.Errorf("%w: there is no record before the break to continue from", b.Err)
	}
	if err := copyDir(dir, keep, func(string) int64 { return math.MaxInt64 }); err != nil {
		return fmt.Errorf("journal %s: keep it as it is: %w", name, err)
	}
	next := Dir{Path: keep + ".next", UID: d.UID}
	defer os.RemoveAll(next.Path)
	if err := errors.Join(os.RemoveAll(next.Path), copyDir(dir, filepath.Join(next.Path, string(name)), b.readable)); err != nil {
		return fmt.Errorf("journal %s: %w", name, err)
	}
	o.SnapshotAfter, o.Segment = -1, math.MaxInt64/2 // all new lines go into one segment
	j, err := next.Open(name, fold, o)
	if err == nil && (j.at.seq != b.Prefix || j.at.head != b.at.head) {
		err = fmt.Errorf("journal %s was changed meanwhile", name)
	}
	if err == nil {
		_, err = j.Append(ctx, w, propose)
	}
	if err != nil {
		return err
	}
	return d.install(ctx, b, keep, next, j)
}

// readable returns how many bytes of a file of the journal belong to the readable part; -1 means
// none.
func (b *Break) readable(file string) int64 {
	n, segment := segmentNumber(file)
	switch {
	case segment && n > b.at.seg, file == "lock", file == CertainName, strings.HasPrefix(file, "snapshot-"):
		return -1
	case segment && n == b.at.seg:
		return b.at.off
	}
	return math.MaxInt64
}

// install replaces the broken journal with the continued one, which is open as j. A journal that lost
// its end stays broken until its certain.json is the new one.
func (d Dir) install(ctx context.Context, b *Break, keep string, next Dir, j *File) (err error) {
	end := j.at
	name := b.Err.Journal
	dir := filepath.Join(d.Path, string(name))
	release, err := atomicfile.Flock(ctx, filepath.Join(dir, "lock"), atomicfile.Options{Rank: atomicfile.RankJournal})
	if err != nil {
		return fmt.Errorf("journal %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	now := *b
	if err := d.weigh(&now); err != nil {
		return err
	}
	if now.SHA256 != b.SHA256 {
		return fmt.Errorf("journal %s was changed meanwhile: look at it again", name)
	}
	bodies := filepath.Join(next.Path, string(name), bodiesDir)
	if err := copyDir(bodies, filepath.Join(dir, bodiesDir), func(string) int64 { return math.MaxInt64 }); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(next.segment(name, end.seg), d.segment(name, end.seg)); err != nil {
		return err
	}
	if err := syncDir(dir, (*os.File).Sync); err != nil {
		return err
	}
	if err := putCertain(dir, certain{end.seq, end.sum}, j.o.Now(), (*os.File).Sync); err != nil {
		return err
	}
	// The first of these segments is removed last: until then the journal is broken.
	later, err := d.behind(name, end.seg)
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(later) {
		if err := d.drop(name, n, keep); err != nil {
			return err
		}
	}
	snapshots, _ := filepath.Glob(filepath.Join(dir, "snapshot-*")) // the pattern is well-formed
	for _, s := range snapshots {
		if err := os.Remove(s); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncDir(dir, (*os.File).Sync)
}

// drop removes a segment that was copied to keep. What is not a regular file is moved to keep.
func (d Dir) drop(name Name, n int, keep string) error {
	path := d.segment(name, n)
	st, err := os.Lstat(path)
	if err == nil && st.Mode().IsRegular() {
		err = os.Remove(path)
	} else if err == nil {
		err = os.Rename(path, filepath.Join(keep, segmentName(n)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// copyDir copies the regular files of a directory and of its subdirectories, each up to a size, and
// flushes them. It leaves out everything else.
func copyDir(from, to string, size func(file string) int64) error {
	ents, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range ents {
		n := size(e.Name())
		_, segment := segmentNumber(e.Name())
		switch {
		case n < 0:
		case e.IsDir() && !segment:
			err = copyDir(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), size)
		case e.Type().IsRegular():
			err = copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), n)
		}
		if err != nil {
			return err
		}
	}
	return syncDir(to, (*os.File).Sync)
}

func copyFile(from, to string, size int64) error {
	in, err := os.OpenFile(from, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if st, err := in.Stat(); err == nil && size == math.MaxInt64 && st.Size() > maxRead {
		return os.Link(from, to) // not a segment: nothing writes to it any more, so a link is enough
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|openFlags, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, size))
	return errors.Join(err, out.Sync(), out.Close())
}
