package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/internal/fs/atomicfile"
)

// Salvage calls look with every record of a journal that is intact by itself: its line matches its
// sum and its body is there, whatever the state of the lines around it. Nothing is decided from
// such records. They serve to end the processes that a broken journal names, and to show what can
// still be read.
func (d Dir) Salvage(name Name, look func(Record)) error {
	if err := checkName(name); err != nil {
		return err
	}
	dir := filepath.Join(d.Path, string(name))
	ents, err := os.ReadDir(dir)
	var errs []error
	for _, e := range ents { // in order of name
		if _, ok := segmentNumber(e.Name()); ok && e.Type().IsRegular() {
			errs = append(errs, salvage(filepath.Join(dir, e.Name()), name, "", look))
		}
	}
	return errors.Join(append(errs, err)...)
}

// Newest calls look with the intact records of one kind in a segment, the newest segment first, as long as
// a segment was written since that time or look asks for more. As of Salvage, nothing is decided from them.
func (d Dir) Newest(name Name, kind string, since time.Time, look func([]Record) (more bool)) error {
	if err := checkName(name); err != nil {
		return err
	}
	dir := filepath.Join(d.Path, string(name))
	ents, err := os.ReadDir(dir)
	more := false
	for _, e := range slices.Backward(ents) {
		if _, ok := segmentNumber(e.Name()); !ok || !e.Type().IsRegular() {
			continue
		}
		info, ierr := e.Info()
		if ierr != nil || !more && info.ModTime().Before(since) {
			return errors.Join(err, ierr)
		}
		var rs []Record
		if serr := salvage(filepath.Join(dir, e.Name()), name, kind, func(r Record) { rs = append(rs, r) }); serr != nil {
			return errors.Join(err, serr)
		}
		more = look(rs)
	}
	return err
}

// maxRead bounds how much of a broken segment is read. This package writes no larger segment.
const maxRead = 64 << 20

// salvage calls look with the records of a segment: of one kind, or with "" of every kind.
func salvage(path string, name Name, kind string, look func(Record)) error {
	f, err := atomicfile.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	br := bufio.NewReaderSize(io.LimitReader(f, maxRead), 64<<10)
	only := []byte(`"kind":"` + kind + `"`) // a look that costs less than to check a line's sum
	long := false                           // the bytes are the rest of a line that exceeds the limit
	for {
		raw, err := br.ReadSlice('\n')
		if kind == "" || bytes.Contains(raw, only) {
			if l, derr := decodeLine(raw); derr == nil && !long && l.Journal == name && l.Ref == nil && (kind == "" || l.Kind == kind) {
				look(l.Record)
			}
		}
		switch long = errors.Is(err, bufio.ErrBufferFull); {
		case long || err == nil:
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}
