package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waggle/internal/sandbox/relay"
)

// Kind is the type of a file.
type Kind string

// The kinds. Everything except a directory counts as a file.
const (
	Missing Kind = ""
	File    Kind = "file"
	Dir     Kind = "dir"
)

// Machine has the facts about the file system that Plan needs.
type Machine struct {
	Kinds map[string]Kind     // of the profile's paths, after Look has resolved them
	IDs   map[string]relay.ID // of those that a profile opens, and of its ancestors
	Keep  []string            // directories below /run that programs need
	Open  []string            // FilesOnly: the readable paths, in the form for Landlock

	// Sockets are the hidden paths that no profile names: what programs listen on.
	Sockets []string
}

// runNeeds are directories below /run that hold the programs of some systems.
var runNeeds = []string{"/run/current-system", "/run/opengl-driver"}

// Look resolves every link in a profile's paths and finds their kinds. It drops secret, hidden,
// readable and read-only paths that do not exist; a writable directory must exist. It adds to the
// hidden paths the sockets of programs that a command could reach.
func Look(p Profile, l Level) (Profile, Machine, error) {
	m := Machine{Kinds: map[string]Kind{}, IDs: map[string]relay.ID{}}
	var errs []error
	// A member may have made a link in a directory that it writes: paths that a profile opens must
	// not follow it. Paths that a profile closes follow links. What it writes had no link at the start: one
	// is of a member or program that may change a directory on the way.
	roots := reals(p.Writable)
	own := func(path string) (string, error) { return ownLink(path, roots) }
	plain := func(path string) (string, error) {
		real, err := own(path)
		if err == nil && real != path {
			err = fmt.Errorf("%w: a link in %s leads to %s, and was not there when the member started: it is not followed; remove it", ErrTree, path, real)
		}
		return real, err
	}
	var tmp []string
	if p.Tmp != "" {
		tmp = []string{p.Tmp}
	}
	for _, list := range []struct {
		name  string
		paths *[]string
		must  bool
		real  func(string) (string, error)
	}{{"writable", &p.Writable, true, plain}, {"secrets", &p.Secrets, false, filepath.EvalSymlinks}, {"hidden", &p.Hidden, false, filepath.EvalSymlinks},
		{"readable", &p.Readable, false, own}, {"read-only", &p.ReadOnly, false, own}, {"tmp", &tmp, true, own}} {
		var err error
		if *list.paths, err = m.resolve(*list.paths, list.must, list.real); err != nil {
			errs = append(errs, fmt.Errorf("sandbox: %s: %w", list.name, err))
		}
	}
	if len(tmp) > 0 {
		p.Tmp = tmp[0]
	}
	if l == Enforced {
		for _, path := range slices.Concat(p.Writable, p.Readable, p.ReadOnly, p.ancestors()) {
			var err error
			if m.IDs[path], err = relay.IDOf(path); err != nil {
				errs = append(errs, fmt.Errorf("sandbox: %w", err))
			}
		}
	}
	sockets := reachableSockets(p.UnixSockets)
	if l == Enforced { // in a user namespace
		for _, list := range []*[]string{&p.Secrets, &p.Hidden, &sockets} {
			*list = slices.DeleteFunc(slices.Clone(*list), barred)
		}
	}
	for _, s := range sockets {
		if m.Kinds[s] = File; !slices.Contains(p.Hidden, s) {
			p.Hidden, m.Sockets = append(p.Hidden, s), append(m.Sockets, s)
		}
	}
	for _, dir := range ownDirs {
		// A link needs no mount: its target is the sandbox's own, or read-only.
		if kindOf(dir) == Dir {
			m.Kinds[dir] = Dir
		}
	}
	for _, dir := range runNeeds {
		if kindOf(dir) == Dir {
			m.Keep = append(m.Keep, dir)
		}
	}
	if l == FilesOnly {
		closed := append(slices.Clone(p.Secrets), p.Hidden...)
		m.Open = open("/", closed)
		for _, r := range p.Readable {
			m.Open = append(m.Open, open(r, below(closed, r))...)
		}
	}
	return p, m, errors.Join(errs...)
}

