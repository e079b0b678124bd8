package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// place is a file that is written: a name in a directory that root holds open, or, without root, in the directory at the
// path dir.
type place struct {
	root      *os.Root
	dir, name string
}

func placeOf(path string) place {
	return place{dir: filepath.Dir(path), name: filepath.Base(path)}
}

func (p place) path() string { return filepath.Join(p.dir, p.name) }

func (p place) lstat() (fs.FileInfo, error) {
	if p.root != nil {
		return p.root.Lstat(p.name)
	}
	return os.Lstat(p.path())
}

// list returns the files of the directory.
func (p place) list() ([]fs.DirEntry, error) {
	if p.root != nil {
		return fs.ReadDir(p.root.FS(), ".")
	}
	return os.ReadDir(p.dir)
}

// create makes a file of the directory that is not there.
func (p place) create(name string) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	path := filepath.Join(p.dir, name)
	if p.root == nil {
		return OpenFile(path, flags|openFlags, 0o600)
	}
	if err := Failing(OpCreate, path); err != nil {
		return nil, err
	}
	return p.root.OpenFile(name, flags, 0o600)
}

// replace renames a file of the directory to the name, over a file that a reader may have open for a moment.
func (p place) replace(from string) error {
	return patiently(func() error {
		if p.root == nil {
			return Rename(filepath.Join(p.dir, from), p.path())
		}
		return unless(OpRename, p.path(), func() error { return p.root.Rename(from, p.name) })
	})
}

func (p place) remove(name string) {
	if p.root != nil {
		_ = p.root.Remove(name)
		return
	}
	_ = os.Remove(filepath.Join(p.dir, name))
}

// discard closes and removes a file of the directory.
func (p place) discard(f *os.File) {
	f.Close()
	p.remove(filepath.Base(f.Name()))
}
