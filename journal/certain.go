package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
)

// CertainName is the file beside the segments that names the last line which is certainly on disk.
const CertainName = "certain.json"

// certain is the content of that file. Whoever appended writes it under the lock, after the flush: it
// may lag behind the journal and never leads it. So a journal that ends before that line has lost its
// end, and one with another line there was replaced.
type certain struct {
	seq Seq
	sum sum // of the line
}

// The file always has one size: it is written in place, by one write of less than a sector, and its
// check shows a reader that it read half of one. A rename would double the time of an append on a
// disk, and a flush of its own too.
const (
	certainSize = 96
	checkOpen   = `,"check":"`
)

// encode writes the one spelling of c. check is the sum of what is before it, as in a line.
func (c certain) encode() []byte {
	b := fmt.Appendf(make([]byte, 0, certainSize), `{"seq":%d,"sum":"%s"`, c.seq, c.sum[:])
	check := lineSum(b)
	b = append(append(append(b, checkOpen...), check[:]...), `"}`...)
	return append(append(b, bytes.Repeat([]byte{' '}, certainSize-1-len(b))...), '\n')
}

func decodeCertain(b []byte) (c certain, ok bool) {
	p := parser{rest: string(b)}
	p.want(`{"seq":`)
	c.seq = Seq(p.number())
	p.want(`,"sum":`)
	n := copy(c.sum[:], p.string())
	return c, p.err == nil && n == sumDigits && bytes.Equal(c.encode(), b)
}

// readCertain reads the file. What is missing, cannot be read or is not as it was written says nothing:
// it must not make a journal unusable that is whole. damaged reports the last.
func readCertain(path string) (c certain, id atomicfile.Identity, damaged bool) {
	for range 3 { // it may be read while it is written
		b, id, err := atomicfile.ReadIdentified(path, atomicfile.Options{MaxSize: certainSize})
		if err != nil {
			_, serr := os.Lstat(path)
			return certain{}, atomicfile.Identity{}, serr == nil
		}
		if c, ok := decodeCertain(b); ok || len(b) == 0 { // empty: power was lost after it was made
			return c, id, false
		}
	}
	return certain{}, atomicfile.Identity{}, true
}

// look reads the file when it may be another than the one that was read last. It is called before the
// segments are read: then these must have the line.
func (j *File) look() {
	path := filepath.Join(j.dir, CertainName)
	switch id, err := atomicfile.Identify(path); {
	case err != nil:
		j.certain, j.certainID = certain{}, atomicfile.Identity{}
	case id != j.certainID:
		j.certain, j.certainID, _ = readCertain(path)
	}
}

// putCertain writes the file of the journal in dir, whose lock the caller holds. What is not a regular
// file there is moved aside, and neither opened nor followed.
func putCertain(dir string, c certain, now time.Time, sync func(*os.File) error) error {
	path := filepath.Join(dir, CertainName)
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		if _, err := atomicfile.SetAside(path, dir, now); err != nil {
			return err
		}
	}
	f, err := atomicfile.OpenFile(path, os.O_WRONLY|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := atomicfile.Write(f, c.encode()); err != nil {
		return err
	}
	if st, err := f.Stat(); err != nil || st.Size() > certainSize {
		if err := atomicfile.Truncate(f, certainSize); err != nil {
			return err
		}
	}
	return sync(f)
}

// certify writes the file for a line that was flushed under the lock. A failure is not reported: the
// file then lags behind until the next append.
func (j *File) certify(at chain) {
	_ = putCertain(j.dir, certain{at.seq, at.sum}, j.o.Now(), func(*os.File) error { return nil })
}

// CheckCertain reports a journal's file that is not as it was written: it proves nothing until the next
// append writes it again.
func (d Dir) CheckCertain(name Name) error {
	if _, _, damaged := readCertain(filepath.Join(d.Path, string(name), CertainName)); damaged {
		return fmt.Errorf("%s is not as it was written: whether the journal's end is there is not known", CertainName)
	}
	return nil
}
