package operator

import (
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/fs/realpath"
	"waggle/protocol"
	"waggle/team"
)

// Pick returns the named team. Without a name it returns the team of WorkDir (Here), else the only
// one there is. An ended team is not picked.
func (o Operator) Pick(name string) (protocol.TeamName, error) {
	if name != "" {
		t, err := protocol.ParseTeam(name)
		if err != nil {
			return "", &Error{Kind: Usage, Op: "team", Err: err}
		}
		_, err = team.Open(o.Root, t, team.Options{})
		if err != nil { // the directory may be missing or unusable while the team runs
			if s, serr := o.present(t, Act); serr == nil && s != nil {
				return t, nil
			}
			err = o.noTeam(t, err)
		}
		return t, err
	}
	names, err := o.Names()
	if err != nil {
		return "", err
	}
	switch len(names) {
	case 0:
		return "", &Error{Kind: NotFound, Op: "team", Msg: "there is no team here", Next: o.afterNone()}
	case 1:
		return names[0], nil
	}
	if here, ok := o.Here(); ok {
		return here, nil
	}
	return "", &Error{Kind: Usage, Op: "team", Msg: "there are several teams: name one with --team", Near: protocol.Strings(names), Next: NextSameIn.With()}
}

// afterNone is what to do where there is no team: to look at the last one that there was, or to make one.
func (o Operator) afterNone() Next {
	if last := o.lastEnded(); last != "" {
		return Next{Step: NextStatusEnded, Team: last}
	}
	return NextDemoOrInit.With()
}

// Names lists the teams of the wire tree, also those whose registry is missing while waggle leads them.
func (o Operator) Names() ([]protocol.TeamName, error) {
	names, err := o.Root.Names()
	if err != nil {
		return nil, err
	}
	return append(names, o.unlisted()...), nil
}

// Here returns the living team whose accepted team file is in WorkDir, or in the nearest directory
// above it that has one. The path is the one recorded beside the accepted copy: a file that merely
// names a team chooses nothing. ok is false without such a team, and where several have their file
// in the same directory.
func (o Operator) Here() (_ protocol.TeamName, ok bool) {
	found, _ := o.Nearest(o.WorkDir)
	if len(found) != 1 {
		return "", false
	}
	return found[0].Team, true
}

// Nearest returns the living teams whose accepted team files are in a directory, or in the nearest
// directory above it that has one, and which directory that is.
func (o Operator) Nearest(dir string) (found []*State, where string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	known, err := o.Home.List()
	if err != nil || dir == "" {
		return nil, ""
	}
	for _, k := range known {
		if k.Broken != nil || k.Root != o.RootURL {
			continue
		}
		at := fileDir(k.Dir.TeamFile())
		if at == "" || !realpath.Within(at, dir) || len(at) < len(where) || slices.ContainsFunc(found, func(s *State) bool { return s.Team == k.Team }) {
			continue
		}
		s, err := o.present(k.Team, Act)
		if s == nil || err != nil || s.Dir.Path != k.Dir.Path {
			continue // it has ended
		}
		if at != where {
			found, where = nil, at
		}
		found = append(found, s)
	}
	return found, where
}

// Elsewhere returns the directory of the accepted team file of a living team, when it is neither WorkDir nor above it;
// "" otherwise, and for a team without a file.
func (o Operator) Elsewhere(name protocol.TeamName) string {
	s, err := o.present(name, Act)
	if s == nil || err != nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(o.WorkDir)
	if at := fileDir(s.Dir.TeamFile()); err == nil && !realpath.Within(at, dir) {
		return at
	}
	return ""
}

// fileDir returns the real directory of the file that an accepted team file was copied from, "" when
// no path is recorded or its directory is gone.
func fileDir(accepted string) string {
	from, err := atomicfile.ReadFile(accepted+".from", atomicfile.Options{MaxSize: MaxYAML})
	if err != nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(strings.TrimSuffix(string(from), "\n")))
	if err != nil {
		return ""
	}
	return dir
}
