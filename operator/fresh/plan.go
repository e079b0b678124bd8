package fresh

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Plan says what New would start, and starts nothing: the team, and its members with their branches, each in
// StatePlanned. Where New would open the team, a member's Worktree is "": its directory is named by the identity that
// the team gets.
func (o Operator) Plan(ctx context.Context, wants []Want, opt Options) (*Started, error) {
	opt.Accept = func(context.Context, Found) error { return nil } // nothing runs, so nobody has to accept it
	top, wants, alike, err := o.begun(ctx, wants, &opt, false)
	if err != nil {
		return nil, err
	}
	p := planned{o: o, st: &Started{Dir: top}, dir: opt.Dir, alike: alike}
	if p.st.Team, err = o.team(ctx, top, opt.Team); err != nil {
		return nil, err
	}
	if p.st.Team == "" {
		p.st.Opened = true
		if p.st.Team, err = o.free(top, opt.Team); err != nil {
			return nil, err
		}
		if _, err := teamfile.ParseFile(filepath.Join(top, NoFile), []byte(o.draft(p.st.Team, top))); err != nil {
			return nil, err
		}
	} else {
		if p.s, err = o.Open(ctx, p.st.Team, operator.Act); err != nil {
			return nil, err
		}
		if p.cfg, err = o.Registry(ctx, p.st.Team); err != nil {
			return nil, err
		}
		if p.alike.Worktree && p.alike.Prepare == nil {
			if p.alike.Prepare, err = supervise.Of(o.Operator).Preparation(p.s); err != nil {
				return nil, err
			}
		}
	}
	p.room = atOnce(p.s, opt)
	if p.s != nil {
		p.queued = len(p.s.Lead.Queue())
		p.room -= p.s.Lead.Occupied(process.Of(o.Operator).Halted(p.s)) + p.queued
	}
	for _, w := range wants {
		if err := p.add(ctx, w); err != nil {
			return nil, err
		}
	}
	return p.st, nil
}

// planned is a Plan in the making.
type planned struct {
	o     Operator
	st    *Started
	s     *operator.State // nil: the team would be opened
	cfg   *team.Config
	dir   string
	alike supervise.NewMember
	// room is how many of the next members begin at once, and queued how many are in the queue.
	room, queued int
}

// add plans the members of one task.
func (p *planned) add(ctx context.Context, w Want) error {
	m, err := w.member(p.dir, p.alike)
	if err != nil {
		return err
	}
	var gets record.Preparation
	if m.Worktree {
		if m.Prepare != nil {
			gets = *m.Prepare
		}
		gets.Copy = append(slices.Clone(m.Included), gets.Copy...)
	}
	base := ""
	for attempt := range max(1, w.Attempts) {
		made := w.made(m, attempt, StatePlanned)
		made.Copied, made.Setup = gets.Copy, gets.Setup
		if base == "" && w.Name != "" && p.present(string(w.Name)) {
			return fmt.Errorf("member %s: %w", w.Name, team.ErrTaken)
		}
		made.Name = w.named(base, p.taken)
		base = cmp.Or(base, string(made.Name))
		if err := p.tree(ctx, m, &made); err != nil {
			return err
		}
		if p.room--; p.room < 0 {
			p.queued++
			made.Queue = p.queued
		}
		p.st.Members = append(p.st.Members, made)
	}
	return nil
}

// tree is the worktree that a member would get.
func (p *planned) tree(ctx context.Context, m supervise.NewMember, made *Member) error {
	if !m.Worktree {
		return nil
	}
	t, err := process.Of(p.o.Operator).PlannedWorktree(ctx, p.s, p.st.Team, made.Name, p.dir, m.Begin)
	if err != nil {
		return err
	}
	made.Branch, made.Worktree = t.Branch, t.Path
	return nil
}

// taken reports a name that a member has or had, or would get.
func (p *planned) taken(name string) bool {
	return p.s != nil && had(p.s, name) || p.present(name)
}

// present reports a name that a member has, or would get.
func (p *planned) present(name string) bool {
	if slices.ContainsFunc(p.st.Members, func(m Member) bool { return protocol.SameName(m.Name, protocol.MemberName(name)) }) {
		return true
	}
	if p.cfg == nil {
		return false
	}
	m, ok := p.cfg.Member(protocol.MemberName(name))
	return ok && !m.Gone()
}
