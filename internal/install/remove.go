package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// look says how the file is now.
func (f File) look() State {
	st, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing
	case err != nil || !st.Mode().IsRegular():
		return Changed
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return Changed
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil || hex.EncodeToString(h.Sum(nil)) != f.Sum {
		return Changed
	}
	return Same
}

// Program is the installed program, <prefix>/bin/waggle.
func (i *Installation) Program() string { return filepath.Join(i.Prefix, "bin", "waggle") }

// Record is the path of the record.
func (i *Installation) Record() string {
	return filepath.Join(i.Prefix, filepath.FromSlash(RecordName))
}

// Remove removes the files that are as they were installed, the program last of them,
// then the record and the directories that the installation made and that are empty.
// It returns what was removed. When a file cannot be removed the record stays, so that
// Remove can be called again.
func (i *Installation) Remove() (removed []string, err error) {
	program := func(f File) bool { return f.Path == i.Program() }
	last := slices.DeleteFunc(slices.Clone(i.Files), func(f File) bool { return !program(f) })
	for _, f := range append(slices.DeleteFunc(slices.Clone(i.Files), program), last...) {
		if f.look() != Same {
			continue
		}
		if err := os.Remove(f.Path); err != nil {
			return removed, fmt.Errorf("install: %w", err)
		}
		removed = append(removed, f.Path)
	}
	if err := os.Remove(i.Record()); err != nil {
		return removed, fmt.Errorf("install: %w", err)
	}
	for _, dir := range slices.Backward(i.Dirs) {
		_ = os.Remove(filepath.Join(i.Prefix, filepath.FromSlash(dir))) // stays when it is not empty
	}
	return removed, nil
}
