package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/team"
)

// Place is where a member works (`path`, `open`, `shell`).
type Place struct {
	Team     string `json:"team"`
	Member   string `json:"member"`
	Path     string `json:"path"`   // the top level of its worktree, else its directory
	Branch   string `json:"branch"` // of the worktree; "" for a member without one
	Ports    string `json:"-"`      // the entry of its environment with its first port; "" for a member that waggle does not run
	Confined bool   `json:"-"`      // its commands run in a sandbox
}

// PlaceOf returns where a member works, or has worked. It also finds a member that has left, and one of a team that has
// ended (operator.Read). A directory that does not exist any more is NotFound.
func (o Operator) PlaceOf(ctx context.Context, of, member string) (*Place, error) {
	p, err := o.placeOf(ctx, of, member)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(p.Path); {
	case p.Path == "":
		return nil, &operator.Error{Kind: operator.NotFound, Op: "find", Msg: "no file says in which directory " + operator.Visible(p.Member) + " works"}
	case errors.Is(err, fs.ErrNotExist) && p.Branch != "":
		return nil, &operator.Error{Kind: operator.NotFound, Op: "find", Msg: fmt.Sprintf("the worktree of %s is not there any more: %s", operator.Visible(p.Member), operator.Visible(p.Path)),
			Advice: "waggle removes it when its work was merged, or when it had no change"}
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		return nil, &operator.Error{Kind: operator.NotFound, Op: "find", Msg: fmt.Sprintf("the directory of %s is not there any more: %s", operator.Visible(p.Member), operator.Visible(p.Path))}
	case err != nil:
		return nil, &operator.Error{Kind: operator.Failed, Op: "find", Err: err}
	}
	return p, nil
}

func (o Operator) placeOf(ctx context.Context, of, member string) (*Place, error) {
	s, live, m, foreign, err := o.sought(ctx, of, member)
	switch {
	case foreign != "":
		return o.registeredPlace(ctx, foreign, member)
	case err != nil && live:
		if p, rerr := o.registeredPlace(ctx, s.Team, member); rerr == nil {
			return p, nil
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	p := &Place{Team: string(s.Team), Member: string(m.Name), Path: m.Cwd, Ports: process.PortBase(s, m.Instance), Confined: m.Joined.Sandbox.Asked()}
	if m.Worktree != nil {
		p.Path, p.Branch = m.Worktree.Path, m.Worktree.Branch
	}
	return p, nil
}

// registeredPlace is placeOf for a member that only the registry has.
func (o Operator) registeredPlace(ctx context.Context, name protocol.TeamName, member string) (*Place, error) {
	cfg, err := o.Listing(ctx, name)
	if err != nil {
		return nil, err
	}
	m, ok := cfg.Member(protocol.MemberName(member))
	if !ok {
		return nil, &team.NotFoundError{What: "member", Name: member, Near: cfg.Near(member)}
	}
	return &Place{Team: string(name), Member: string(m.Name), Path: cmp.Or(m.WorktreePath, m.Cwd)}, nil
}
