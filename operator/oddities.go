package operator

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/protocol"
	"waggle/spawn/terminal"
)

// An Oddity is a path in a team's directories that a person should know of.
type Oddity struct {
	Path string
	What string        // "a FIFO where a lock belongs"
	At   time.Time     // when it was set aside; zero: it is at the path of a lock
	Held time.Duration // the age of a lock
}

// String is the path and what it is.
func (o Oddity) String() string { return o.Path + " is " + o.What }

// Oddities returns what is at the path of a lock in a team's directories and is no lock, what was set aside from there, and
// locks that are old. s is nil for a team without records. It makes and changes nothing.
func (o Operator) Oddities(name protocol.TeamName, s *State) (list []Oddity) {
	now := o.Minter.Now()
	for _, dir := range append(o.Boxes(name).Dirs(), o.Root.TeamDir(name), o.Root.TasksDir(name)) {
		for _, odd := range atomicfile.Oddities(dir, now) {
			list = append(list, Oddity(odd))
		}
	}
	if s == nil {
		return list
	}
	private := []string{s.Dir.Path, s.Dir.Worktrees(), filepath.Join(s.Dir.Path, "sockets")}
	journals, _ := os.ReadDir(s.Dir.Journals().Path)
	for _, j := range journals {
		private = append(private, s.Dir.JournalOf(j.Name()))
	}
	for _, dir := range private {
		for _, odd := range atomicfile.Oddities(dir, now) {
			if !odd.At.IsZero() { // the leases of STATE are files
				list = append(list, Oddity(odd))
			}
		}
	}
	return list
}

// Terminals lists the terminals of a team's processes. A record that cannot be read is moved to
// set-aside/: it names no process.
func (o Operator) Terminals(s *State) ([]terminal.Held, error) {
	for {
		list, err := terminal.List(s.Dir.Processes())
		var bad *atomicfile.RecordError
		if !errors.As(err, &bad) {
			return list, err
		}
		if serr := o.SetAside(s, bad.Path); serr != nil {
			return list, errors.Join(err, serr)
		}
	}
}

// SetAside moves the file at a path of a team's state to set-aside/, unchanged.
func (o Operator) SetAside(s *State, path string) error {
	_, err := atomicfile.SetAside(path, s.Dir.Quarantine(), o.Minter.Now())
	return err
}
