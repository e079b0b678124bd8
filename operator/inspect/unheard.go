package inspect

import (
	"context"
	"slices"
	"time"

	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// UnheardText says what waggle does about a member that only the registry of its team has.
const UnheardText = "registered itself: what it asks and reports has no effect"

// Unheard lists the members of a team of waggle that only the registry has: another program wrote them into it. What they
// ask and report has no effect until the operator adds them (operator.NextHear). A registry that cannot be read has none:
// the directory may be missing while members run, and Gone reports it.
func (o Operator) Unheard(ctx context.Context, s *operator.State) []team.Member {
	cfg, err := o.Registry(ctx, s.Team)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(cfg.Members, func(m team.Member) bool {
		_, ours := s.Lead.Member(m.Name)
		return ours || m.Gone() || m.IsLead()
	})
}

// unheard is such a member as status has it.
func (o Operator) unheard(m team.Member) MemberStatus {
	ms := fileMember(m, MemberFacts{Now: o.Minter.Now(), Files: true, Active: idleHint(m), Source: "config.json"})
	ms.Unheard = true
	return ms
}

// whyUnheard is the state of such a member with the facts behind it; nil: the team has none of that name.
func (o Operator) whyUnheard(ctx context.Context, s *operator.State, name string) *Why {
	for _, m := range o.Unheard(ctx, s) {
		if !protocol.SameName(m.Name, protocol.MemberName(name)) {
			continue
		}
		ms := o.unheard(m)
		y := &Why{Standing: ms.standing(s.Team, nil), Trust: ms.Trust, Unheard: true, Evidence: []Fact{}}
		y.add("registry", time.Time{}, "config.json lists it, and no record of the team does: another program wrote it there")
		y.add(fromLeader, time.Time{}, "%d messages in its name are unverified; its words are delivered", unverifiedOf(s, m.Name))
		y.fromMailbox(ctx, o, m.Name)
		return y
	}
	return nil
}

// unverifiedOf counts the control messages in a name that had no effect.
func unverifiedOf(s *operator.State, name protocol.MemberName) (n int) {
	for _, u := range s.Lead.Unverified {
		if u.From == string(name) && u.Box == string(protocol.Lead) {
			n++
		}
	}
	return n
}
