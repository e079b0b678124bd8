package worktree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"syscall"
)

// What a member's own git directory may hold, before it counts as hostile.
const (
	maxRef        = 1 << 10  // bytes of a file with one reference
	maxPackedRefs = 16 << 20 // bytes
	maxHeads      = 1000     // branches
	maxRefDepth   = 16       // parts of a branch's name
)

// HostileError: a member's git directory holds what git would not have written. Nothing of it is
// used.
type HostileError struct {
	Path string
	Why  string
}

func (e *HostileError) Error() string {
	return fmt.Sprintf("%s %s: nothing of this checkout's git directory is used", e.Path, e.Why)
}

// refs reads where the branches of a git directory are, as text. No link is followed, and nothing that
// is not a plain file is opened.
type refs struct {
	root   *os.Root
	dir    string
	packed map[string]string // nil: not read yet
}

func openRefs(dir string) (*refs, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if !info.IsDir() {
		return nil, &HostileError{dir, "is no directory"}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(&HostileError{dir, "was replaced while it was read"}, root.Close())
	}
	return &refs{root: root, dir: dir}, nil
}

func (r *refs) close() { _ = r.root.Close() }

// open opens a plain file below the git directory. Every directory above it is one.
func (r *refs) open(name string, limit int64) (*os.File, fs.FileInfo, error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := r.root.Lstat(dir)
		if err != nil {
			return nil, nil, err
		}
		if !info.IsDir() {
			return nil, nil, &HostileError{path.Join(r.dir, dir), "is no directory"}
		}
	}
	info, err := r.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &HostileError{path.Join(r.dir, name), "is no plain file"}
	}
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its other end
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	switch {
	case err != nil:
	case !opened.Mode().IsRegular() || !os.SameFile(info, opened):
		err = &HostileError{path.Join(r.dir, name), "was replaced while it was read"}
	case opened.Size() > limit:
		err = &HostileError{path.Join(r.dir, name), fmt.Sprintf("has more than %d bytes", limit)}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, opened, nil
}

func (r *refs) read(name string, limit int64) ([]byte, error) {
	f, _, err := r.open(name, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &HostileError{path.Join(r.dir, name), fmt.Sprintf("has more than %d bytes", limit)}
	}
	return b, err
}

// head is the commit that the checkout is at, "" for none, and its branch, "" when it is on none.
func (r *refs) head() (commit, branch string, err error) {
	b, err := r.read("HEAD", maxRef)
	if err != nil {
		return "", "", fmt.Errorf("worktree: %w", err)
	}
	text := strings.TrimSuffix(string(b), "\n")
	name, symbolic := strings.CutPrefix(text, "ref: refs/heads/")
	switch {
	case isHash(text):
		return text, "", nil
	case !symbolic || !isBranch(name):
		return "", "", &HostileError{path.Join(r.dir, "HEAD"), "names no branch and no commit"}
	}
	commit, err = r.branch(name)
	return commit, name, err
}

// branch is where a branch is, "" when there is none of that name.
func (r *refs) branch(name string) (string, error) { return r.ref("refs/heads/" + name) }

func (r *refs) ref(name string) (string, error) {
	b, err := r.read(name, maxRef)
	if errors.Is(err, fs.ErrNotExist) {
		if err := r.readPacked(); err != nil {
			return "", err
		}
		return r.packed[name], nil
	}
	if err != nil {
		return "", fmt.Errorf("worktree: %w", err)
	}
	text := strings.TrimSuffix(string(b), "\n")
	if !isHash(text) {
		return "", &HostileError{path.Join(r.dir, name), "names no commit"}
	}
	return text, nil
}

// readPacked reads packed-refs.
func (r *refs) readPacked() error {
	if r.packed != nil {
		return nil
	}
	packed := map[string]string{}
	b, err := r.read("packed-refs", maxPackedRefs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("worktree: %w", err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		hash, name, _ := strings.Cut(lines.Text(), " ")
		branch, isHead := strings.CutPrefix(name, "refs/heads/")
		if !isHash(hash) || name != "refs/stash" && !(isHead && isBranch(branch)) {
			continue
		}
		if packed[name] = hash; len(packed) > maxHeads {
			return &HostileError{path.Join(r.dir, "packed-refs"), fmt.Sprintf("has more than %d branches", maxHeads)}
		}
	}
	r.packed = packed
	return nil
}

// heads are the commits of all branches and of the stash, by the reference's full name.
func (r *refs) heads() (map[string]string, error) {
	if err := r.readPacked(); err != nil {
		return nil, err
	}
	all := maps.Clone(r.packed)
	if err := r.loose("refs/heads", 0, all); err != nil {
		return nil, err
	}
	stash, err := r.ref("refs/stash")
	if err != nil {
		return nil, err
	}
	if stash != "" {
		all["refs/stash"] = stash
	}
	return all, nil
}

// loose adds the references that have a file of their own.
func (r *refs) loose(dir string, depth int, all map[string]string) error {
	entries, err := r.list(dir, 2*maxHeads)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := dir + "/" + e.Name()
		switch {
		case len(all) > maxHeads || depth > maxRefDepth:
			return &HostileError{path.Join(r.dir, dir), fmt.Sprintf("has more than %d branches", maxHeads)}
		case e.IsDir():
			if err := r.loose(name, depth+1, all); err != nil {
				return err
			}
		case strings.HasSuffix(e.Name(), ".lock"):
		case !isBranch(strings.TrimPrefix(name, "refs/heads/")):
			return &HostileError{path.Join(r.dir, name), "is no name of a branch"}
		default:
			if all[name], err = r.ref(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// list lists a directory of at most so many entries; of one that is not there, none.
func (r *refs) list(dir string, most int) ([]fs.DirEntry, error) {
	info, err := r.root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if !info.IsDir() {
		return nil, &HostileError{path.Join(r.dir, dir), "is no directory"}
	}
	f, err := r.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(most + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if len(entries) > most {
		return nil, &HostileError{path.Join(r.dir, dir), fmt.Sprintf("has more than %d entries", most)}
	}
	return entries, nil
}

// isHash reports the full name of an object.
func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// isBranch reports a name of a branch, as git has them, of at most 255 bytes.
func isBranch(name string) bool {
	if name == "" || name == "@" || name[0] == '-' || len(name) > 255 || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for _, r := range name {
		if r < '!' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) {
			return false
		}
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
