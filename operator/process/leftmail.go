package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"waggle/operator"
	"waggle/protocol"
)

// MailLeft archives a directory that has a team's name and no registry: mail that was written after
// the team's end. It returns the archive's path, "" when there is no such directory. The name must
// have no journal of a present team here.
func (o Operator) MailLeft(ctx context.Context, name protocol.TeamName) (place string, err error) {
	return o.putAwayRest(ctx, name, false, func() (string, error) { return o.NewLeftoverDir(name) })
}

// NewLeftoverDir makes a directory in the archive of the last team of the name, or, when there
// was none, beside the teams' own.
func (o Operator) NewLeftoverDir(name protocol.TeamName) (string, error) {
	dirs, err := o.Home.Find(o.RootURL, name)
	if len(dirs) > 0 {
		return o.NewArchiveDir(dirs[len(dirs)-1].Archive())
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Home.Path, 0o700); err != nil {
		return "", fmt.Errorf("state: %w", err)
	}
	return o.NewArchiveDir(o.Home.Leftover(o.RootURL, name))
}

// LeftMail lists the directories with mail for teams that have ended, those of one name or all.
func (o Operator) LeftMail(ctx context.Context, name protocol.TeamName) (names []protocol.TeamName, err error) {
	left, err := o.Root.Leftovers()
	if err != nil {
		return nil, err
	}
	for _, n := range left {
		if name != "" && n != name {
			continue
		}
		if _, err := o.Open(ctx, n, operator.Act); operator.Unled(err) {
			names = append(names, n)
		}
	}
	return names, nil
}

// leftMail finds the directories with mail for teams that have ended.
func (c *collector) leftMail(ctx context.Context, name protocol.TeamName) error {
	left, err := c.o.LeftMail(ctx, name)
	for _, n := range left {
		dir := c.o.Root.TeamDir(n)
		c.find(&operator.State{Team: n}, dir, Garbage{Kind: GarbageMail, Path: dir, Why: "it has no config.json: somebody wrote to team " + string(n) + " after its end; it is put into the archive, not removed",
			unused: func(ctx context.Context) bool {
				_, err := c.o.Open(ctx, n, operator.Act)
				return operator.Unled(err)
			},
			gone: missing(dir), end: func(ctx context.Context) error {
				held, err := c.o.Claim("gc", n)
				if err != nil {
					return err
				}
				defer held.Free()
				_, err = c.o.MailLeft(ctx, n)
				return err
			}})
	}
	return err
}

// MailNote describes the mail that was archived.
func (o Operator) MailNote(name protocol.TeamName, place string) operator.Note {
	return operator.Note{What: "archived", Member: "", Text: fmt.Sprintf("%s held mail and no team: it is in %s now", filepath.Join("teams", string(name)), place)}
}
