package mail

import (
	"context"
	"fmt"

	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// BackendRegistered is the backend of a member that another program runs and that was
// registered here.
const BackendRegistered = "registered"

// Admit records a member that was just registered: in the journal of a team that waggle leads, else
// in the operator's own journal beside it. From then on waggle reads its messages by file, asks it
// when the team ends, and may remove it.
func (o Operator) Admit(ctx context.Context, cfg *team.Config, m team.Member) error {
	s, _, err := o.JournalOf(ctx, cfg)
	if err != nil {
		return err
	}
	if err := o.begin(ctx, s); err != nil {
		return err
	}
	return o.Enlist(ctx, s, m)
}

// Enlist records that an entry of the registry is a member which another program runs.
func (o Operator) Enlist(ctx context.Context, s *operator.State, m team.Member) error {
	id, err := o.Minter.UID()
	if err != nil {
		return err
	}
	return o.Append(ctx, s, func() (ds []journal.Draft, _ error) {
		if old, ok := s.Lead.Member(m.Name); ok && old.Left == nil { // another program removed its entry
			ds = s.Lead.Let(old, record.LeftReplaced, "registered anew")
		}
		return append(ds, journal.Draft{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: record.Instance(id), Name: m.Name, Color: m.Color,
			Agent: BackendRegistered, Backend: BackendRegistered, Cwd: m.Cwd, Trust: record.FileTrust, Provenance: record.Registered}}), nil
	})
}

// mineForeign lists the members of another program's team that were registered here and are still in
// its registry.
func mineForeign(s *operator.State, cfg *team.Config) (names []protocol.MemberName) {
	for _, m := range s.Lead.Live() {
		if e, ok := cfg.Member(m.Name); ok && !e.Gone() {
			names = append(names, e.Name)
		}
	}
	return names
}

// Discharge records the end of a membership in another program's team. It refuses a member that was
// not registered here.
func (o Operator) Discharge(ctx context.Context, cfg *team.Config, name protocol.MemberName) error {
	s, _, err := o.JournalOf(ctx, cfg)
	if err != nil {
		return err
	}
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil {
		return &operator.Error{Kind: operator.Refused, Op: "remove", Msg: fmt.Sprintf("another program leads team %s, and %s was not registered here: it is not ours to remove", cfg.Name, name),
			Advice: "end it where it was started"}
	}
	return o.Append(ctx, s, func() ([]journal.Draft, error) { return s.Lead.Let(m, record.LeftReleased, "removed"), nil })
}

// firstSummary is what seed 002 gives a first prompt.
const firstSummary = "Initial system prompt"

// FirstEntry is the first entry of a member's mailbox (seed 002): its prompt, which has no authority. Its sender has no
// colour of a member: "" for the lead's name, or system.
func FirstEntry(prompt, from, color string, mint record.Mint) (protocol.Envelope, error) {
	return protocol.Envelope{From: from, Text: prompt, Summary: firstSummary, Timestamp: protocol.FormatTime(mint.Now), Color: color,
		MsgV: 1, MsgID: mint.MsgID, Type: string(protocol.KindSystemInit)}.WithMessageID()
}

// promptAPI is prompt in a team in the form of seed 002 that another program leads: from the document's system.
func (o Operator) promptAPI(ctx context.Context, name protocol.TeamName, m team.Member) error {
	mint, err := o.Minter.Mint()
	if err != nil {
		return err
	}
	env, err := FirstEntry(m.Prompt, "system", "system", mint)
	if err != nil {
		return err
	}
	box, err := o.Boxes(name).Open(m.Name, mailbox.Options{})
	if err == nil {
		err = box.Append(ctx, env)
	}
	return err
}

// prompt writes the instructions of a registered member as the first entry of its mailbox (seed 002): the program that
// runs it reads files. The entry has no authority. led says that waggle leads the team.
func (o Operator) prompt(ctx context.Context, name protocol.TeamName, m team.Member, led bool) (err error) {
	switch {
	case m.Prompt == "":
		return nil
	case led:
		var sent []Sent
		if sent, err = o.Send(ctx, name, Message{To: protocol.Address{Scheme: protocol.SchemeMember, Member: m.Name}, Text: m.Prompt, first: true}); err == nil {
			err = Exit(sent)
		}
	default:
		err = o.promptAPI(ctx, name, m)
	}
	if err != nil {
		return fmt.Errorf("%s is registered, and its prompt is not in its mailbox: %w", m.Name, err)
	}
	return nil
}
