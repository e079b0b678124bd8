package claudesessions

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxFiles bounds the files of a registry that are read. Dead sessions leave theirs, so there may
// be many more files than sessions.
const maxFiles = 16384

// List returns the sessions in dir whose process runs, by pid. problems are the files
// that could not be read and the processes that could not be looked at; a directory
// that does not exist has no sessions and no problem.
func List(dir string) (entries []Entry, problems []error) {
	names, keys, err := registry(dir)
	if err != nil {
		problems = append(problems, err)
	}
	for _, f := range names {
		e, err := readEntry(filepath.Join(dir, f.name), f.pid)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended meanwhile
		}
		if err == nil {
			var alive bool
			if alive, err = e.Alive(); err == nil && !alive {
				continue
			}
		}
		if err != nil {
			if !gone(f.pid) {
				problems = append(problems, err)
			}
			continue
		}
		e.KeyPath = keyOf(dir, keys[f.pid])
		entries = append(entries, e)
	}
	return entries, problems
}

type file struct {
	name string
	pid  int
}

// registry lists the session files of a directory by pid, and the key files of each.
func registry(dir string) ([]file, map[int][]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // the home directory may be no directory
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list sessions: %w", err)
	}
	defer d.Close()
	all, err := d.Readdirnames(maxFiles + 1)
	if err != nil && len(all) == 0 {
		return nil, nil, nil // io.EOF: an empty directory
	}
	if len(all) > maxFiles {
		all, err = all[:maxFiles], fmt.Errorf("list sessions: %s has more than %d files; the others were not read", dir, maxFiles)
	} else {
		err = nil
	}
	var files []file
	keys := map[int][]string{}
	for _, name := range all {
		first, rest, _ := strings.Cut(name, ".")
		pid, perr := strconv.Atoi(first)
		switch {
		case perr != nil || pid <= 0 || strconv.Itoa(pid) != first:
		case rest == "json":
			files = append(files, file{name, pid})
		case strings.HasSuffix(rest, ".key"):
			keys[pid] = append(keys[pid], name)
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.pid, b.pid) })
	return files, keys, err
}
