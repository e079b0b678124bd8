package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
)

// copyWhole is the size up to which a new content is put together in memory and
// written at once; above it the kernel copies what did not change.
const copyWhole = 64 << 10

// createTemp makes ".<name>.<8 hex>.<suffix>" in the directory of a place.
func createTemp(p place, suffix string, perm fs.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		f, err := p.create(fmt.Sprintf(".%s.%08x.%s", p.name, rand.Uint32(), suffix))
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if perm.Perm() != 0o600 {
			if err := f.Chmod(perm.Perm()); err != nil {
				p.discard(f)
				return nil, err
			}
		}
		return f, nil
	}
}

// linkNoReplace gives from's content the name to unless there is one.
func linkNoReplace(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

// checkSplices refuses splices that overlap, descend or leave the content, and a
// result over the limit.
func checkSplices(v *view, splices []Splice, limit int64) error {
	size, at := v.Size(), int64(0)
	for _, s := range splices {
		if s.Offset < at || s.Delete < 0 || s.Offset+s.Delete > v.Size() {
			return fmt.Errorf("edit %s: a splice of %d bytes at %d does not fit (%d bytes, done up to %d)",
				v.path, s.Delete, s.Offset, v.Size(), at)
		}
		at = s.Offset + s.Delete
		size += int64(len(s.Insert)) - s.Delete
	}
	if size > limit {
		return fmt.Errorf("edit: %w", tooLarge(v.path, size, limit))
	}
	return nil
}

// writeSpliced writes v's content with the splices applied to f.
func writeSpliced(f *os.File, v *view, splices []Splice) error {
	if v.f == nil || v.Size() <= copyWhole {
		old, err := v.Bytes()
		if err != nil {
			return err
		}
		if int64(len(old)) < v.Size() {
			return errShrunk
		}
		_, err = Write(f, Apply(old, splices))
		return err
	}
	at := int64(0)
	for _, s := range splices {
		if err := copyRange(f, v.f, at, s.Offset-at); err != nil {
			return err
		}
		if _, err := Write(f, s.Insert); err != nil {
			return err
		}
		at = s.Offset + s.Delete
	}
	return copyRange(f, v.f, at, v.Size()-at)
}

// errShrunk says that the file became shorter while it was copied: another program writes it in
// place.
var errShrunk = errors.New("the file was cut short while it was read")

// Apply returns a content with splices made, which fit it.
func Apply(old []byte, splices []Splice) []byte {
	out := make([]byte, 0, len(old))
	at := int64(0)
	for _, s := range splices {
		out = append(out, old[at:s.Offset]...)
		out = append(out, s.Insert...)
		at = s.Offset + s.Delete
	}
	return append(out, old[at:]...)
}

// copyRange appends n bytes of from at off to f: copy_file_range where the
// system has it, which shares the blocks where the file system can.
func copyRange(f, from *os.File, off, n int64) error {
	if n == 0 {
		return nil
	}
	if _, err := from.Seek(off, io.SeekStart); err != nil {
		return err
	}
	if err := Failing(OpWrite, f.Name()); err != nil {
		return err
	}
	_, err := io.CopyN(f, from, n)
	if err == io.EOF {
		return errShrunk
	}
	return err
}