// Real resolves the links of the directories that a profile will have as Writable. It refuses a link in them, which
// may be of the member's commands.
func Real(dirs []string) (list []string, err error) {
	roots := reals(dirs)
	for _, dir := range dirs {
		real, err := ownLink(dir, roots)
		if err != nil {
			return nil, fmt.Errorf("sandbox: writable: %w", err)
		}
		list = append(list, real)
	}
	return list, nil
}

// reals are the targets of those paths that exist.
func reals(paths []string) (list []string) {
	for _, p := range paths {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			list = append(list, real)
		}
	}
	return list
}

// linksMax is the most links that a path may follow, as in Linux.
const linksMax = 40

// ownLink resolves the links of a path, and refuses one in the directories roots. What it returns has had
// no link in them, whatever the member puts there meanwhile.
func ownLink(path string, roots []string) (string, error) {
	rest, at := strings.TrimPrefix(filepath.Clean(path), "/"), "/"
	for links := 0; rest != "" && rest != "."; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		next := filepath.Join(at, name)
		to, err := os.Readlink(next)
		if err != nil {
			at = next // no link, or a missing file
			continue
		}
		if i := slices.IndexFunc(roots, func(r string) bool { return within(at, r) }); i >= 0 {
			return "", fmt.Errorf("%w: %s is a link in %s, which the member writes: it is not followed; remove it", ErrTree, next, roots[i])
		}
		if links++; links > linksMax {
			return "", fmt.Errorf("%s: %w", path, syscall.ELOOP)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(at, to)
		}
		rest, at = strings.TrimPrefix(filepath.Join(to, rest), "/"), "/"
	}
	_, err := os.Lstat(at)
	return at, err
}

// below returns the paths inside a directory, without the directory.
func below(paths []string, dir string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == dir || !within(p, dir) })
}

// open lists the topmost files and directories below dir that contain no closed path. It leaves
// links out: their targets are listed in their own directories.
func open(dir string, closed []string) []string {
	inside := false
	for _, c := range closed {
		if within(dir, c) {
			return nil
		}
		inside = inside || within(c, dir)
	}
	if !inside {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a directory that this user cannot list stays closed
	}
	var list []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			list = append(list, open(filepath.Join(dir, e.Name()), closed)...)
		}
	}
	return list
}

// resolve returns the targets of the paths, without paths whose target does not exist.
func (m Machine) resolve(paths []string, must bool, resolve func(string) (string, error)) ([]string, error) {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("%q is not absolute", p)
		}
		real, err := resolve(p)
		switch {
		case err != nil && (must || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)):
			return nil, err
		case err != nil:
			continue // a path that does not exist, or that this user cannot reach, needs no mask
		}
		if m.Kinds[real] = kindOf(real); !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out, nil
}

func kindOf(path string) Kind {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return Missing
	case info.IsDir():
		return Dir
	}
	return File
}

// reachableSockets lists the Unix sockets with a path in this network namespace, of those that this
// user can see, that a command could reach. Without opened it opens no Unix socket: it can only
// redirect one of a pair of datagram sockets, which it may have.
func reachableSockets(opened bool) []string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil // not Linux
	}
	defer f.Close()
	var list []string
	for _, path := range socketPaths(f, opened) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// datagram is the type of a datagram socket in /proc/net/unix.
const datagram = "0002"

// socketPaths reads the paths from /proc/net/unix, of datagram sockets or of all.
func socketPaths(r io.Reader, all bool) []string {
	var list []string
	for s := bufio.NewScanner(r); s.Scan(); {
		// Num RefCount Protocol Flags Type St Inode Path; Path may hold spaces.
		head, path, found := strings.Cut(s.Text(), " /")
		if f := strings.Fields(head); found && (all || len(f) > 4 && f[4] == datagram) {
			list = append(list, filepath.Clean("/"+path))
		}
	}
	return list
}
