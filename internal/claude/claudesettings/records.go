package claudesettings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Installs lists the settings files of all clients in which an install by program, a path without
// links, has its hooks still.
func (s Store) Installs(program string) ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(s.Dir, e.Name())
		if !strings.HasSuffix(path, ".json") {
			continue
		}
		r, err := read(path)
		if err != nil {
			return nil, err
		}
		if !leads(r.Program, program) {
			continue
		}
		of := s
		of.Client = r.Client
		if l, err := of.Look(r.Path); err == nil && l.Installed {
			found = append(found, r.Path)
		}
	}
	return found, nil
}

// leads reports whether a path is program or, through links, leads to it.
func leads(path, program string) bool {
	real, err := filepath.EvalSymlinks(path)
	return path == program || err == nil && real == program
}
