package teams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"waggle/control"
	"waggle/internal/claude/claudesessions"
	"waggle/internal/claude/session"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// AdoptOptions name the session to adopt: by its process, or by its session id.
type AdoptOptions struct {
	PID     int
	Session string
	As      protocol.MemberName
}

// Adopted is a running session that has become a member.
type Adopted struct {
	Team     string          `json:"team"`
	Name     string          `json:"name"`
	Instance record.Instance `json:"instance"`
	PID      int             `json:"pid"`
	Start    string          `json:"start"`   // kernel start time, opaque
	Session  string          `json:"session"` // "" of a program that is no session of Claude Code, or of a client that registers none
	// Above says that the process is an ancestor of this program: its commands are the member's
	// from now on, not the operator's.
	Above bool         `json:"above"`
	Trust record.Level `json:"trust"`
	// Controls list what waggle can do with it and what it cannot.
	Controls []Control `json:"controls"`
}

// Control is one operation on a member.
type Control struct {
	What string            `json:"what"`
	Can  bool              `json:"can"`
	How  operator.Sentence `json:"how"` // the way, with the step where a person has to do it, or the reason why it is not possible
}

// Adopt makes a running process of the user a member of a team that waggle leads, at trust file. It
// sends nothing to the process and changes nothing of it: waggle watches it, messages for it go
// into its mailbox, and it is never signalled, because its recorded identity is marked as another
// program's (spawn.Identity.Theirs). When it is stopped, or the team ends, it is asked by message
// and released.
//
// A name that is an entry of the team already is taken over only by the process whose entry it is, by
// its own --agent-name and --team-name or its session id, and only when no living process has it.
//
// Refused are processes that are gone (exit 9), those of other users, process 1, this program, those
// that are members or lead, those that say that they are another member, and a session of Claude Code whose
// entry in the client's registry is not its own (exit 6).
func (o Operator) Adopt(ctx context.Context, name protocol.TeamName, ao AdoptOptions) (*Adopted, error) {
	if (ao.PID == 0) == (ao.Session == "") {
		return nil, &operator.Error{Kind: operator.Usage, Op: "adopt", Msg: "name the session by --pid or by --session, and not by both"}
	}
	s, err := o.Open(ctx, name, operator.Command("adopt"))
	if err != nil {
		return nil, err
	}
	if ao.Session != "" {
		if ao.PID, err = o.sessionProcess(ctx, ao.Session); err != nil {
			return nil, err
		}
	}
	id, err := o.adoptable(ctx, s, ao.PID)
	if err != nil {
		return nil, err
	}
	if ao.Session, err = o.registered(id, ao.Session); err != nil {
		return nil, err
	}
	a := &Adopted{Team: string(name), PID: id.PID, Start: id.Start, Session: ao.Session, Trust: record.FileTrust}
	if a.Above, err = o.above(id); err != nil {
		return nil, err
	}
	e, m, err := o.entryOf(ctx, s, ao.As)
	if err != nil {
		return nil, err
	}
	if err := o.fits(s, ao, claimsOf(spawn.Argv(ao.PID)), e, m); err != nil {
		return nil, err
	}
	as, free := team.Member{Name: ao.As}, e == nil && m == nil
	if e != nil {
		as = *e
	} else if free {
		if as, _, err = mail.Of(o.Operator).Register(ctx, name, team.Member{Name: ao.As, AgentType: mail.BackendAdopted, JoinedAt: o.Minter.Now(), SessionID: ao.Session,
			Subscriptions: []string{}, BackendType: mail.BackendAdopted}, false); err != nil {
			return nil, err
		}
	}
	err = o.takeIn(ctx, s, as, id, a, func() ([]journal.Draft, error) {
		if free {
			return nil, vacant(s, as.Name)
		}
		return o.takeOver(s, as.Name, ao, e, id)
	})
	if err != nil && free {
		reg, oerr := team.Open(o.Root, name, team.Options{})
		if oerr == nil {
			oerr = reg.Remove(ctx, as.Name, o.Minter.Now())
		}
		return nil, errors.Join(err, oerr)
	}
	if err != nil {
		return nil, err
	}
	a.Controls = o.controls(name, as, id)
	return a, nil
}

