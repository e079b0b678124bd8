package mail

import (
	"context"
	"fmt"
	"strings"

	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// Signer returns the name in which the operator's messages and tasks go into a team: nobody can
// answer a name that is not in its registry. In a team that waggle leads it is as, any member's
// name, or the lead's. In another program's team it is a member that was registered here: as, the
// only one, or one that is registered now for this.
func (o Operator) Signer(ctx context.Context, s *operator.State, cfg *team.Config, led bool, as string) (protocol.MemberName, error) {
	if led {
		m, ok := cfg.Member(protocol.MemberName(as))
		if !ok || m.Gone() {
			return "", &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("%s is not in the registry of team %s: no member could answer it", as, cfg.Name), Near: cfg.Near(as),
				Next: operator.Next{Step: operator.NextRegisterOrLead, Member: protocol.MemberName(as)}}
		}
		return m.Name, nil
	}
	ours := mineForeign(s, cfg)
	if as == "" && len(ours) == 0 {
		return o.operatorForeign(ctx, cfg)
	}
	if as == "" && len(ours) == 1 {
		return ours[0], nil
	}
	var near []string
	for _, name := range ours {
		if near = append(near, string(name)); protocol.SameName(name, protocol.MemberName(as)) {
			return name, nil
		}
	}
	if as == "" {
		return "", &operator.Error{Kind: operator.Usage, Op: "send", Msg: "several members of this team were registered here: " + strings.Join(near, ", "), Near: near, Next: operator.NextSpeakAs.With()}
	}
	return "", &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("another program leads team %s, and %s was not registered here: its name is not ours to use", cfg.Name, as), Near: near,
		Next: operator.Next{Step: operator.NextRegister, Team: cfg.Name}}
}

// operatorForeign registers the member waggle in another program's team, so that members can answer
// it.
func (o Operator) operatorForeign(ctx context.Context, cfg *team.Config) (protocol.MemberName, error) {
	added, _, err := o.Register(ctx, cfg.Name, team.Member{Name: "waggle", AgentType: "general-purpose", JoinedAt: o.Minter.Now(), Subscriptions: []string{}}, true)
	if err != nil {
		return "", fmt.Errorf("register a name that can be answered in team %s: %w", cfg.Name, err)
	}
	return added.Name, nil
}
