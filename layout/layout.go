// Package layout says in which of two files a member's mailbox is (protocol §2.2):
// teams/<team>/inboxes/<name>.json, a JSON array, or
// teams/<team>/mailbox/<name>.jsonl, one message a line.
//
//	l, err := layout.Dirs{Team: dir}.Of("tester")
//
// What is on disk decides, member by member, so that nothing has to be kept in
// step: the file that exists is the mailbox. A member that has neither gets the
// layout of the team's lead. Where both exist, the one with messages in it counts;
// two with messages are a *MixedError.
package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lead is the lead's name (protocol.Lead).
const lead = "team-lead"

// Layout is how a mailbox is laid out in its file.
type Layout int

// Layouts. Array is what Claude Code reads and writes.
const (
	Array Layout = iota // inboxes/<name>.json
	JSONL               // mailbox/<name>.jsonl
)

var names = [...]string{Array: "array", JSONL: "jsonl"}

func (l Layout) String() string {
	if l < 0 || int(l) >= len(names) {
		return "unknown"
	}
	return names[l]
}

// Other is the other one of the two.
func (l Layout) Other() Layout { return JSONL - l }

// Extension is how the files of the layout end.
func (l Layout) Extension() string {
	if l == JSONL {
		return ".jsonl"
	}
	return ".json"
}

// Parse reads what String writes.
func Parse(s string) (Layout, error) {
	for l, name := range names {
		if s == name {
			return Layout(l), nil
		}
	}
	return Array, fmt.Errorf("layout %.40q: want %s", s, strings.Join(names[:], " or "))
}

// Dirs are the directories of one team.
type Dirs struct {
	Team    string // teams/<team>
	Inboxes string // of the arrays; "" means Team/inboxes
}

// Dir is the directory of a layout's files.
func (d Dirs) Dir(l Layout) string {
	switch {
	case l == JSONL:
		return filepath.Join(d.Team, "mailbox")
	case d.Inboxes != "":
		return d.Inboxes
	}
	return filepath.Join(d.Team, "inboxes")
}

// Path is a member's file in a layout.
func (d Dirs) Path(l Layout, name string) string {
	return filepath.Join(d.Dir(l), name+l.Extension())
}

// Intent is the file that says which layout a migration is moving the team to. It
// exists from before the first file is moved until after the last: a process that
// leads the team finishes one that was cut short before it reads mail.
func (d Dirs) Intent() string { return filepath.Join(d.Team, ".layout") }

// Intention is the content of that file.
type Intention struct {
	To string `json:"to"`
}

// maxIntent is the size up to which an intent is read.
const maxIntent = 4096

// Moving returns the layout that a migration in progress, or one that was cut
// short, moves the team to; ok is false when there is none.
func (d Dirs) Moving() (to Layout, ok bool, err error) {
	data, err := small(d.Intent(), maxIntent)
	if errors.Is(err, fs.ErrNotExist) {
		return Array, false, nil
	}
	var i Intention
	if err == nil {
		err = json.Unmarshal(data, &i)
	}
	if err == nil {
		to, err = Parse(i.To)
	}
	if err != nil {
		return Array, false, fmt.Errorf("%s does not say where a migration was going (%w): if none is running, remove it and run waggle team migrate", d.Intent(), err)
	}
	return to, true, nil
}

// MixedError reports a member with messages in both layouts (exit code 1).
type MixedError struct {
	Name         string
	Array, JSONL string // paths
}

func (e *MixedError) Error() string {
	return fmt.Sprintf("%s has messages in two mailboxes, %s and %s, and only one of them can be read: waggle team migrate puts them together", e.Name, e.Array, e.JSONL)
}

// Found is where a member's mailbox is.
type Found struct {
	Layout  Layout
	Present bool   // the file exists
	Empty   string // the other layout's file, when it exists too and holds nothing
}

// Of finds a member's mailbox. It takes no lock. Error: *MixedError.
func (d Dirs) Of(name string) (Found, error) {
	// A mailbox that moves between the two looks is in neither file, so one that is missing is looked
	// for again.
	for range looks {
		array, lines, err := exist(d.Path(Array, name), d.Path(JSONL, name))
		switch {
		case err != nil:
			return Found{}, err
		case array && lines:
			return d.both(name)
		case array:
			return Found{Layout: Array, Present: true}, nil
		case lines:
			return Found{Layout: JSONL, Present: true}, nil
		}
	}
	l, err := d.Default()
	return Found{Layout: l}, err
}

// looks is how often a mailbox is looked for in both files before it counts as missing.
const looks = 3

// both decides between two files.
func (d Dirs) both(name string) (Found, error) {
	array, lines := d.Path(Array, name), d.Path(JSONL, name)
	noArray, err := empty(array)
	if err != nil {
		return Found{}, err
	}
	noLines, err := empty(lines)
	if err != nil {
		return Found{}, err
	}
	switch {
	case noLines && noArray:
		l, err := d.Default()
		return Found{Layout: l, Present: true, Empty: d.Path(l.Other(), name)}, err
	case noLines:
		return Found{Layout: Array, Present: true, Empty: lines}, nil
	case noArray:
		return Found{Layout: JSONL, Present: true, Empty: array}, nil
	}
	return Found{}, &MixedError{Name: name, Array: array, JSONL: lines}
}

// Default is the layout of a mailbox that is not there yet: the lead's, else that of
// the only directory there is, else Array.
func (d Dirs) Default() (Layout, error) {
	array, lines, err := exist(d.Path(Array, lead), d.Path(JSONL, lead))
	if err == nil && array == lines {
		array, lines, err = exist(d.Dir(Array), d.Dir(JSONL))
	}
	if err == nil && lines && !array {
		return JSONL, nil
	}
	return Array, err
}

// exist is exists of a file, or a directory, of each layout.
func exist(ofArray, ofLines string) (array, lines bool, err error) {
	if array, err = exists(ofArray); err == nil {
		lines, err = exists(ofLines)
	}
	return array, lines, err
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// emptySize is the size up to which a file is looked into.
const emptySize = 64

// empty reports a mailbox without a message: nothing but white space, or "[]".
func empty(path string) (bool, error) {
	data, err := small(path, emptySize)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // it was removed meanwhile
	}
	if errors.Is(err, errNotSmall) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 {
		return true, nil
	}
	return data[0] == '[' && data[len(data)-1] == ']' && len(bytes.TrimSpace(data[1:len(data)-1])) == 0, nil
}

var errNotSmall = errors.New("not a small regular file")

// small reads a regular file of at most limit bytes, following no symbolic link.
func small(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s: %w", path, errNotSmall)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: %w", path, errNotSmall) // it grew meanwhile
	}
	return data, err
}
