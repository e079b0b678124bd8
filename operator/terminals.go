package operator

import (
	"errors"

	"waggle/internal/atomicfile"
	"waggle/spawn/terminal"
)

// terminals lists the terminals of a team's processes. A record of one that cannot be read
// is set aside: it names no process.
func (o Operator) terminals(s *State) ([]terminal.Held, error) {
	for {
		list, err := terminal.List(s.Dir.Processes())
		var bad *terminal.RecordError
		if !errors.As(err, &bad) {
			return list, err
		}
		if _, serr := atomicfile.SetAside(bad.Path, s.Dir.Quarantine(), o.Minter.Now()); serr != nil {
			return list, errors.Join(err, serr)
		}
	}
}
