package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/record"
)

// Accepted reads the team file that a team was brought up from.
func (o Operator) Accepted(s *operator.State) (*teamfile.File, error) {
	f, err := teams.Of(o.Operator).AcceptedFile(s)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &operator.Error{Kind: operator.Failed, Op: "resume", Msg: fmt.Sprintf("team %s was not brought up from a team file", s.Team), Next: operator.NextSpawnName.With()}
	}
	if err != nil || len(f.Undefined()) == 0 {
		return f, err
	}
	types, err := atomicfile.ReadFile(s.Dir.TeamFile()+".types", atomicfile.Options{MaxSize: maxTypes})
	if err != nil {
		return nil, err
	}
	d, err := teamfile.ReadDefinitions(types)
	if err != nil {
		return nil, err
	}
	return f, f.DefineAs(d)
}

// AcceptedBefore returns the newest accepted file with the path and the text of f that a team of its name was brought up
// from, present or past, by the sum in the leader's journal; nil: there is none. What it means may be something else
// where agent definitions have changed since.
func (o Operator) AcceptedBefore(f *teamfile.File) *teamfile.File {
	ks, err := o.Home.List()
	if err != nil {
		return nil // then it is shown whole
	}
	for _, k := range slices.Backward(ks) {
		if k.Broken != nil || k.Team != f.Team {
			continue
		}
		r := o.OpenKnown(k)
		if r.Damaged != nil || r.Lead.Policy.File != f.SHA256 {
			continue
		}
		if was, err := o.Accepted(r); err == nil && was.Path == f.Path && was.SHA256 == f.SHA256 {
			return was
		}
	}
	return nil
}

// maxTypes bounds the agent definitions of an accepted file.
const maxTypes = 16 << 20

// Preparation is what the team file that a team was brought up from says about the worktrees of
// members that are added to it; nil: nothing.
func (o Operator) Preparation(s *operator.State) (*record.Preparation, error) {
	f, err := o.from(s)
	return f.Prepare, err
}

// from is the team file that a team was brought up from; without one it is empty.
func (o Operator) from(s *operator.State) (*teamfile.File, error) {
	if _, err := os.Lstat(s.Dir.TeamFile()); err != nil {
		return &teamfile.File{}, nil
	}
	f, err := o.Accepted(s)
	return cmp.Or(f, &teamfile.File{}), err
}

// FileChange is how a team file differs from the accepted one.
type FileChange struct {
	Accepted *teamfile.File
	Now      *teamfile.File // nil: the file is invalid now
	Data     []byte         // the present content; nil: it is too large to be read
	Broken   error          // why the file is invalid; nil: it is valid
}

// FileChange compares the present team file with the accepted one.
func (o Operator) FileChange(s *operator.State) (FileChange, error) {
	f, err := o.Accepted(s)
	if err != nil {
		return FileChange{}, err
	}
	c := FileChange{Accepted: f}
	c.Data, err = teamfile.ReadBounded(f.Path)
	if errors.Is(err, atomicfile.ErrTooLarge) {
		c.Data, c.Broken = nil, teamfile.TooLarge("team file", f.Path)
		return c, nil
	}
	if err != nil {
		return FileChange{}, err
	}
	if c.Now, c.Broken = teamfile.ParseFile(f.Path, c.Data, process.Of(o.Operator).OwnWords()...); c.Broken == nil {
		c.Broken = c.Now.Define(f.Definitions.User)
	}
	if c.Broken != nil {
		c.Now = nil
	}
	return c, nil
}
