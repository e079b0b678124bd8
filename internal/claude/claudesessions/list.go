package claudesessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"waggle/spawn"
)

// maxFiles bounds the files of a registry that are read. Dead sessions leave theirs, so there may
// be many more files than sessions.
const maxFiles = 16384

// List returns the sessions in dir whose process runs, by pid. problems are the files
// that could not be read and the processes that could not be looked at; a directory
// that does not exist has no sessions and no problem.
func List(dir string) (entries []Entry, problems []error) {
	pids, keys, err := registry(dir)
	if err != nil {
		problems = append(problems, err)
	}
	for _, pid := range pids {
		e, err := Read(dir, pid)
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
			if _, look := spawn.Identify(pid); !errors.Is(look, spawn.ErrGone) { // of one that has ended nothing is said
				problems = append(problems, err)
			}
			continue
		}
		e.KeyPath = keyOf(dir, keys[pid])
		entries = append(entries, e)
	}
	return entries, problems
}

// registry lists the pids of the session files in a directory, and the key files of each.
func registry(dir string) ([]int, map[int][]string, error) {
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
	var pids []int
	keys := map[int][]string{}
	for _, name := range all {
		first, rest, _ := strings.Cut(name, ".")
		pid, perr := strconv.Atoi(first)
		switch {
		case perr != nil || pid <= 0 || strconv.Itoa(pid) != first:
		case rest == "json":
			pids = append(pids, pid)
		case strings.HasSuffix(rest, ".key"):
			keys[pid] = append(keys[pid], name)
		}
	}
	slices.Sort(pids)
	return pids, keys, err
}

// modified is the time of a regular file in nanoseconds, 0 for anything else.
func modified(path string) int64 {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return 0
	}
	return fi.ModTime().UnixNano()
}
