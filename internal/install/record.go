// Package install knows what install.sh has put below a prefix, by the record that it
// left there, and takes it away again.
//
//	i, err := install.Find(program)    // whose record is <prefix>/share/waggle/installed
//	removed, err := i.Remove()
//
// A file is removed only while it has the content that was installed. Everything else
// below the prefix is left alone.
package install

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// RecordName is where the record lies below the prefix.
const RecordName = "share/waggle/installed"

// header is the first line of a record of this version.
const header = "waggle-install 1"

// maxRecord bounds a record in bytes.
const maxRecord = 1 << 20

// Installation is what a record says, and what is there of it.
type Installation struct {
	Prefix  string
	Version string
	Files   []File   // in the order of the record
	Dirs    []string // that the installation made, by path below the prefix, parents first
}

// File is a file of an installation.
type File struct {
	Path  string `json:"path"` // absolute
	Sum   string `json:"-"`    // SHA-256 of what was installed, in hexadecimal
	State State  `json:"state"`
}

// State is how an installed file is now.
type State string

// States of a file.
const (
	Same    State = "same"    // as it was installed
	Changed State = "changed" // something else lies there, or it cannot be read
	Missing State = "missing"
)

// ErrNone says that there is no record: install.sh has not installed this program.
var ErrNone = errors.New("install: no record")

// Find returns the installation that a program belongs to: program is its path,
// <prefix>/bin/waggle, also through a link.
func Find(program string) (*Installation, error) {
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	return Open(filepath.Dir(filepath.Dir(program)))
}

// Open reads the record below a prefix.
func Open(prefix string) (*Installation, error) {
	if real, err := filepath.EvalSymlinks(prefix); err == nil {
		prefix = real // hooks name the program by this path
	}
	path := filepath.Join(prefix, filepath.FromSlash(RecordName))
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", ErrNone, path)
	}
	if err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	i, err := parse(prefix, b)
	if err != nil {
		return nil, fmt.Errorf("install: %s: %w", path, err)
	}
	return i, nil
}

// parse reads a record: the header, then lines "version V", "dir PATH" and
// "file SUM PATH", with paths below the prefix.
func parse(prefix string, b []byte) (*Installation, error) {
	if len(b) > maxRecord {
		return nil, fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	i := &Installation{Prefix: prefix}
	lines := bufio.NewScanner(bytes.NewReader(b))
	if !lines.Scan() || lines.Text() != header {
		return nil, fmt.Errorf("its first line is not %q: another version of install.sh wrote it", header)
	}
	for n := 2; lines.Scan(); n++ {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		sum, path := "", rest
		if word == "file" {
			sum, path, _ = strings.Cut(rest, " ")
		}
		if word != "version" && !below(path) {
			return nil, fmt.Errorf("line %d: %q is no path below the prefix", n, path)
		}
		switch {
		case word == "version":
			i.Version = rest
		case word == "dir":
			i.Dirs = append(i.Dirs, path)
		case word == "file" && len(sum) == 64:
			f := File{Path: filepath.Join(prefix, filepath.FromSlash(path)), Sum: sum}
			f.State = f.look()
			i.Files = append(i.Files, f)
		default:
			return nil, fmt.Errorf("line %d cannot be read: %q", n, lines.Text())
		}
	}
	return i, lines.Err()
}

// below reports whether a path of a record stays below bin/ or share/ of the prefix.
func below(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return filepath.IsLocal(filepath.FromSlash(path)) && (top == "bin" || top == "share")
}
