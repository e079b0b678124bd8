package mail

import (
	"context"
	"fmt"

	"waggle/boxes"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/team"
)

// marks reports whether waggle may mark entries of a mailbox: the lead's of a team that waggle
// leads, and those of members that waggle runs or that were registered here. Other mailboxes are
// marked by their readers. archive gets a copy of entries that marking removes; zero: marking
// removes nothing.
func (o Operator) marks(ctx context.Context, s *operator.State, name protocol.TeamName, in *Inbox) (mailbox.Archive, error) {
	refuse := func(why string) (mailbox.Archive, error) {
		return mailbox.Archive{}, &operator.Error{Kind: operator.Refused, Op: "inbox", Msg: fmt.Sprintf("the mailbox of %s in team %s is not ours to mark: %s", in.Member, in.Team, why),
			Next: operator.NextReadUnmarked.With()}
	}
	if in.box == nil {
		return mailbox.Archive{}, nil
	}
	lead := protocol.SameName(protocol.MemberName(in.Member), protocol.Lead)
	if s == nil && lead {
		return refuse("another program leads it")
	}
	own := s
	if own == nil {
		cfg, err := o.Registry(ctx, name)
		if err != nil {
			return mailbox.Archive{}, err
		}
		if own, _, err = o.JournalOf(ctx, cfg); err != nil {
			return mailbox.Archive{}, err
		}
	}
	if m, ok := own.Lead.Member(protocol.MemberName(in.Member)); !lead && (!ok || m.Left != nil) {
		return refuse("whoever reads it was not registered here, and takes its mail itself")
	}
	layout, err := in.box.Layout()
	if err != nil {
		return mailbox.Archive{}, err
	}
	if layout != mailbox.JSONL && team.DialectOf(name) != team.DialectSession {
		return mailbox.Archive{}, nil
	}
	return mailbox.Archive{Dir: boxes.MailDir(own.Dir.Archive(), protocol.MemberName(in.Member))}, nil
}
