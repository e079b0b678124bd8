package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/mailbox"
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

// BackendAdopted is the backend of a member that waggle did not start.
const BackendAdopted = "adopted"

// ThroughSession reports whether words to an adopted member go to the messaging socket of its session, "" for none: nothing in it
// reads the mailbox. A process that took over an entry of the team has a client that does.
func ThroughSession(socket string, e team.Member) bool {
	return socket != "" && e.BackendType == BackendAdopted
}

// throughSession directs a letter for an adopted member to its session.
func (o Operator) throughSession(s *operator.State, cfg *team.Config, l *letter, m Message) {
	if s == nil || l.to.Scheme != protocol.SchemeMember || l.res.err != nil {
		return
	}
	e, ok := cfg.Member(l.to.Member)
	mem, is := s.Lead.Member(l.to.Member)
	if !ok || !is || mem.Agent != BackendAdopted || mem.Left != nil || mem.Process == nil || operator.Gone(mem.Process.ID) {
		return
	}
	r, ok := o.sessionRows().OfProcess(mem.Process.ID.PID)
	if !ok || !ThroughSession(r.Socket, *e) {
		return
	}
	if err := wordsOnly(m); err != nil {
		l.fail(Refused, err)
		return
	}
	l.to, l.res.team = protocol.Address{Scheme: protocol.SchemeUDS, Target: r.Socket}, ""
}

// NoModel is the model of a member that has none, or that chooses itself.
const NoModel = "none"

// Present returns a new entry of a registry that waggle keeps: isActive is true from join until the
// member has left, as in seed 002, and no turn changes it.
func Present(m team.Member) team.Member {
	m.IsActive, m.SpawnedAt = new(true), m.JoinedAt
	return m
}
