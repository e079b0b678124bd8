package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"waggle/home"
	"waggle/protocol"
	"waggle/team"
)

// EndedTeam returns an operator that reads a team that has ended, by its name or the id of its record: its
// State is that record, read only, and its Root has the team's directories in the archive. Another error than
// *team.NotFoundError is of the record. A team that has not ended is not found.
func (o Operator) EndedTeam(ctx context.Context, of string) (Operator, protocol.TeamName, error) {
	s, err := o.led(o.picked(of))
	if err == nil {
		err = s.Damaged
	}
	if err != nil {
		return o, "", err
	}
	if s.Lead.Ended == nil {
		return o, "", &team.NotFoundError{What: "ended team", Name: of}
	}
	o.Reads = &home.Known{Dir: s.Dir, Team: s.Team}
	o.Root.Kept = team.Kept{Team: s.Team, Dir: archivedDir(s.Dir, "team"), Tasks: archivedDir(s.Dir, "tasks")}
	if _, err := os.Lstat(o.Root.Kept.Tasks); err != nil {
		if now, err := (Operator{Root: o.Root, RootURL: o.RootURL, Home: o.Home, Minter: o.Minter}).present(s.Team, Act); now == nil && err == nil {
			o.Root.Kept.Tasks = "" // a deleted team may have left its task list in the tree
		}
	}
	return o, s.Team, nil
}

// archivedDir is the newest directory of an archive that has a part of a team: its "team" or its "tasks". It
// need not exist.
func archivedDir(dir home.Dir, part string) string {
	found, err := filepath.Glob(filepath.Join(dir.Archive(), "????????T??????.???Z", part))
	if err != nil || len(found) == 0 {
		return filepath.Join(dir.Archive(), part)
	}
	return slices.Max(found) // their names begin with the time
}

// noTeam adds to the error for a team that is not there that it has ended, or which ended teams have a name
// like it.
func (o Operator) noTeam(name protocol.TeamName, err error) error {
	var missing *team.NotFoundError
	if !errors.As(err, &missing) {
		return err
	}
	if s, serr := o.led(string(name)); serr == nil && s.Damaged == nil && s.Lead.Ended != nil {
		return &Error{Kind: NotFound, Op: "team", Msg: "team " + string(name) + " has ended", Next: Next{Step: NextStatusEnded, Team: name}, Err: &team.NotFoundError{What: "team", Name: string(name)}}
	}
	known, kerr := o.Home.List()
	if kerr != nil {
		return err
	}
	known = slices.DeleteFunc(known, func(k home.Known) bool { return k.Broken != nil || k.Root != o.RootURL })
	near := *missing
	for _, n := range team.Near(string(name), teamNames(known)) {
		if !slices.Contains(near.Near, n) && len(near.Near) < maxNear {
			near.Near = append(slices.Clone(near.Near), n)
		}
	}
	return &near
}

// maxNear is how many near names an error has.
const maxNear = 3

// lastEnded is the team of this tree that was made last, "" without any.
func (o Operator) lastEnded() protocol.TeamName {
	known, err := o.Home.List()
	if err != nil {
		return ""
	}
	for _, k := range slices.Backward(known) {
		if k.Broken == nil && k.Root == o.RootURL {
			return k.Team
		}
	}
	return ""
}
