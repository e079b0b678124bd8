package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"waggle/internal/fs/atomicfile"
)

// Refresh implements Journal. When nothing was appended it costs three stats.
func (j *File) Refresh(ctx context.Context) error {
	if err := j.settle(); err != nil {
		return j.failed(err)
	}
	j.unpreview()
	if j.sticky != nil {
		if err := j.mend(ctx); err != nil {
			return err
		}
	}
	j.look()
	for range maxAgain {
		if err := j.read(ctx); err != nil {
			return err
		}
		if !j.aside.again {
			if err := j.reached(); err != nil {
				return err
			}
			j.mending.Reset()
			return nil
		}
		j.fresh()
	}
	return j.broken(j.breach(j.at, nil, "its records contradict each other in every order of setting them aside"))
}

// read folds the records that were appended since.
func (j *File) read(ctx context.Context) error {
	for {
		if j.sticky != nil {
			return j.sticky
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// Look for the next segment before reading this one to its end: a
		// segment gets no more lines once its successor exists.
		_, nextErr := os.Lstat(j.segPath(j.at.seg + 1))
		if nextErr != nil && !errors.Is(nextErr, fs.ErrNotExist) {
			return j.failed(nextErr)
		}
		if err := j.readSegment(); err != nil {
			return err
		}
		if nextErr != nil {
			return nil
		}
		if j.size > j.at.off {
			return j.broken(j.breach(j.at, nil, "a segment that has a successor ends in the middle of an append"))
		}
		j.at, j.id, j.size, j.mod = j.at.next(), fileID{}, 0, time.Time{}
	}
}

// readSegment folds the new appends of the current segment. It reports a break only when a second
// reading finds the same one: a reader without the lock can read while an unfinished append is
// replaced by another.
func (j *File) readSegment() error {
	var before *breach
	for try := 0; ; try++ {
		err := j.scan()
		var b *breach
		if !errors.As(err, &b) {
			return err
		}
		if before != nil && (b.same(before) || try == 10) {
			return j.broken(b)
		}
		before = b
	}
}

func (j *File) breach(at position, raw []byte, why string) *breach {
	return &breach{file: segmentName(at.seg), line: at.line + 1, seq: at.seq + 1, why: why, raw: bytes.Clone(raw)}
}

// scan reads the current segment once, from the last append that was folded.
func (j *File) scan() error {
	st, err := os.Lstat(j.segPath(j.at.seg))
	if errors.Is(err, fs.ErrNotExist) {
		if j.at.seq > 0 {
			return j.breach(j.at, nil, "the segment does not exist any more")
		}
		return nil
	}
	if err != nil {
		return j.failed(err)
	}
	if err := j.trust(st); err != nil {
		return err
	}
	if st.Size() == j.at.off && st.ModTime().Equal(j.mod) && !j.doubt {
		j.size = j.at.off
		return nil
	}
	f, err := atomicfile.OpenFile(j.segPath(j.at.seg), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return j.failed(err)
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return j.failed(err)
	}
	if err := j.trust(st); err != nil {
		return err
	}
	if err := j.checkTail(f); err != nil {
		return err
	}
	if st.Size() == j.at.off && !j.mod.IsZero() && !st.ModTime().Equal(j.mod) {
		if err := j.checkLines(f); err != nil {
			return err
		}
	}
	j.doubt = false
	j.id, j.size, j.mod = identify(st), st.Size(), st.ModTime()
	if j.size == j.at.off {
		return nil
	}
	if _, err := f.Seek(j.at.off, io.SeekStart); err != nil {
		return j.failed(err)
	}
	if err := j.readLines(bufio.NewReaderSize(f, 64<<10), f); err != nil {
		return err
	}
	j.size, err = f.Seek(0, io.SeekCurrent)
	if err != nil {
		return j.failed(err)
	}
	return nil
}

// trust checks that a segment can be the one that was read up to here.
func (j *File) trust(st fs.FileInfo) error {
	switch {
	case !st.Mode().IsRegular():
		return j.breach(j.at, nil, "the segment is not a regular file")
	case st.Size() > max(j.o.Segment, maxSegment)+segmentSlack:
		return j.breach(j.at, nil, fmt.Sprintf("the segment has %d bytes, which no program of ours writes", st.Size()))
	case othersWrite(st):
		return j.breach(j.at, nil, fmt.Sprintf("others can write to the segment (%v)", st.Mode()))
	case j.at.off > 0 && j.id != (fileID{}) && identify(st) != j.id:
		return j.breach(j.at, nil, "the segment was replaced by another file")
	case st.Size() < j.at.off:
		return j.breach(j.at, nil, "the segment became shorter")
	}
	return nil
}

// checkTail checks that the last folded line is still in the segment. It may have been withdrawn
// and replaced by another of the same length.
func (j *File) checkTail(f *os.File) error {
	if j.at.off == 0 {
		return nil
	}
	raw := make([]byte, j.at.off-j.at.start)
	if _, err := f.ReadAt(raw, j.at.start); err != nil && err != io.EOF {
		return j.failed(err)
	}
	if hexSum(raw) != j.at.head {
		at := j.at
		at.seq, at.line = at.seq-1, at.line-1
		return j.breach(at, raw, replaced)
	}
	return nil
}

// checkLines checks that all folded lines are still in the segment. It is called when the segment
// was changed and nothing was appended.
func (j *File) checkLines(f *os.File) error {
	br := bufio.NewReaderSize(io.NewSectionReader(f, 0, j.at.off), 64<<10)
	at, first := position{chain: j.at.chain, seg: j.at.seg}, true
	for {
		raw, err := readLine(br)
		switch {
		case err == io.EOF && len(raw) == 0 && (first || at.head == j.at.head):
			return nil
		case err == io.EOF:
			return j.breach(at, raw, "the lines that were read before are not there any more")
		case errors.Is(err, errLongLine):
			return j.breach(at, nil, err.Error())
		case err != nil:
			return j.failed(err)
		}
		l, err := decodeLine(raw)
		if err == nil && !first && (l.Prev != at.head || l.Seq != at.seq+1) {
			err = errors.New("prev is not the hash of the line before: a line was changed or removed")
		}
		if err != nil {
			if first {
				at.seq = 0 // unknown: the error names the broken line itself
			}
			return j.breach(at, raw, err.Error())
		}
		first = false
		at.seq, at.head = l.Seq, l.hash
		at.off += int64(l.size)
		at.line++
	}
}

// readLines folds every complete append in br, which reads the segment behind the folded lines.
func (j *File) readLines(br *bufio.Reader, segment io.ReaderAt) error {
	at := j.at
	var recs []Record
	var again []byte
	for {
		raw, err := readLine(br)
		switch {
		case err == io.EOF:
			return j.rest(at, raw)
		case errors.Is(err, errLongLine):
			return j.breach(at, nil, err.Error())
		case err != nil:
			return j.failed(err)
		}
		l, err := j.accept(at, raw)
		if err != nil {
			return err
		}
		recs = append(recs, l.Record)
		at.pass(l)
		if l.more {
			continue
		}
		// A reader without the lock may have read the beginning of an unfinished append and the end
		// of the append that replaced it. The hash in the next line detects that for every line but
		// the last, so the last line is read once more and must be the same.
		again = append(again[:0], raw...)
		if n, err := segment.ReadAt(again, at.start); n < len(raw) || !bytes.Equal(again, raw) {
			if err != nil && err != io.EOF {
				return j.failed(err)
			}
			at.seq, at.line = at.seq-1, at.line-1
			return j.breach(at, raw, "the line was replaced by another while it was read")
		}
		if err := j.take(at, recs); err != nil {
			return err
		}
		recs = recs[:0]
	}
}

// rest checks the bytes behind the last newline. The beginning of a line is left by a writer that
// died. A whole line followed by another byte is a line whose newline was changed.
func (j *File) rest(at position, raw []byte) error {
	if n := len(raw) - 1; n > 0 {
		if _, err := decodeLine(append(raw[:n:n], '\n')); err == nil {
			return j.breach(at, raw, "the newline of the line was changed")
		}
	}
	return nil
}

var errLongLine = fmt.Errorf("the line is over the limit of %d bytes", maxLine)

// readLine returns the next complete line with its newline, until the next call;
// with io.EOF, what follows the last newline.
func readLine(br *bufio.Reader) ([]byte, error) {
	b, err := br.ReadSlice('\n')
	if len(b) > maxLine || errors.Is(err, bufio.ErrBufferFull) {
		return nil, errLongLine
	}
	return b, err
}

// replaced is what is wrong with a line that stands where another was.
const replaced = "the line was replaced by another"

// accept checks a line against the chain and gets its body.
func (j *File) accept(at position, raw []byte) (line, error) {
	l, err := decodeLine(raw)
	if err == nil {
		err = at.follows(l)
	}
	if err != nil {
		b := j.breach(at, raw, err.Error())
		errors.As(err, &b.future)
		return line{}, b
	}
	if l.Seq == j.certain.seq && l.sum != j.certain.sum {
		return line{}, j.breach(at, raw, replaced)
	}
	if l.Ref == nil {
		return l, nil
	}
	body, err := j.readBody(*l.Ref)
	if b, ok := errors.AsType[*breach](err); ok {
		b.seq, b.raw = l.Seq, bytes.Clone(raw)
	}
	l.Body = body
	return l, err
}

// take folds the records of one append that ends at at.
func (j *File) take(at position, recs []Record) error {
	for i, r := range recs {
		if err := j.fold1(r); err != nil {
			line := at.line - len(recs) + i + 1
			return j.contradicted(at.seg, line, r, err)
		}
		at.count(r)
	}
	j.folded += len(recs)
	j.at = at
	return nil
}
