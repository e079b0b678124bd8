package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
)

// SocketDirs are the directories of a team's sockets and of their keys. Both are private (0700) and
// are made when they are needed.
type SocketDirs struct {
	Dir  string // of the sockets: RUN/<team>-<id8>
	Keys string // of their leases and keys: STATE/teams/<team>-<id8>/sockets
}

// OperatorSocket is the name of the operator's socket. It is no member's name.
const OperatorSocket = "operator"

// maxSocketPath is the longest path that a socket can be bound to everywhere:
// sun_path has 104 bytes on macOS and 108 on Linux, one of them for the end.
const maxSocketPath = 103

// Path is the path of the socket of a name. A path that is too long for a socket is replaced by one
// below /tmp/waggle-<uid>, named by a hash of the directory: every process computes the same.
func (p SocketDirs) Path(name string) string {
	path := filepath.Join(p.Dir, name+".sock")
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(p.Dir))
	return filepath.Join(shortDir(), hex.EncodeToString(sum[:6]), name+".sock")
}

func shortDir() string { return "/tmp/waggle-" + strconv.Itoa(os.Geteuid()) }

func (p SocketDirs) lease(name string) string { return filepath.Join(p.Keys, name+".lock") }
func (p SocketDirs) key(name string) string   { return filepath.Join(p.Keys, name+".json") }

// key is the token of one socket. It is a private file (0600) for as long as the socket is served,
// and names the path, so that the token is sent to no other socket.
type key struct {
	V     int    `json:"v"`
	Path  string `json:"path"`
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

// NewToken returns a token: 256 random bits in hex.
func NewToken(rand io.Reader) (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return "", fmt.Errorf("transport: token: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

func (p SocketDirs) writeKey(name string, k key) error {
	return jsonfile.Write(p.key(name), k, atomicfile.Options{Aside: p.Keys})
}

// maxKey is the size up to which a key file is read.
const maxKey = 8 << 10

func readKey(path string) (key, error) {
	data, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: maxKey})
	if err != nil {
		return key{}, err
	}
	k, err := parse[key](data)
	if err == nil && k.V != 1 {
		err = fmt.Errorf("version %d of a socket's key is not known here", k.V)
	}
	return k, err
}

// At is where the socket of a name is served, its token and its server's pid, as that wrote them; ok is false when no
// process has. A server that was killed leaves them behind.
func (p SocketDirs) At(name string) (path, token string, pid int, ok bool) {
	k, err := readKey(p.key(name))
	return k.Path, k.Token, k.PID, err == nil
}

// Token returns the token of the socket that is served at a path, as its server wrote
// it into one of the key directories. ok is false when no key names the path; a key
// file that cannot be read is skipped.
func Token(keys []string, path string) (token string, ok bool) {
	want := realPath(path)
	for _, dir := range keys {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			continue
		}
		for _, f := range files {
			if k, err := readKey(f); err == nil && realPath(k.Path) == want {
				return k.Token, true
			}
		}
	}
	return "", false
}

// realPath is one spelling of a socket's path, whichever links led to it.
func realPath(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, filepath.Base(path))
}

// privateDir makes a directory that only this user can enter, and refuses an existing one with
// another owner or other permissions.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	if uid, foreign := atomicfile.ForeignOwner(fi); foreign {
		return fmt.Errorf("%s belongs to uid %d: it is not used for sockets", dir, uid)
	}
	if fi.Mode().Perm() == 0o700 {
		return nil
	}
	return os.Chmod(dir, 0o700)
}

// clearStale removes the socket of a dead server at a path. The caller holds the lease of the name:
// no process serves there.
func clearStale(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is in the way and is not a socket: it is not ours to remove", path)
	}
	return os.Remove(path)
}

// take takes the lease of a name. ErrServed: another process has it.
func (p SocketDirs) take(name string) (release func() error, err error) {
	if err := privateDir(p.Keys); err != nil {
		return nil, err
	}
	release, held, err := atomicfile.TryFlock(p.lease(name), atomicfile.Options{Rank: atomicfile.RankLease, Aside: p.Keys})
	if err == nil && !held {
		err = ErrServed
	}
	return release, err
}

// ErrServed: another process serves this socket. It is never taken from a live one.
var ErrServed = errors.New("another process serves this socket")

// Remove removes the sockets and keys that no process serves, and then their empty
// directory. It is for a team that has ended.
func (p SocketDirs) Remove() error {
	names, err := p.Served()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		release, err := p.take(name)
		if errors.Is(err, ErrServed) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, clearStale(p.Path(name)), os.Remove(p.key(name)), release())
	}
	_ = os.Remove(filepath.Dir(p.Path("x"))) // it stays while a socket is in it
	return errors.Join(errs...)
}

// Dead lists the sockets of a team on which no process listens any more. Files that are not sockets
// are not listed.
func (p SocketDirs) Dead() ([]string, error) {
	dirs := []string{p.Dir}
	if short := filepath.Dir(p.Path(strings.Repeat("x", maxSocketPath))); short != p.Dir {
		dirs = append(dirs, short)
	}
	var dead []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("transport: sockets: %w", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if e.Type() == fs.ModeSocket && strings.HasSuffix(path, ".sock") && !answers(path) {
				dead = append(dead, path)
			}
		}
	}
	slices.Sort(dead)
	return dead, nil
}

// RemoveDead removes a socket that Dead has listed, with its key, and its directory when that
// becomes empty. It checks again first, and returns false when the socket does not exist any more
// or a process listens on it.
func (p SocketDirs) RemoveDead(path string) (bool, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || fi.Mode().Type() != fs.ModeSocket || answers(path) {
		return false, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	err = os.Remove(p.key(strings.TrimSuffix(filepath.Base(path), ".sock")))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_ = os.Remove(filepath.Dir(path)) // it stays while something else is in it
	return true, err
}

// answers reports whether a process may listen on a socket.
func answers(path string) bool {
	const patience = time.Second
	c, err := net.DialTimeout("unix", path, patience)
	if err == nil {
		c.Close()
		return true
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}