// takeIn records the membership and the process, both or none. It checks under the journal's lock
// whether the process became a member meanwhile; before checks the name there, and drafts what goes first.
func (o Operator) takeIn(ctx context.Context, s *operator.State, m team.Member, id spawn.Identity, a *Adopted, before func() ([]journal.Draft, error)) error {
	uid, err := o.Minter.UID()
	if err != nil {
		return err
	}
	a.Name, a.Instance = string(m.Name), record.Instance(uid)
	b := record.Joined{Instance: a.Instance, Name: m.Name, Color: m.Color, Agent: mail.BackendAdopted, Backend: mail.BackendAdopted, Trust: record.FileTrust, Provenance: record.Adopted}
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		if err := taken(s.Lead, s.Team, id); err != nil {
			return nil, err
		}
		ds, err := before()
		return append(ds, journal.Draft{Kind: record.KindJoined, Must: true, Body: b},
			journal.Draft{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: a.Instance, Epoch: 1, ID: id}}), err
	})
	return err
}

// adoptable identifies a process, and returns an error when it may not be adopted.
func (o Operator) adoptable(ctx context.Context, s *operator.State, pid int) (spawn.Identity, error) {
	refuse := func(hint, format string, args ...any) (spawn.Identity, error) {
		return spawn.Identity{}, &operator.Error{Kind: operator.Refused, Op: "adopt", Msg: fmt.Sprintf(format, args...), Advice: hint}
	}
	switch {
	case pid < 1:
		return spawn.Identity{}, &operator.Error{Kind: operator.Usage, Op: "adopt", Msg: fmt.Sprintf("%d is no process id", pid)}
	case pid == 1:
		return refuse("", "process 1 runs the machine and is nobody's session")
	case pid == o.PID:
		return refuse("name the session's own process", "process %d is this command", pid)
	}
	id, err := spawn.Identify(pid)
	life := spawn.Gone
	if err == nil {
		life, err = id.State()
	}
	switch {
	case errors.Is(err, spawn.ErrGone), err == nil && life == spawn.Gone:
		return spawn.Identity{}, &operator.Error{Kind: operator.NotFound, Op: "adopt", Msg: fmt.Sprintf("process %d is gone", pid), Advice: "ps -u $USER lists what runs"}
	case err != nil:
		return spawn.Identity{}, err
	}
	mine, err := spawn.Mine(pid)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return refuse("", "this system does not say whose process %d is, so it is not brought in", pid)
	case err != nil:
		return spawn.Identity{}, err
	case !mine:
		return refuse("", "process %d belongs to another user", pid)
	}
	id.Theirs = true
	return id, o.unused(ctx, s, id)
}

// registered is the session id of a process by the registry of Claude Code's sessions, or by the records of hooks;
// wanted, which the operator named, for a program that is in neither. The entry must be a file of that directory itself, and of
// exactly this process: one that got the number of an earlier process is not its session.
func (o Operator) registered(id spawn.Identity, wanted string) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", &operator.Error{Kind: operator.Refused, Op: "adopt", Msg: fmt.Sprintf(format, args...)}
	}
	hooked := func() (string, error) { // of a client without a registry
		r, ok := o.sessionRows().OfProcess(id.PID)
		if ok && wanted != "" && !strings.EqualFold(wanted, string(r.ID)) {
			return refuse("process %d is session %s by its hooks, not %s", id.PID, r.ID, wanted)
		}
		return cmp.Or(string(r.ID), wanted), nil
	}
	if o.ClaudeDir == "" {
		return hooked()
	}
	path := claudesessions.File(o.sessions(), id.PID)
	switch fi, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return hooked()
	case err != nil:
		return "", err
	case !fi.Mode().IsRegular():
		return refuse("%s, by which process %d is a session, is no file", path, id.PID)
	}
	e, err := claudesessions.Read(o.sessions(), id.PID)
	if err != nil {
		return refuse("which session process %d is cannot be read: %v", id.PID, err)
	}
	alive, err := e.Alive()
	verified, verr := e.Verified()
	switch {
	case err != nil || verr != nil:
		return "", errors.Join(err, verr)
	case alive && !verified:
		return refuse("%s has no start time of process %d, which may be another than it was then", path, id.PID)
	case !alive:
		return refuse("%s is of an earlier process %d, which was session %s", path, id.PID, e.SessionID)
	case wanted != "" && !strings.EqualFold(wanted, e.SessionID):
		return refuse("process %d is session %s by %s, not %s", id.PID, e.SessionID, path, wanted)
	}
	return e.SessionID, nil
}

