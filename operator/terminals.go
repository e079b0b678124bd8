package operator

import (
	"errors"

	"waggle/internal/fs/atomicfile"
	"waggle/spawn/terminal"
)

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
