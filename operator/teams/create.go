package teams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/fs/worktree"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Create makes an empty team that waggle leads: registry, state, journal. The name and the
// description must be within the limits of new teams (team.CheckName).
func (o Operator) Create(ctx context.Context, name protocol.TeamName, description string, p record.PolicySet) (*operator.State, error) {
	return o.CreateAs(ctx, name, teamfile.About{Description: description}, mailbox.Array, p)
}

// CreateAs is Create with mailboxes of a layout.
func (o Operator) CreateAs(ctx context.Context, name protocol.TeamName, about teamfile.About, as mailbox.Layout, p record.PolicySet) (*operator.State, error) {
	held, err := o.Claim("create", name)
	if err != nil {
		return nil, err
	}
	defer held.Free()
	return o.Make(ctx, name, about, as, p)
}

// Make is CreateAs for a caller that holds the Claim.
func (o Operator) Make(ctx context.Context, name protocol.TeamName, about teamfile.About, as mailbox.Layout, p record.PolicySet) (*operator.State, error) {
	if _, err := team.CheckName(string(name)); err != nil {
		return nil, &operator.Error{Kind: operator.Usage, Op: "create", Err: err}
	}
	if err := team.CheckDescription(about.Description); err != nil {
		return nil, &operator.Error{Kind: operator.Usage, Op: "create", Err: err}
	}
	top := decide.Of(o.Operator).CeilingOf(nil)
	if decide.ModeName(p.Policy.Mode) == policy.ModeDefault {
		p.Policy.Mode = top.Meet(p.Policy.Mode) // the default mode, which nobody asked for
	}
	if over := top.Beyond(p.Policy); len(over) > 0 {
		return nil, &record.CeilingError{Ceiling: top, Over: over}
	}
	uid, err := o.Minter.UID()
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	session, err := uuid.Parse(uid) // the registry wants the uid in a session id's form
	if err != nil {
		return nil, err
	}
	if _, err := process.Of(o.Operator).Finish(ctx, name); err != nil {
		return nil, err
	}
	if err := o.Strays(name); err != nil {
		return nil, err
	}
	if _, err = o.Open(ctx, name, operator.Act); operator.Unled(err) {
		_, err = process.Of(o.Operator).MailLeft(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	now := o.Minter.Now()
	cfg := team.Config{Name: name, Description: about.Describe(name), CreatedAt: now, LeadAgentID: protocol.NewAgentID(protocol.Lead, name),
		LeadSessionID: session.String(), SchemaVersion: team.SchemaVersion, Metadata: about.Metadata,
		Members: []team.Member{mail.Present(team.Member{AgentID: protocol.NewAgentID(protocol.Lead, name), Name: protocol.Lead, AgentType: "team-lead",
			Model: mail.NoModel, JoinedAt: now, TmuxPaneID: "leader", Cwd: cwd, Subscriptions: []string{}, BackendType: "in-process"})}}
	dir, err := o.Home.Create(o.RootURL, name, record.TeamUID(uid))
	if err != nil {
		return nil, err
	}
	if err := atomicfile.WriteFile(dir.Making(), []byte(o.RootURL+"\n"), atomicfile.Options{Sync: atomicfile.SyncData}); err != nil {
		return nil, err
	}
	if _, err := team.CreateAs(ctx, o.Root, cfg, as, team.Options{}); err != nil {
		_ = os.RemoveAll(dir.Path) // nothing was written there
		if errors.Is(err, team.ErrExists) {
			return nil, &operator.Error{Kind: operator.Failed, Op: "create", Msg: fmt.Sprintf("team %s is there already", name),
				Next: operator.Next{Step: operator.NextShowOrDelete, Team: name}, Err: err}
		}
		return nil, err
	}
	return o.found(ctx, name, uid, p, nil)
}

// halfMade opens a team whose creation stopped before the first record; nil when the files of the
// wire tree are another team's. It makes the journal, so that the team can be ended.
func (o Operator) halfMade(ctx context.Context, name protocol.TeamName) (*operator.State, error) {
	uid, says, err := mail.Of(o.Operator).Whose(ctx, name)
	if !says || !o.Making(o.Home.Dir(o.RootURL, name, uid)) {
		return nil, err
	}
	return o.found(ctx, name, string(uid), record.PolicySet{}, nil)
}

// Join registers a member and gives it an instance. The joined record is the membership; the
// registry entry is for other programs.
func (o Operator) Join(ctx context.Context, s *operator.State, m teamfile.FileMember) (team.Member, record.Instance, error) {
	return o.join(ctx, s, m, joining{})
}

// JoinLead gives the agent that a file names as lead an instance. The registry has the lead already, and keeps it when its
// agent leaves.
func (o Operator) JoinLead(ctx context.Context, s *operator.State, m teamfile.FileMember) (record.Instance, error) {
	id, err := o.Minter.UID()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(o.Root.MemberDir(s.Team, protocol.Lead), "artifacts"), 0o700); err != nil {
		return "", fmt.Errorf("join %s: %w", m.Name, err)
	}
	j := joined(m, record.Instance(id))
	j.Name, j.Lead, j.RealCwd, j.Provenance = protocol.Lead, string(m.Name), process.RealCwd(m.Sandbox, m.Cwd), record.Spawned
	return j.Instance, s.Put(ctx, o.Writer(), record.KindJoined, j)
}

// joined is what a file says of a member, as the record of its joining.
func joined(m teamfile.FileMember, i record.Instance) record.Joined {
	return record.Joined{Instance: i, Name: m.Name, Color: m.Color, Agent: m.Agent, Spec: m.Spec, Cwd: m.Cwd, PlanRequired: m.PlanRequired, Model: m.Model, Mode: m.Mode,
		Restart: m.Restart, Backend: m.Backend, Trust: m.Sandbox.Trust(), Sandbox: m.Sandbox, Definition: m.Definition}
}

// joining is how a member joins.
type joining struct {
	channel string  // by what, when the operator did not make it
	as      *former // that it goes on as; nil: it is new
}

func (o Operator) join(ctx context.Context, s *operator.State, m teamfile.FileMember, by joining) (added team.Member, i record.Instance, err error) {
	reg, err := team.Open(o.Root, s.Team, team.Options{})
	if err != nil {
		return team.Member{}, "", err
	}
	id, err := o.Minter.UID()
	if err != nil {
		return team.Member{}, "", err
	}
	i = record.Instance(id)
	if err := vacant(s, m.Name); err != nil {
		return team.Member{}, "", err
	}
	if m.Sandbox == nil { // made beside the team file: the team's block holds for it, too
		if m.Sandbox, err = o.sandboxOf(s); err != nil {
			return team.Member{}, "", err
		}
	}
	enter := mail.Present(team.Member{Name: m.Name, AgentType: cmp.Or(m.Type, "general-purpose"), Model: cmp.Or(m.Model, mail.NoModel), Prompt: m.Prompt,
		Color: m.Color, PlanModeRequired: m.PlanRequired, JoinedAt: o.Minter.Now(), Cwd: m.Cwd, Subscriptions: []string{}, BackendType: process.BackendType(m.Backend), Metadata: m.Metadata})
	process.Of(o.Operator).Await(ctx, leftWait, func() bool {
		added, _, err = reg.KeepIn(s.Dir.Archive()).Add(ctx, enter, false)
		return !errors.Is(err, team.ErrTaken) || !hadLeft(s, m.Name)
	})
	if err != nil {
		return team.Member{}, "", errors.Join(err, ctx.Err())
	}
	var tree *record.Worktree
	defer func(i record.Instance) {
		if err != nil {
			err = errors.Join(err, o.unjoin(context.WithoutCancel(ctx), s, reg, m.Name, i, tree, by.as))
		}
	}(i)
	if by.as == nil { // log and artifacts of an earlier member of the name do not belong to this one
		if _, err := reg.KeepIn(s.Dir.Archive()).PutFilesAway(added.Name); err != nil {
			return team.Member{}, "", fmt.Errorf("join %s: %w", added.Name, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(o.Root.MemberDir(s.Team, added.Name), "artifacts"), 0o700); err != nil {
		return team.Member{}, "", fmt.Errorf("join %s: %w", added.Name, err)
	}
	kept, err := o.keptTree(ctx, s, by.as, i)
	if err != nil {
		return team.Member{}, "", err
	}
	at := kept
	if m.Worktree {
		if kept == nil {
			if tree, m.Cwd, err = process.Of(o.Operator).NewWorktree(ctx, s, added.Name, i, m.Cwd, m.Begin, m.Sandbox); err != nil {
				return team.Member{}, "", err
			}
			if m.Prepare, err = o.preparation(ctx, m, tree.Repo); err != nil {
				return team.Member{}, "", err
			}
			at = tree
		}
		added.Cwd, added.WorktreePath = m.Cwd, at.Path
		if err := reg.Move(ctx, added.Name, added.Cwd, added.WorktreePath); err != nil {
			return team.Member{}, "", err
		}
	}
	first, err := o.firstEntry(ctx, s, added)
	if err != nil {
		return team.Member{}, "", fmt.Errorf("join %s: %w", added.Name, err)
	}
	check := m.Check
	if check != nil && tree != nil {
		inside := *check
		inside.Dir = worktree.Tree(*tree).Inside(check.Dir)
		check = &inside
	}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if err := vacant(s, added.Name); err != nil {
			return nil, err
		}
		j := joined(m, i)
		j.Name, j.Color, j.File, j.Channel, j.Worktree, j.Prepare = added.Name, added.Color, m.File, by.channel, at, m.Prepare
		j.Provenance, j.Check, j.Baseline, j.AtOnce = provenance(m, by.channel), check, first, m.AtOnce
		j.Queued = queues(s) && m.AtOnce > 0 && s.Lead.Occupied(process.Of(o.Operator).Halted(s)) >= m.AtOnce
		if at == nil {
			j.RealCwd = process.RealCwd(m.Sandbox, m.Cwd)
		}
		if by.as != nil {
			if at == nil {
				j.RealCwd = cmp.Or(by.as.RealCwd, j.RealCwd)
			}
			j.Continues, j.Conversation = by.as.Instance, by.as.conversation
		}
		return []journal.Draft{{Kind: record.KindJoined, Must: true, Body: j}}, nil
	})
	return added, i, err
}

// queues reports a team whose leading process begins members of the queue: that of waggle run does not.
func queues(s *operator.State) bool { return s.Lead.Led == nil || !s.Lead.Led.Run }

// firstEntry writes a member's prompt as the first entry of its mailbox (seed 002), marked as read: the member has it from
// its start, and readers of the file find it there. It returns the entry's identity, which the member takes for old.
func (o Operator) firstEntry(ctx context.Context, s *operator.State, m team.Member) ([]string, error) {
	if m.Prompt == "" {
		return nil, nil
	}
	mint, err := o.Minter.Mint()
	if err != nil {
		return nil, err
	}
	env, err := mail.FirstEntry(m.Prompt, string(protocol.Lead), "", mint)
	if err != nil {
		return nil, err
	}
	if protocol.Decode(env).Kind != protocol.KindSystemInit {
		return nil, nil // readers of the file would take it for control
	}
	box, err := o.Boxes(s.Team).Open(m.Name, mailbox.Options{})
	if err != nil {
		return nil, err
	}
	env.Read = true
	if err := box.Append(ctx, env); err != nil {
		return nil, err
	}
	entries, err := box.Entries(ctx)
	if err != nil {
		return nil, err
	}
	var old []string
	for _, e := range entries {
		if e.Envelope.MsgID == env.MsgID {
			old = append(old, e.ID.String())
		}
	}
	return old, nil
}

// preparation is what the worktree of a new member gets: what was accepted for it, and the files that
// .worktreeinclude of its checkout names at this moment.
func (o Operator) preparation(ctx context.Context, m teamfile.FileMember, checkout string) (_ *record.Preparation, err error) {
	var p record.Preparation
	if m.Prepare != nil {
		p = *m.Prepare
	}
	files := m.Included
	if files == nil { // nobody has looked them up to show them
		if files, err = process.Of(o.Operator).Included(ctx, checkout); err != nil {
			return nil, err
		}
	}
	p.Copy = append(slices.Clone(files), p.Copy...)
	return &p, nil
}

// leftWait is how long a new member waits for an earlier one of its name: the process that leads takes a member that has
// left off the registry a moment after that is on record.
const leftWait = 5 * time.Second

// hadLeft reports whether a member of this name was here and has left.
func hadLeft(s *operator.State, name protocol.MemberName) bool {
	return slices.ContainsFunc(s.Lead.Members, func(m *control.Member) bool { return m.Left != nil && protocol.SameName(m.Name, name) })
}

// provenance is how a member that waggle makes came to be one.
func provenance(m teamfile.FileMember, channel string) record.Provenance {
	switch {
	case channel != "":
		return record.ByToken
	case m.Backend == operator.BackendMCP:
		return record.ByMCP
	}
	return record.Spawned
}

// vacant refuses a name whose member has not left, whatever the registry has: the journal is the
// membership.
func vacant(s *operator.State, name protocol.MemberName) error {
	for _, m := range s.Lead.Live() {
		if protocol.SameName(m.Name, name) {
			return &operator.Error{Kind: operator.Refused, Op: "join", Err: team.ErrTaken, Msg: fmt.Sprintf("the name is taken: %s is a member of team %s that has not left, whether or not the registry lists it", m.Name, s.Team),
				Next: operator.Next{Step: operator.NextStopMember, Team: s.Team, Member: m.Name}}
		}
	}
	return nil
}

// unjoin undoes a join that failed, unless it is recorded after all.
func (o Operator) unjoin(ctx context.Context, s *operator.State, reg *team.Team, name protocol.MemberName, i record.Instance, tree *record.Worktree, as *former) error {
	if err := s.Journal.Refresh(ctx); err != nil {
		return err
	}
	if _, ok := s.Lead.ByInstance(i); ok {
		return nil
	}
	errs := []error{reg.Remove(ctx, name, o.Minter.Now())}
	if tree != nil {
		errs = append(errs, process.Of(o.Operator).DropWorktree(ctx, s, tree))
	}
	if as != nil {
		_, err := o.keptTree(ctx, s, as, as.Instance)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Clear frees a name for a new team. A live team of that name is an error; a leftover of waggle
// whose processes have ended is ended and archived; another program's team is not touched. It notes
// an archived team that could have been resumed.
func (o Operator) Clear(ctx context.Context, name protocol.TeamName, note func(operator.Note)) error {
	if _, err := os.Lstat(o.Root.TeamDir(name)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if s, err := process.Of(o.Operator).OpenDamaged(ctx, name); s != nil && err == nil {
		return operator.Unreadable("run", name, s.Damaged)
	}
	s, err := o.Open(ctx, name, operator.Act)
	if operator.Unled(err) {
		var done bool
		if done, err = process.Of(o.Operator).Finish(ctx, name); done {
			return err
		}
		if err == nil {
			s, err = o.halfMade(ctx, name)
		}
	}
	if err != nil {
		return err
	}
	if s == nil {
		place, err := process.Of(o.Operator).MailLeft(ctx, name)
		if err == nil && place == "" {
			err = &operator.Error{Kind: operator.Refused, Op: "run", Msg: fmt.Sprintf("there is a team %s of which this waggle has no records: they are lost, or another program made it", name),
				Next: operator.Next{Step: operator.NextFreeName, Team: name}}
		}
		if err == nil && note != nil {
			note(process.Of(o.Operator).MailNote(name, place))
		}
		return err
	}
	live, led, err := o.Live(s)
	if err != nil {
		return err
	}
	if led || len(live) > 0 {
		return &operator.Error{Kind: operator.Locked, Op: "run", Msg: fmt.Sprintf("team %s is live: %s", name, who(live, led)),
			Next: operator.Next{Step: operator.NextStatusOrDown, Team: name}}
	}
	left := interrupted(s)
	place, err := process.Of(o.Operator).Archive(ctx, s, record.LeftReplaced)
	if err == nil && left != "" && note != nil {
		note(operator.Note{What: "archived", Member: "", Text: fmt.Sprintf("an earlier team %s that was cut short with %s; it could have been resumed, and is in %s now", name, left, place)})
	}
	return err
}

// interrupted describes what an interrupted team contains, "" when it is empty.
func interrupted(s *operator.State) string {
	members, open := len(s.Lead.Live()), len(s.Lead.Pending())
	if members == 0 {
		return ""
	}
	return fmt.Sprintf("%d members and %d open questions", members, open)
}

func who(live []protocol.MemberName, led bool) string {
	switch {
	case led && len(live) > 0:
		return fmt.Sprintf("it has a leader and %d running members", len(live))
	case led:
		return "a process leads it"
	}
	return fmt.Sprintf("%v still run", live)
}

// LedBy returns o with the agent that a team file names as lead.
func (o Operator) LedBy(f *teamfile.File) (operator.Operator, error) {
	o.Agent = nil
	if f.Lead == nil {
		return o.Operator, nil
	}
	a, err := agent.New(f.Lead.Agent, f.Lead.Spec)
	if err != nil {
		return o.Operator, fmt.Errorf("lead %s: %w", f.Lead.Name, err)
	}
	o.Agent, _ = a.(agent.Decider) // for an agent that does not decide, the operator does
	return o.Operator, nil
}
