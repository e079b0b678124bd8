package fresh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/operator/draft"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/team"
)

// NoFile is the name of the team file that a team has on record which New has opened: no such file
// exists. Its directory is the team's.
const NoFile = "(no file)"

// checkout returns the top level of the git checkout of a directory; the directory itself where it
// is in none, or there is no git. commits reports a checkout that has a commit, of which a worktree
// can be made.
func (o Operator) checkout(ctx context.Context, dir string) (top string, commits bool, err error) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	g, err := worktree.Find(o.Environ)
	if errors.Is(err, worktree.ErrNoGit) {
		return dir, false, nil
	}
	if err != nil {
		return dir, false, err
	}
	top, err = g.Top(ctx, dir)
	switch {
	case errors.Is(err, worktree.ErrNoCommit):
		return top, false, nil
	case errors.Is(err, worktree.ErrNotRepository), errors.Is(err, worktree.ErrBare):
		return dir, false, nil
	}
	return top, err == nil, err
}

// Here finds the team that is up and whose accepted team file is in a directory or the nearest
// parent of it; "" when there is none. A team there that was interrupted is an error, and so are
// several teams. So is a call from a member's process.
func (o Operator) Here(ctx context.Context, dir string) (protocol.TeamName, error) {
	names, err := o.Root.Names()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		s, err := o.Open(ctx, name, operator.Act)
		if err != nil {
			continue // another program's, or broken: commands that name it say so
		}
		if err := o.Guard(ctx, s, "new"); err != nil {
			return "", err
		}
	}
	found, where := o.Nearest(dir)
	switch len(found) {
	case 0:
		return "", nil
	case 1:
	default:
		e := &operator.Error{Kind: operator.Usage, Op: "new", Msg: "several teams have their file in the same directory: name one with --team"}
		for _, s := range found {
			e.Near = append(e.Near, string(s.Team))
		}
		return "", e
	}
	_, led, err := o.Live(found[0])
	if err != nil || led {
		return found[0].Team, err
	}
	return "", &operator.Error{Kind: operator.Refused, Op: "new", Msg: fmt.Sprintf("team %s of %s has no leader: it was interrupted", found[0].Team, where),
		Next: operator.Next{Step: operator.NextResumeOrDown, Team: found[0].Team}}
}

// openWait is how long New waits for another process that opens the same team.
const openWait = 10 * time.Second

// draft is the file of a team without members for a directory.
func (o Operator) draft(name protocol.TeamName, dir string) string {
	facts := draft.Look(dir, o.Environ)
	facts.Ceiling = o.Ceiling
	return draft.Open(string(name), facts)
}

// open makes a team without members for a directory, and starts the process that leads it.
func (o Operator) open(ctx context.Context, name protocol.TeamName, dir string, opt Options) error {
	f, err := teamfile.ParseFile(filepath.Join(dir, NoFile), []byte(o.draft(name, dir)))
	if err != nil {
		return err
	}
	s, err := supervise.Of(o.Operator).Prepare(ctx, f, false, opt.Note)
	if err != nil {
		return err
	}
	defer s.Settled()
	err = supervise.Of(o.Operator).Background(ctx, s, supervise.Background{Argv: opt.Lead(name), Env: opt.Env, Note: opt.Note})
	if err == nil {
		return nil
	}
	return errors.Join(err, supervise.Of(o.Operator).Abandon(context.WithoutCancel(ctx), s, time.Second, opt.Note))
}

// take returns the team of a directory, which it opens when none is up. One process at a time does
// so for a directory.
func (o Operator) take(ctx context.Context, dir string, opt Options) (name protocol.TeamName, opened bool, err error) {
	alone, err := o.alone(ctx, dir)
	if err != nil {
		return "", false, err
	}
	defer alone.Free()
	if name, err = o.team(ctx, dir, opt.Team); name != "" || err != nil {
		return name, false, err
	}
	if name, err = o.free(dir, opt.Team); err != nil {
		return "", false, err
	}
	return name, true, o.open(ctx, name, dir, opt)
}

// alone waits for the lock on opening the team of a directory. It is a Claim of a name that no team
// of the directory has.
func (o Operator) alone(ctx context.Context, dir string) (held *operator.Claim, err error) {
	sum := sha256.Sum256([]byte(dir))
	name := protocol.TeamName("new-" + hex.EncodeToString(sum[:8]))
	process.Of(o.Operator).Await(ctx, openWait, func() bool {
		held, err = o.Claim("new", name)
		return err == nil || operator.KindOf(err) != operator.Locked
	})
	if operator.KindOf(err) == operator.Locked {
		err = &operator.Error{Kind: operator.Locked, Op: "new", Msg: "another process opens the team of " + dir + " at this moment", Next: operator.NextStatusNow.With(), Err: err}
	}
	return held, errors.Join(err, ctx.Err())
}

// team is the team of New: the named one when it is there, else that of the directory.
func (o Operator) team(ctx context.Context, dir, named string) (protocol.TeamName, error) {
	if named == "" {
		return o.Here(ctx, dir)
	}
	name, err := protocol.ParseTeam(named)
	if err != nil {
		return "", &operator.Error{Kind: operator.Usage, Op: "new", Err: err}
	}
	if _, err := os.Lstat(o.Root.TeamDir(name)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, nil
}

// TeamOf is the team that New would take; there is an error when it would open one.
func (o Operator) TeamOf(ctx context.Context, opt Options) (protocol.TeamName, error) {
	top, _, err := o.checkout(ctx, opt.Dir)
	if err != nil {
		return "", err
	}
	name, err := o.team(ctx, top, opt.Team)
	if err == nil && name == "" {
		err = &operator.Error{Kind: operator.NotFound, Op: "new", Msg: "no team of " + top + " is up", Next: operator.NextNameTeam.With()}
	}
	return name, err
}

// free is the name of the team to open: the named one, or the directory's, with a number when
// another team has that.
func (o Operator) free(dir, named string) (protocol.TeamName, error) {
	if named != "" {
		name, err := team.CheckName(named)
		if err != nil {
			return "", &operator.Error{Kind: operator.Usage, Op: "new", Err: err}
		}
		return name, nil
	}
	return protocol.TeamName(numbered(draft.TeamName(dir), func(n string) bool {
		_, err := os.Lstat(o.Root.TeamDir(protocol.TeamName(n)))
		return err == nil
	})), nil
}
