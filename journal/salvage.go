package journal

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"waggle/internal/atomicfile"
)

// Salvage calls look with every record of a journal that is whole in itself: its line
// has its sum and its body is in it, whatever became of the lines around it. Nothing is
// decided from that. It is for ending what a broken journal names, and for showing what
// is still there.
func (d Dir) Salvage(name Name, look func(Record)) error {
	if err := checkName(name); err != nil {
		return err
	}
	dir := filepath.Join(d.Path, string(name))
	ents, err := os.ReadDir(dir)
	var errs []error
	for _, e := range ents { // in order of name
		if _, ok := segmentNumber(e.Name()); ok && e.Type().IsRegular() {
			errs = append(errs, salvage(filepath.Join(dir, e.Name()), name, look))
		}
	}
	return errors.Join(append(errs, err)...)
}

// maxRead is how much is read of a segment that is broken: more is in none that was written
// here.
const maxRead = 64 << 20

func salvage(path string, name Name, look func(Record)) error {
	f, err := atomicfile.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	br := bufio.NewReaderSize(io.LimitReader(f, maxRead), 64<<10)
	long := false // this is the rest of a line that is too long to be one
	for {
		raw, err := br.ReadSlice('\n')
		if l, derr := decodeLine(raw); derr == nil && !long && l.Journal == name && l.Ref == nil {
			look(l.Record)
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