// sessionRows are the sessions that run, by the client's registry and by the records of hooks.
func (o Operator) sessionRows() session.View {
	return session.At(o.Home.Path, o.Minter.Now).List(o.ClaudeDir, session.Looking(o.Ancestors))
}

// sessions is the registry of Claude Code's sessions.
func (o Operator) sessions() string { return filepath.Join(o.ClaudeDir, "sessions") }

// unused refuses a process that is a member of this team or another.
func (o Operator) unused(ctx context.Context, s *operator.State, id spawn.Identity) error {
	if err := taken(s.Lead, s.Team, id); err != nil {
		return err
	}
	known, err := o.Home.List()
	if err != nil {
		return err
	}
	for _, k := range known {
		if k.Dir.Path == s.Dir.Path || k.Broken != nil {
			continue
		}
		if r := o.OpenKnown(k); r.Lead.Ended == nil {
			if err := taken(r.Lead, k.Team, id); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func taken(l *control.Leader, name protocol.TeamName, id spawn.Identity) error {
	if l.Led != nil && id.Is(l.Led.ID) {
		return &operator.Error{Kind: operator.Refused, Op: "adopt", Msg: fmt.Sprintf("process %d leads team %s", id.PID, name)}
	}
	for _, m := range l.Live() {
		if m.Process != nil && id.Is(m.Process.ID) {
			return &operator.Error{Kind: operator.Refused, Op: "adopt", Msg: fmt.Sprintf("process %d is member %s of team %s already", id.PID, m.Name, name),
				Next: operator.Next{Step: operator.NextWhy, Team: name, Member: m.Name}}
		}
	}
	return nil
}

// above reports whether the process is an ancestor of this program.
func (o Operator) above(id spawn.Identity) (bool, error) {
	if o.Ancestors == nil {
		return false, nil
	}
	up, err := o.Ancestors(o.PID)
	return slices.ContainsFunc(up, id.Is), err
}

// sessionProcess finds the process of a session: the registry of Claude Code's sessions and the records of hooks have
// the session id of each process, and the config.json of the team that the session leads its session id and its
// process (leadSessionId, leadProcess). Names of programs are not used.
func (o Operator) sessionProcess(ctx context.Context, named string) (int, error) {
	looked := []string{"the records of hooks"}
	if o.ClaudeDir != "" {
		looked = append(looked, o.sessions())
	}
	for _, r := range o.sessionRows().Rows { // what cannot be read of another session says nothing of this one
		switch {
		case r.Under != "" || !strings.EqualFold(string(r.ID), named):
		case r.PID == 0:
			return 0, &operator.Error{Kind: operator.Refused, Op: "adopt", Msg: fmt.Sprintf("session %s runs in a process that runs other sessions, too: none of them is a member by its process", r.ID), Next: operator.NextOwnProcess.With()}
		default:
			return r.PID, nil
		}
	}
	id, err := uuid.Parse(named)
	if err != nil {
		return 0, &operator.Error{Kind: operator.Usage, Op: "adopt", Msg: fmt.Sprintf("%.80q is not a session id: no session that runs has it, and it is no UUID: %v", named, err), Next: operator.NextSessions.With()}
	}
	names, err := o.Root.Names()
	if err != nil {
		return 0, err
	}
	own := protocol.TeamName("session-" + id.String()[:8])
	if !slices.Contains(names, own) {
		looked = append(looked, fmt.Sprintf("%s: there is none", o.Root.TeamDir(own)))
	}
	for _, n := range names {
		cfg, err := o.Registry(ctx, n)
		switch {
		case err != nil:
			looked = append(looked, fmt.Sprintf("%s: %v", o.Root.TeamDir(n), err))
		case !strings.EqualFold(cfg.LeadSessionID, id.String()):
			if n == own {
				looked = append(looked, fmt.Sprintf("%s: its lead's session is %s", o.Root.TeamDir(n), cfg.LeadSessionID))
			}
		default:
			f := inspect.ForeignProcess(cfg)
			switch {
			case f.PID == 0:
				looked = append(looked, fmt.Sprintf("%s: it is that session's, and names no process (leadProcess)", o.Root.TeamDir(n)))
			case f.Process == spawn.Gone:
				looked = append(looked, fmt.Sprintf("%s: it is that session's, and its process %d is gone", o.Root.TeamDir(n), f.PID))
			case f.Unseen != "":
				looked = append(looked, fmt.Sprintf("%s: it is that session's, and its process %d is not certain: %s", o.Root.TeamDir(n), f.PID, f.Unseen))
			default:
				return f.PID, nil
			}
		}
	}
	return 0, &operator.Error{Kind: operator.NotFound, Op: "adopt", Msg: fmt.Sprintf("no process of session %s was found; looked at %s, and at the lead's session of %d teams of %s",
		id, strings.Join(looked, "; "), len(names), o.RootURL), Next: operator.NextAdoptPID.With()}
}

// controls lists the operations on an adopted session, whose entry in the team is e.
func (o Operator) controls(name protocol.TeamName, e team.Member, id spawn.Identity) []Control {
	own, is := o.sessionRows().OfProcess(id.PID)
	box := ""
	if b, err := o.Box(&team.Config{Name: name}, e.Name, nil); err == nil {
		box, _ = b.Path()
	}
	by := func(text string, step operator.Step) operator.Sentence {
		return operator.Sentence{Text: text, Do: operator.Next{Step: step, Team: name, Member: e.Name, Text: box}}
	}
	messages := Control{What: "messages", Can: true, How: by("", operator.NextAdoptedSend)}
	if mail.ThroughSession(own.Socket, e) {
		messages.How = by("", operator.NextAdoptedSay)
	}
	calls := Control{What: "tool calls", How: by("they are not asked for and not gated: it does what its own program allows", "")}
	if is && own.Hooked && own.Client.Answers() {
		calls = Control{What: "tool calls", Can: true, How: by("not gated: what its own rules allow runs; what its own dialog asks is listed, and answered there or here", operator.NextPending)}
	}
	return []Control{
		{What: "liveness", Can: true, How: by(fmt.Sprintf("process %d, with its start time, is watched", id.PID), operator.NextAdoptedStatus)},
		messages,
		o.ownSocket(own, id.PID),
		{What: "answers", Can: true, How: by("", operator.NextAdoptedAnswers)},
		calls,
		{What: "plans and network", How: by("not gated", "")},
		{What: "mode and policy", How: by("its own program sets them; what a file says of them is not an order", "")},
		{What: "output", How: by("it is not captured; look at its own terminal", "")},
		{What: "stop", How: by("waggle never signals it: stop and down ask by message and let it go", "")},
		{What: "restart", How: by("waggle did not start it and does not start it again", "")},
	}
}

// ownSocket checks for the socket of a session: the one that it has registered, else at Claude Code's path
// (protocol §8).
func (o Operator) ownSocket(own session.Row, pid int) Control {
	if own.Socket != "" {
		return Control{What: "socket", Can: true, How: operator.Sentence{Text: "its own socket is " + own.Socket + ", by its registry"}}
	}
	dirs := []string{os.TempDir()} // 2.1.330; earlier ones took XDG_RUNTIME_DIR
	for _, name := range []string{"TMPDIR=", "XDG_RUNTIME_DIR="} {
		for _, kv := range o.Environ {
			if v, ok := strings.CutPrefix(kv, name); ok && v != "" {
				dirs = append(dirs, v)
			}
		}
	}
	var looked []string
	for _, dir := range dirs {
		path := filepath.Join(dir, "cc-socks", strconv.Itoa(pid)+".sock")
		if st, err := os.Lstat(path); err == nil && st.Mode().Type() == fs.ModeSocket {
			return Control{What: "socket", Can: true, How: operator.Sentence{Text: "its own socket is " + path + "; whom it takes messages from there is its own setting"}}
		}
		if !slices.Contains(looked, path) {
			looked = append(looked, path)
		}
	}
	return Control{What: "socket", How: operator.Sentence{Text: "no socket of it is known: there is no " + strings.Join(looked, ", and no ")}}
}

// claims are what a process says of itself in its command line.
type claims struct{ agent, team, session string }

// claimsOf reads the command line of a process. Claude Code's members have --agent-name and
// --team-name there.
func claimsOf(argv []string) (c claims) {
	flags := map[string]*string{"--agent-name": &c.agent, "--team-name": &c.team, "--session-id": &c.session}
	for i, arg := range argv {
		name, value, has := strings.Cut(arg, "=")
		into := flags[name]
		switch {
		case into == nil:
		case has:
			*into = value
		case i+1 < len(argv):
			*into = argv[i+1]
		}
	}
	return c
}

// entryOf is the entry of a team's registry, or the member of its journal, that has a name and has
// not left; nil where the name is free.
func (o Operator) entryOf(ctx context.Context, s *operator.State, name protocol.MemberName) (*team.Member, *control.Member, error) {
	cfg, err := o.Registry(ctx, s.Team)
	if err != nil {
		return nil, nil, err
	}
	e, ok := cfg.Member(name)
	if !ok || e.Gone() {
		e = nil
	}
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil {
		m = nil
	}
	return e, m, nil
}

// fits refuses to adopt a process under a name that is not its own: another than it says of itself,
// or that of an entry that is not its.
func (o Operator) fits(s *operator.State, ao AdoptOptions, c claims, e *team.Member, m *control.Member) error {
	refuse := func(format string, args ...any) error {
		return &operator.Error{Kind: operator.Refused, Op: "adopt", Msg: fmt.Sprintf(format, args...)}
	}
	own := c.agent != "" && protocol.SameName(protocol.MemberName(c.agent), ao.As) && strings.EqualFold(c.team, string(s.Team))
	switch {
	case c.agent != "" && !protocol.SameName(protocol.MemberName(c.agent), ao.As):
		return refuse("process %d says that it is %.80q (--agent-name), not %s", ao.PID, c.agent, ao.As)
	case c.team != "" && !strings.EqualFold(c.team, string(s.Team)):
		return refuse("process %d says that it is of team %.80q (--team-name), not of %s", ao.PID, c.team, s.Team)
	case e == nil && m == nil:
		return nil
	case m != nil && m.Leads():
		return refuse("%s leads the team", ao.As)
	case m != nil && m.Trust != record.FileTrust:
		return refuse("%s is a member that waggle runs (%s): no other process becomes it", ao.As, m.Origin())
	case m != nil && m.Process != nil && !operator.Gone(m.Process.ID):
		return refuse("%s has a living owner: process %d", ao.As, m.Process.ID.PID)
	case own, e != nil && e.SessionID != "" && (strings.EqualFold(c.session, e.SessionID) || strings.EqualFold(ao.Session, e.SessionID)):
		return nil
	}
	return refuse("%s is an entry of the team already, and process %d does not say that it is its (--agent-name and --team-name, or the session id)", ao.As, ao.PID)
}

// takeOver drafts that the process takes the place of the member of an entry that has no living owner.
func (o Operator) takeOver(s *operator.State, name protocol.MemberName, ao AdoptOptions, e *team.Member, id spawn.Identity) ([]journal.Draft, error) {
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil {
		return nil, nil
	}
	return s.Lead.Let(m, record.LeftReplaced, fmt.Sprintf("process %d was adopted as it", id.PID)), o.fits(s, ao, claimsOf(spawn.Argv(ao.PID)), e, m)
}
