//go:build unix

package realpath

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Real returns the absolute path that p reaches, with every link followed, the last
// component's too. Of a path that does not exist it resolves the deepest ancestor
// that does and appends the rest. ".." after a link is the parent of what the link
// reaches, as the kernel has it. It fails where it cannot look: a directory without
// permission, a circle, a path that is not absolute.
func Real(p string) (string, error) {
	fail := func(err error) (string, error) { return "", &fs.PathError{Op: "resolve", Path: p, Err: err} }
	if !strings.HasPrefix(p, "/") {
		return fail(errRelative)
	}
	todo := strings.Split(p, "/")
	var done []string // resolved; the last missing of them do not exist
	missing, links := 0, 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(done) > 0 {
				done = done[:len(done)-1]
				missing = max(0, missing-1)
			}
			continue
		}
		done = append(done, name)
		if missing > 0 {
			missing++
			continue
		}
		at := "/" + strings.Join(done, "/")
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			missing = 1
			continue
		case err != nil:
			return fail(causeOf(err))
		case info.Mode()&fs.ModeSymlink == 0:
			continue
		}
		if links++; links > maxLinks {
			return fail(ErrLinks)
		}
		if done[0] == "proc" {
			return fail(errProcLink)
		}
		to, err := os.Readlink(at)
		if err != nil {
			return fail(causeOf(err))
		}
		done = done[:len(done)-1]
		if strings.HasPrefix(to, "/") {
			done = nil
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return "/" + strings.Join(done, "/"), nil
}

// causeOf is an error without the path that it names.
func causeOf(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
