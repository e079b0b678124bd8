package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/leader"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Registry reads a team's registry: config.json, with the members of the journal that
// the file lacks or shows as gone, because an edit of the file removes nobody. In a
// team that waggle leads, a file that cannot be read counts as absent.
func (o Operator) Registry(ctx context.Context, name protocol.TeamName) (*team.Config, error) {
	cfg, err := o.Listing(ctx, name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s, serr := o.present(name, Act)
	switch {
	case s == nil && err != nil:
		return nil, errors.Join(err, serr)
	case s == nil: // the caller that opens the journal gets the error
		return cfg, o.Begun(cfg)
	case err != nil:
		cfg = leader.Book(name, s.Dir.UID, s.Lead.Live(), o.Minter.Now())
	}
	onRecord(cfg, s.Lead)
	return cfg, nil
}

// Moved returns an error for a team that waggle led from this STATE, and whose directory there is gone: nothing is made
// in its place, which would be taken for what was done in another program's team.
func (o Operator) Moved(cfg *team.Config) error {
	d := o.Home.Dir(o.RootURL, cfg.Name, UIDOf(cfg))
	if !d.Moved() {
		return nil
	}
	return &Error{Kind: NotFound, Op: "open", Msg: fmt.Sprintf("there is no record of team %s any more: waggle led it, and %s was moved or deleted", cfg.Name, d.Path),
		Next: Next{Step: NextPutBackOrFree, Team: cfg.Name}}
}

// listedWait is how long reading the registry waits for a lock.
const listedWait = 2 * time.Second

// Listing reads config.json.
func (o Operator) Listing(ctx context.Context, name protocol.TeamName) (*team.Config, error) {
	reg, err := team.Open(o.Root, name, team.Options{Deadline: listedWait})
	if err != nil {
		return nil, err
	}
	return reg.Load(ctx)
}

// onRecord adds the members that the leader's journal has.
func onRecord(cfg *team.Config, lead *control.Leader) {
	for _, m := range lead.Live() {
		switch entry, ok := cfg.Member(m.Name); {
		case !ok:
			cfg.Members = append(cfg.Members, leader.Entry(cfg.Name, m))
		case entry.Gone():
			entry.ShutdownAt, entry.IsActive = time.Time{}, new(true)
		}
	}
}

// Homeless reports that there is no directory under the team's name.
func (o Operator) Homeless(name protocol.TeamName) bool {
	info, err := os.Lstat(o.Root.TeamDir(name))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

// unlisted names the teams whose directory is there and that the registry does not
// show, although waggle leads them.
func (o Operator) unlisted() []protocol.TeamName {
	left, _ := o.Root.Leftovers()
	return slices.DeleteFunc(left, func(n protocol.TeamName) bool {
		s, err := o.present(n, Act)
		return err != nil || s == nil
	})
}

// UIDOf derives a team's uid from its registry, everywhere in the same way. For a team of waggle it
// is the session id in the registry, for another program's team its session, and for a registry
// without a session the time of its creation.
func UIDOf(cfg *team.Config) record.TeamUID {
	if cfg.LeadSessionID == "" {
		return record.TeamUID("created " + protocol.FormatTime(cfg.CreatedAt))
	}
	return record.TeamUID(strings.ReplaceAll(cfg.LeadSessionID, "-", ""))
}
