package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Leftover returns a team that has ended and whose files are still in the wire tree, because the
// process that ended it was stopped. Nil when there is none.
func (o Operator) Leftover(ctx context.Context, name protocol.TeamName) (*operator.State, error) {
	uid, says, err := o.Whose(ctx, name)
	if !says {
		return nil, err
	}
	dirs, err := o.Home.Find(o.RootURL, name)
	for _, dir := range dirs {
		if dir.UID != uid {
			continue
		}
		s := o.OpenKnown(home.Known{Dir: dir, Team: name})
		if s.Damaged != nil {
			return nil, s.Damaged
		}
		if s.Lead.Ended != nil {
			return s, nil
		}
		return nil, nil
	}
	return nil, err
}

// Whose returns the identity of the team that has a name, by its registry; says is false where that does not say whose it is.
func (o Operator) Whose(ctx context.Context, name protocol.TeamName) (uid record.TeamUID, says bool, err error) {
	cfg, err := o.Listing(ctx, name)
	var missing *team.NotFoundError
	var corrupt *team.CorruptError
	if errors.As(err, &missing) || errors.As(err, &corrupt) || errors.Is(err, atomicfile.ErrNotRegular) || errors.Is(err, atomicfile.ErrTooLarge) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return operator.UIDOf(cfg), true, nil
}

// ArchiveOf returns the archive of a team's mail: in STATE, under the team's identity, which for
// another program's team is its session.
func (o Operator) ArchiveOf(s *operator.State, cfg *team.Config) (string, error) {
	if s != nil {
		return s.Dir.Archive(), nil
	}
	if err := o.Moved(cfg); err != nil {
		return "", err
	}
	dir, err := o.Home.Create(o.RootURL, cfg.Name, operator.UIDOf(cfg))
	return dir.Archive(), err
}

// unheard is the entry of a member that only the registry of a team of waggle has, nil when there is none.
func unheard(s *operator.State, cfg *team.Config, name protocol.MemberName) *team.Member {
	if s == nil {
		return nil
	}
	e, listed := cfg.Member(name)
	if !listed || e.Gone() || e.IsLead() {
		return nil
	}
	if m, known := s.Lead.Member(e.Name); known && m.Left == nil {
		return nil
	}
	return e
}

// Register adds a member that another program runs. It archives the mail of an earlier member of
// that name first, and returns the archive's path. In a team that waggle leads, or that has the form of
// seed 002, the entry has what that document requires, and the prompt is the first entry of its mailbox. In one that
// waggle leads a member that wrote itself into the registry keeps its entry and its mail: from then on waggle hears it.
func (o Operator) Register(ctx context.Context, name protocol.TeamName, m team.Member, unique bool) (added team.Member, archived string, err error) {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return team.Member{}, "", err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return team.Member{}, "", err
	}
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil && !operator.Unled(err) {
		return team.Member{}, "", err
	}
	if s == nil {
		if left, err := o.Leftover(ctx, name); left != nil || err != nil {
			return team.Member{}, "", errors.Join(err, team.Deleting.May(team.OnJoin))
		}
	}
	kept, err := o.ArchiveOf(s, cfg)
	if err != nil {
		return team.Member{}, "", err
	}
	api := s == nil && cfg.SeedForm()
	if s != nil || api {
		if m.Prompt != "" {
			if err := sendable(m.Prompt); err != nil {
				return team.Member{}, "", fmt.Errorf("prompt: %w", err)
			}
		}
		m.Model = cmp.Or(m.Model, NoModel)
		m = Present(m)
	}
	if e := unheard(s, cfg, m.Name); e != nil && !unique && m.BackendType != BackendAdopted {
		if err := o.Admit(ctx, cfg, *e); err != nil {
			return team.Member{}, "", err
		}
		return *e, "", o.prompt(ctx, name, *e, true)
	}
	if added, archived, err = reg.KeepIn(kept).Add(ctx, m, unique); err != nil || m.BackendType == BackendAdopted {
		return added, archived, err // the caller that adopts the member records its process with it
	}
	if err := o.Admit(ctx, cfg, added); err != nil {
		return team.Member{}, "", errors.Join(err, reg.Remove(ctx, added.Name, o.Minter.Now()))
	}
	if s != nil || api { // the dialect of a session has no entry of that kind
		err = o.prompt(ctx, name, added, s != nil)
	}
	return added, archived, err
}
