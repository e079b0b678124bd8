package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waggle/internal/pattern"
)

// What is at the path of a lock and is no lock is set aside by a rename: it is not opened, not followed, and not removed.
// A queue file and the file of a Flock are regular files, a lock directory is a directory that is empty or that somebody
// renews (FORMAT, "Locks").

// mostAside is how many files are set aside from one path. More of them are the work of a program that makes them again
// and again; a person has to look then.
const mostAside = 32

// stampForm is the time in the names that SetAside gives.
const stampForm = "20060102T150405.000Z"

// clear sets aside what is at the path of a lock if it is as strange says; what is not, and nothing, is fine. The error is
// a *LockedError with the reason as its Cause.
func (o Options) clear(path string, strange func(fs.FileInfo) bool) error {
	kind, place, err := o.moveAway(path, strange)
	if err != nil {
		return &LockedError{Path: strings.TrimSuffix(path, ".lock"), Cause: fmt.Errorf("%s is %s and cannot be set aside: %w", path, kind, err)}
	}
	if place != "" && o.Cleared != nil {
		o.Cleared(path, place)
	}
	return nil
}

// moveAway does that under the lock of the directory: of two processes that found a strange file, the second must not move
// away the lock that the first has made meanwhile.
func (o Options) moveAway(path string, strange func(fs.FileInfo) bool) (kind, place string, err error) {
	kind, dir := "no lock", filepath.Dir(path)
	unlock, err := lockDirectory(dir)
	if err != nil {
		return kind, "", err
	}
	defer unlock()
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kind, "", nil
	}
	if err != nil {
		return kind, "", err
	}
	kind = KindOf(fi.Mode())
	if !strange(fi) {
		return kind, "", nil
	}
	to := o.Aside
	if to == "" {
		to = dir
	}
	if err := roomFor(path, dir, to); err != nil {
		return kind, "", err
	}
	place, err = SetAside(path, to, o.now())
	return kind, place, err
}

// roomFor refuses another file where mostAside were set aside from the path.
func roomFor(path string, dirs ...string) error {
	n := 0
	for i, dir := range dirs {
		if i > 0 && dir == dirs[0] {
			break
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if from, _, ok := asideName(e.Name()); ok && from == filepath.Base(path) {
				n++
			}
		}
	}
	if n >= mostAside {
		return fmt.Errorf("%d files were set aside from there before: look who makes them, and remove them", n)
	}
	return nil
}

var stamped = pattern.New(`^(.+)-(\d{8}T\d{6}\.\d{3}Z)(-\d+)?$`)

// asideName parses a name that SetAside gave.
func asideName(name string) (from string, at time.Time, ok bool) {
	m := stamped().FindStringSubmatch(name)
	if m == nil {
		return "", time.Time{}, false
	}
	at, err := time.Parse(stampForm, m[2])
	return m[1], at, err == nil
}

// notRegular and notDirectory are what cannot be a lock's file, and a lock's directory.
func notRegular(fi fs.FileInfo) bool   { return !fi.Mode().IsRegular() }
func notDirectory(fi fs.FileInfo) bool { return !fi.IsDir() }

// Clear sets aside what is at path and is not a regular file: for the file on which a lock is taken, and for one that is
// written under it. The error is a *LockedError.
func Clear(path string, o Options) error {
	if !replaced(path) {
		return nil
	}
	return o.clear(path, notRegular)
}

// An Oddity is a path in a directory with locks that a person should know of.
type Oddity struct {
	Path string
	What string        // "a FIFO where a lock belongs"
	At   time.Time     // when it was set aside; zero: it is at the path of a lock
	Held time.Duration // the age of a lock
}

// Oddities returns what is at the path of a lock in a directory of the wire tree and is no lock, what was set aside from
// such a path, and the lock directories that are older than the stale time: their holders renew them, or nobody wanted
// them since. It makes and changes nothing.
func Oddities(dir string, now time.Time) (list []Oddity) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path, name := filepath.Join(dir, e.Name()), e.Name()
		if from, at, ok := asideName(name); ok && (from == "lock" || from == ".highwatermark" || lockFile(from) != nil) {
			list = append(list, Oddity{Path: path, What: KindOf(e.Type()) + " that was where a lock belongs", At: at})
			continue
		}
		if odd := lockFile(name); odd == nil {
			continue
		} else if fi, err := e.Info(); err == nil && odd(fi) {
			list = append(list, Oddity{Path: path, What: KindOf(fi.Mode()) + " where a lock belongs"})
		} else if d, err := statDir(path); err == nil && d.mode.IsDir() {
			if age := time.Duration(now.UnixNano() - d.born()); age > DefaultStale {
				list = append(list, Oddity{Path: path, What: "a lock that its holder has had for " + round(age).String(), Held: age})
			}
		}
	}
	return list
}

// lockFile returns what a file of this name cannot be; nil: it is none of a lock.
func lockFile(name string) func(fs.FileInfo) bool {
	switch {
	case name == ".lock", strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".flk"):
		return notRegular
	case strings.HasSuffix(name, ".lock"):
		return notDirectory
	}
	return nil
}

// KindOf names the type of a file: "a FIFO".
func KindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// SetAside moves the file at path into dir, under its name and the time, and returns its new path.
// Files of any type are moved unchanged: nothing is opened and no link is followed. When dir cannot
// be made, or is on another file system, the file is moved to that name beside path. When path does
// not exist, SetAside returns "" and no error.
func SetAside(path, dir string, now time.Time) (place string, err error) {
	places := []string{dir, filepath.Dir(path)}
	if os.MkdirAll(dir, 0o700) != nil {
		places = places[1:]
	}
	name := filepath.Base(path) + "-" + now.UTC().Format(stampForm)
	for _, in := range places {
		place = filepath.Join(in, name)
		for n := 2; there(place); n++ {
			place = filepath.Join(in, fmt.Sprintf("%s-%d", name, n))
		}
		if err = Rename(path, place); err == nil {
			return place, nil
		}
		if errors.Is(err, fs.ErrNotExist) && !there(path) {
			return "", nil
		}
	}
	return "", fmt.Errorf("set aside: %w", err)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
