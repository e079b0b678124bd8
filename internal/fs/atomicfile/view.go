package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// View is the current content of a file under its lock.
type View interface {
	Size() int64 // 0 when the file does not exist
	Exists() bool
	ReadAt(p []byte, off int64) (int, error)
	Bytes() ([]byte, error) // all of it; read once and kept; not to be changed
}

// Ours reports whether v shows a file exactly as the last Edit of any of our processes left it:
// then what that edit has checked still holds. It is false when that cannot be proven, as on file
// systems with coarse times.
func Ours(v View) bool {
	w, ok := v.(*view)
	return ok && w.ours
}

// IdentityOf is the identity of what v shows, zero where a foreign change could
// leave it as it is: then only reading tells.
func IdentityOf(v View) Identity {
	w, ok := v.(*view)
	if !ok || w.doubt {
		return Identity{}
	}
	return w.id
}

type view struct {
	path   string
	f      *os.File // nil when the file does not exist
	fi     fs.FileInfo
	id     Identity
	ours   bool
	doubt  bool // a foreign change could leave id as it is: compare contents
	data   []byte
	loaded bool
}

func (v *view) Size() int64  { return v.id.size }
func (v *view) Exists() bool { return v.f != nil }

func (v *view) ReadAt(p []byte, off int64) (int, error) {
	if v.loaded || v.f == nil {
		return bytes.NewReader(v.data).ReadAt(p, off)
	}
	return v.f.ReadAt(p, off)
}

func (v *view) Bytes() ([]byte, error) {
	if v.loaded || v.f == nil {
		return v.data, nil
	}
	data, err := readAll(v.f, v.id.size)
	if err != nil {
		return nil, err
	}
	v.data, v.loaded = data, true
	return data, nil
}

func (v *view) close() {
	if v.f != nil {
		v.f.Close()
	}
}

// openView opens the file of a held lock for one attempt at an edit.
func openView(l *lock) (*view, error) {
	v := &view{path: l.path}
	f, fi, err := openRegular(l.path, l.o.maxSize())
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(l.parent()); err != nil {
			return nil, fmt.Errorf("edit: %w", err)
		}
		return v, nil
	}
	if err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	v.f, v.fi, v.id = f, fi, identityOf(fi)
	fine := dirOf(l.path).fine()
	v.doubt = v.id.doubtful(l.o.now(), fine)
	v.ours = fine && l.flk != nil && l.rec.last == v.id
	if v.doubt {
		if _, err := v.Bytes(); err != nil {
			v.close()
			return nil, fmt.Errorf("edit: %w", err)
		}
	}
	return v, nil
}

// openRegular opens a regular file of at most limit bytes. It follows no symbolic link and never
// blocks.
func openRegular(path string, limit int64) (*os.File, fs.FileInfo, error) {
	f, err := openRead(path)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil {
		err = regular(path, fi.Mode())
	}
	if err == nil && fi.Size() > limit {
		err = tooLarge(path, fi.Size(), limit)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

func tooLarge(path string, size, limit int64) error {
	return fmt.Errorf("%s: %w: %d bytes, at most %d are allowed", path, ErrTooLarge, size, limit)
}

// readAll reads size bytes from the start. A file that was cut short meanwhile
// gives less; one that grew gives what it was.
func readAll(f *os.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err == io.EOF {
		err = nil
	}
	return data[:n], err
}
