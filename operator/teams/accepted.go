package teams

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/record"
)

// Accept copies the team file that the operator named: only the copy is read afterwards (trust §7).
// The file's path is stored beside it.
func Accept(dir home.Dir, f *teamfile.File) error {
	if types := f.Undefined(); len(types) > 0 {
		return &operator.Error{Kind: operator.Usage, Op: "team file", Msg: fmt.Sprintf("%s: the agent definitions %s were not read", f.Path, strings.Join(types, ", ")), Advice: "teamfile.File.Define reads them"}
	}
	types, err := f.Definitions.Bytes()
	if err != nil {
		return err
	}
	path, o := dir.TeamFile(), atomicfile.Options{Sync: atomicfile.SyncData}
	if err := atomicfile.WriteFile(path+".types", types, o); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(path+".from", []byte(f.Path+"\n"), o); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, f.Data, o)
}

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
