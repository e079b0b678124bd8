package sandbox

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/sandbox/relay"
)

// Access is what a command can do with a path.
type Access string

// The accesses.
const (
	Read      Access = "read"      // the command can read it and not write it
	Write     Access = "write"     // the command can read and write it
	Forbidden Access = "forbidden" // it exists inside and cannot be opened
	Absent    Access = "absent"    // it does not exist inside
	Own       Access = "own"       // the sandbox has a private one in its place
)

// Mount is a path whose access differs from that of its parent directory.
type Mount struct {
	Path   string
	Access Access
	Why    string
	kind   Kind
	source string // Write, Read: the mounted file; "" is Path itself
}

// ownDirs are directories of which a sandbox has private ones, where the machine has them. It
// always has a private /run, with the relay, and /dev with /dev/shm.
var ownDirs = []string{"/tmp", "/var/tmp"}

// mounts lists the differences of the profile from a read-only file system, outermost first.
func (p Profile) mounts(m Machine) ([]Mount, error) {
	at := map[string]Mount{}
	put := func(paths []string, a Access, why string) error {
		for _, path := range paths {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path {
				return fmt.Errorf("sandbox: %s path %q is not absolute and clean", why, path)
			}
			if old, has := at[path]; has && (old.Access == Absent && a == Write) {
				return fmt.Errorf("sandbox: %s is both writable and hidden", path)
			}
			at[path] = Mount{Path: path, Access: a, Why: why, kind: m.Kinds[path]}
		}
		return nil
	}
	// Later lists win where two name the same path.
	for _, list := range []struct {
		paths []string
		a     Access
		why   string
	}{
		{append([]string{"/run", "/dev/shm"}, ownDirs...), Own, "the sandbox's own"},
		{m.Keep, Read, "programs of the system"},
		{p.Secrets, Forbidden, "a secret"},
		{p.Hidden, Absent, "hidden from members"},
		{p.Readable, Read, "granted for reading"},
		{p.ReadOnly, Read, "protected"},
		{p.Writable, Write, "the member's"},
	} {
		if err := put(list.paths, list.a, list.why); err != nil {
			return nil, err
		}
	}
	for _, path := range []string{"/", "/proc", "/dev", "/sys", "/run", "/etc", "/usr"} {
		if at[path].Access == Write {
			return nil, fmt.Errorf("sandbox: %s cannot be writable as a whole: name the directories in it", path)
		}
	}
	if p.Tmp != "" {
		for _, path := range ownDirs {
			at[path] = Mount{Path: path, Access: Write, Why: "the sandbox's own", kind: m.Kinds[path], source: p.Tmp}
		}
	}
	for _, path := range p.ancestors() {
		if _, has := at[path]; !has {
			at[path] = Mount{Path: path, Access: Write, Why: "the member's; it holds what is protected and keeps its name", kind: Dir}
		}
	}
	var list []Mount
	for _, mt := range at {
		if mt.kind != Missing || mt.Path == "/run" || mt.Path == "/dev/shm" {
			list = append(list, mt)
		}
	}
	slices.SortFunc(list, func(a, b Mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), cmp.Compare(a.Path, b.Path))
	})
	return drop(list), nil
}

// ancestors are the directories between a writable directory and the paths that the profile names
// in it. Renaming such a directory would move a protected file to a path without a rule; a mount
// point cannot be renamed.
func (p Profile) ancestors() []string {
	var list []string
	for _, path := range slices.Concat(p.ReadOnly, p.Secrets, p.Hidden, p.Readable, p.Writable) {
		for _, w := range p.Writable {
			for up := filepath.Dir(path); up != w && within(up, w); up = filepath.Dir(up) {
				if !slices.Contains(list, up) {
					list = append(list, up)
				}
			}
		}
	}
	return list
}

// swappable are the member's own directories and the mounts in them. Another command of the member, or of another who
// writes the directory above, may put a link in the place of one after Look, which bubblewrap follows: what it leads to would be opened.
// The relay checks that each mount is where it was meant to be, and what it was meant to be.
func swappable(m Machine, mounts []Mount) (list []relay.Mounted) {
	for i, mt := range mounts {
		if own := mt.Access == Write && mt.source == ""; !own && !slices.ContainsFunc(mounts[:i], func(up Mount) bool { return up.Access == Write && within(mt.Path, up.Path) }) {
			continue
		}
		want := relay.Mounted{Path: mt.Path, ReadOnly: mt.Access == Read, ID: m.IDs[mt.Path]}
		want.Mask = mt.source != "" || mt.Access != Read && mt.Access != Write
		list = append(list, want)
	}
	return list
}

// drop removes mounts without an effect: a mask inside a masked directory.
func drop(list []Mount) []Mount {
	var out []Mount
	for _, mt := range list {
		up := nearest(out, filepath.Dir(mt.Path))
		masked := up.Access == Own || up.Access == Forbidden || up.Access == Absent
		if masked && (mt.Access == Forbidden || mt.Access == Absent) {
			continue
		}
		out = append(out, mt)
	}
	return out
}

// nearest returns the innermost mount that contains a path.
func nearest(list []Mount, path string) Mount {
	best := Mount{Path: "/", Access: Read, Why: "read-only for members", kind: Dir}
	for _, mt := range list {
		if within(path, mt.Path) && len(mt.Path) >= len(best.Path) {
			best = mt
		}
	}
	return best
}

// within reports whether a path is a directory or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// AccessTo returns the access of a command to a path without links, and why.
func (p Profile) AccessTo(m Machine, path string) (Access, string, error) {
	list, err := p.mounts(m)
	if err != nil {
		return "", "", err
	}
	mt := nearest(list, path)
	return mt.Access, mt.Why, nil
}
