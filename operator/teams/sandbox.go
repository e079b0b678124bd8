package teams

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/record"
)

// AcceptedFile reads the accepted copy of the team file that a team was brought up from, without what its agent
// definitions say. The error of a team that has none is fs.ErrNotExist.
func (o Operator) AcceptedFile(s *operator.State) (*teamfile.File, error) {
	path := s.Dir.TeamFile()
	data, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: operator.MaxYAML})
	if err != nil {
		return nil, err
	}
	from, err := atomicfile.ReadFile(path+".from", atomicfile.Options{MaxSize: operator.MaxYAML})
	if err != nil {
		from = []byte(filepath.Join(s.Dir.Path, "waggle.yaml"))
	}
	return teamfile.ParseFile(strings.TrimSuffix(string(from), "\n"), data, process.Of(o.Operator).OwnWords()...)
}

// sandboxOf is the sandbox block of the team file that was accepted; nil: the team has no file, or
// it has no block.
func (o Operator) sandboxOf(s *operator.State) (*record.Sandbox, error) {
	f, err := o.AcceptedFile(s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f.Sandbox, nil
}
