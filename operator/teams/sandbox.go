package teams

import (
	"errors"
	"io/fs"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/record"
)

// sandboxOf is the sandbox block of the team file that was accepted; nil: the team has no file, or
// it has no block.
func (o Operator) sandboxOf(s *operator.State) (*record.Sandbox, error) {
	path := s.Dir.TeamFile()
	data, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: operator.MaxYAML})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	from, err := atomicfile.ReadFile(path+".from", atomicfile.Options{MaxSize: operator.MaxYAML})
	if err != nil {
		from = []byte(path)
	}
	f, err := teamfile.ParseFile(strings.TrimSuffix(string(from), "\n"), data, process.Of(o.Operator).OwnWords()...)
	if err != nil {
		return nil, err
	}
	return f.Sandbox, nil
}
