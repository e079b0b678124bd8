package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Why is the state of one member with all facts behind it (`why`).
type Why struct {
	Standing
	Trust    record.Level `json:"trust"`
	Unheard  bool         `json:"unheard,omitempty"` // only the registry of a team of waggle has it (Operator.Unheard)
	Evidence []Fact       `json:"evidence"`
}

// Fact is one fact and its source.
type Fact struct {
	Source string    `json:"source"` // leader's journal, its journal, its worktree, process, mailbox, registry, output
	At     time.Time `json:"at"`     // zero: now
	Detail string    `json:"detail"`
}

// Why returns the state of a member, its beginning and its facts. It also finds a member that has
// left, and one of a team that has ended (operator.Read). Like Status it only reads.
func (o Operator) Why(ctx context.Context, of, member string) (*Why, error) {
	s, live, m, foreign, err := o.sought(ctx, of, member)
	switch {
	case foreign != "":
		return o.whyForeign(ctx, foreign, member)
	case err != nil && live:
		if y := o.whyUnheard(ctx, s, member); y != nil {
			return y, nil
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	k, err := o.probe(ctx, s)
	if err != nil {
		return nil, err
	}
	m, ms, g, w, err := k.one(ctx, m)
	if err != nil {
		return nil, err
	}
	y := &Why{Standing: ms.standing(s.Team, m), Trust: m.Trust, Evidence: []Fact{}}
	y.fromLeader(s, m)
	if live && m.Left == nil {
		y.fromMerge(ctx, o, s, m)
	}
	y.fromProcess(s, m)
	if len(g.Tools) > 0 {
		y.add("process", time.Time{}, "%s", process.ToolsText(g.Tools))
	}
	y.fromTerminal(g.Terminal)
	if pid := adoptedPID(m); pid != "" {
		if r, err := o.session("why", pid); err == nil {
			y.fromSession(r)
		}
	}
	switch {
	case w != nil:
		y.fromWorker(s, m, w, o.Minter.Now())
	case g.Journal.Problem != "":
		y.add(fromWorker, time.Time{}, "%s", g.Journal.Problem)
	default:
		y.add(fromWorker, time.Time{}, "it has none: waggle does not run it")
	}
	if live && m.Left == nil {
		y.reach(ctx, o, m, w)
	}
	if live {
		y.fromMailbox(ctx, o, m.Name)
		y.fromOutput(g.Output.Path)
	}
	return y, nil
}

// present opens the present team, as a leader pass would find it when no process leads it, else the
// record of the past one. Nil: another program leads it.
func (o Operator) present(ctx context.Context, of string) (s *operator.State, live bool, err error) {
	name, err := o.Pick(of)
	if operator.KindOf(err) == operator.NotFound {
		s, perr := o.Open(ctx, protocol.TeamName(of), operator.Read)
		if perr != nil || s.Foreign {
			return nil, false, err
		}
		return s, false, s.Damaged
	}
	if err != nil {
		return nil, false, err
	}
	if s, err = o.readable(ctx, name); s == nil || err != nil {
		return nil, false, err
	}
	if s.Damaged == nil {
		_, err = o.Preview(ctx, s)
	}
	return s, true, err
}

// sought finds a member, present or not, and its team, which is live unless it has ended. foreign is the team where
// another program leads it.
func (o Operator) sought(ctx context.Context, of, member string) (s *operator.State, live bool, m *control.Member, foreign protocol.TeamName, err error) {
	if s, live, err = o.present(ctx, of); err != nil {
		return nil, false, nil, "", err
	}
	if s == nil {
		foreign, err = o.Pick(of)
		return nil, false, nil, foreign, err
	}
	m, err = anyMember(s, member)
	return s, live, m, "", err
}

func (y *Why) add(source string, at time.Time, format string, args ...any) {
	y.Evidence = append(y.Evidence, Fact{Source: source, At: at, Detail: fmt.Sprintf(format, args...)})
}

const (
	fromLeader  = "leader's journal"
	fromWorker  = "its journal"
	fromMerges  = "its worktree"
	fromProcess = "process"
	fromMachine = "this machine"
	fromMailbox = "mailbox"
)

// anyMember finds a member by name: the present one, else the last one that left.
func anyMember(s *operator.State, name string) (*control.Member, error) {
	ms, err := operator.Namesakes(s.Lead.Members, name)
	if err != nil {
		return nil, err
	}
	return ms[len(ms)-1], nil
}

// fromMerge adds what the member's work waits for a person with, for which the lists of members have it among those that
// need one.
func (y *Why) fromMerge(ctx context.Context, o Operator, s *operator.State, m *control.Member) {
	p := process.Of(o.Operator).Merging(s)
	r, err := p.Refused(ctx, m)
	switch {
	case err != nil:
		y.add(fromMerges, time.Time{}, "%v", err)
	case r != nil:
		y.add(fromMerges, r.At, "not merged into %s: %s", r.Into, r.Why)
	case p.Resolved(ctx, m):
		y.add(fromMerges, time.Time{}, resolved)
	}
}

func (y *Why) fromLeader(s *operator.State, m *control.Member) {
	y.add(fromLeader, m.JoinedAt, "joined as instance %.8s, agent %s, level %s, %s", m.Instance, m.Agent, m.Trust.Words(), m.Origin())
	if m.Continues != "" {
		y.add(fromLeader, m.JoinedAt, "goes on as instance %.8s, which had left", m.Continues)
	}
	if d := m.Definition; d != nil {
		y.add(fromLeader, m.JoinedAt, "prompt, model and tools are of definition %s, %s, SHA-256 %s", d.Name, d.Path, d.SHA256)
	}
	y.add(fromLeader, m.Since, "the leader has it as %s", m.State())
	if !m.AgreedAt.IsZero() {
		y.add(fromLeader, m.AgreedAt, "it says by file that it ends")
	}
	if m.Rejected != "" {
		y.add(fromLeader, time.Time{}, "it refused to end: %s", m.Rejected)
	}
	for _, r := range s.Lead.Pending() {
		if r.Instance == m.Instance {
			y.add(fromLeader, r.Seen, "its request %s is open: %s", r.Handle, decide.Brief(r.Kind, r.Ask))
		}
	}
	for _, ord := range s.Lead.Unclosed(m.Instance) {
		way := "is not in its mailbox yet"
		switch {
		case ord.Again != "":
			way = "is in its mailbox for the second time: " + ord.Again
		case ord.Sent && m.Trust == record.FileTrust:
			way = "is in its mailbox, and its reader has not taken it"
		case ord.Sent:
			way = "is in its mailbox, and its journal shows no effect yet"
		}
		y.add(fromLeader, ord.At, "the %s for it %s", ord.What(), way)
	}
	if m.Left != nil {
		y.add(fromLeader, m.LeftAt, "left: %s%s", m.Left.How, operator.Suffix(m.Left.Detail))
	}
}

func (y *Why) fromProcess(s *operator.State, m *control.Member) {
	if m.Process == nil {
		y.add(fromProcess, time.Time{}, "no process of it has ever written to the journal")
		return
	}
	id := m.Process.ID
	switch alive, err := id.Check(); {
	case err != nil:
		y.add(fromProcess, time.Time{}, "process %d cannot be inspected: %v", id.PID, err)
	case alive:
		y.add(fromProcess, m.ProcAt, "process %d runs and is the one that started then (start %d of it)", id.PID, m.Process.Epoch)
	default:
		y.add(fromProcess, m.ProcAt, "process %d, which started then, is gone; whatever has that number now is another", id.PID)
	}
	held, err := s.Dir.Leased(s.Dir.ProcessLease(m.Instance))
	switch {
	case err != nil:
		y.add(fromProcess, time.Time{}, "its lease cannot be inspected: %v", err)
	case !held:
		y.add(fromProcess, time.Time{}, "nobody holds its lease: no process of it works")
	default:
		y.add(fromProcess, time.Time{}, "its lease is held: a process of it works")
	}
}

func (y *Why) fromWorker(s *operator.State, m *control.Member, w *control.Worker, now time.Time) {
	if w.Last.Kind == "" {
		y.add(fromWorker, time.Time{}, "it is empty")
		return
	}
	y.add(fromWorker, w.Last.At, "its last record is %q, %s ago", w.Last.Kind, now.Sub(w.Last.At).Truncate(time.Second))
	y.add(fromWorker, time.Time{}, "it has itself as %s", w.State())
	y.sandbox(m, w)
	if t := w.Turn(); t != nil {
		what := fmt.Sprintf("%d messages", len(t.Entries))
		if t.Task != "" {
			what = "task " + t.Task
		}
		y.add(fromWorker, time.Time{}, "a turn runs, with %s", what)
	}
	for _, c := range w.Blocking() {
		y.add(fromWorker, c.Asked, "it waits for an answer: %s", decide.Brief(c.Kind, c.Ask))
	}
	for _, c := range w.Calls {
		if c.Started && c.Finished == nil && !c.Unknown {
			y.add(fromWorker, c.Asked, "a call was started and has not ended: %s", decide.Brief(c.Kind, c.Ask))
		}
	}
	if c := lastRun(w); c != nil && c.Finished != nil && c.Finished.Error != "" {
		y.add(fromWorker, c.StartedAt, "its last call, %s, failed: %s", decide.Brief(c.Kind, c.Ask), c.Finished.Error)
	}
	if w.Unverified > 0 {
		y.add(fromWorker, time.Time{}, "it found %d messages that claimed an authority they do not have", w.Unverified)
	}
	if n := len(decide.Unapplied(s.Lead, w)); n > 0 {
		y.add(fromWorker, time.Time{}, "%d changes of policy or mode are not acknowledged; they hold all the same", n)
	}
}

// lastRun is the call that was started last; nil: there is none.
func lastRun(w *control.Worker) (last *control.Call) {
	for _, c := range w.Calls {
		if c.Started && (last == nil || c.StartedAt.After(last.StartedAt)) {
			last = c
		}
	}
	return last
}

func (y *Why) fromMailbox(ctx context.Context, o Operator, member protocol.MemberName) {
	unread, err := o.unread(ctx, protocol.TeamName(y.Team), member)
	switch {
	case err != nil:
		y.add(fromMailbox, time.Time{}, "%v", err)
	case len(unread) == 0:
		y.add(fromMailbox, time.Time{}, "nothing in it is unread")
	default:
		oldest := unread[0].Envelope
		at, _ := protocol.ParseTime(oldest.Timestamp) // none is shown when it is no time
		y.add(fromMailbox, at, "%d messages in it are unread; the oldest, written then, is from %s", len(unread), oldest.From)
	}
}

func (y *Why) fromOutput(path string) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		y.add("output", time.Time{}, "%v", err)
	default:
		y.add("output", st.ModTime(), "%s was last written then and has %d bytes", path, st.Size())
	}
}

// whyForeign is Why for a team that waggle does not lead.
func (o Operator) whyForeign(ctx context.Context, name protocol.TeamName, member string) (*Why, error) {
	reg, err := team.Open(o.Root, name, team.Options{})
	if err != nil {
		return nil, err
	}
	st := &Status{Members: []MemberStatus{}}
	cfg, err := o.foreign(ctx, reg, st)
	if err != nil {
		return nil, err
	}
	for _, ms := range st.Members {
		if !protocol.SameName(protocol.MemberName(ms.Name), protocol.MemberName(member)) {
			continue
		}
		y := &Why{Standing: ms.standing(name, nil), Trust: ms.Trust, Evidence: []Fact{}}
		y.add("registry", time.Time{}, "config.json lists it, and another program leads the team")
		y.fromMailbox(ctx, o, protocol.MemberName(ms.Name))
		return y, nil
	}
	return nil, &team.NotFoundError{What: "member", Name: member, Near: cfg.Near(member)}
}

// one returns a single member as status has it. The fold may have been rebuilt: the member is that
// of the present fold.
func (k *probe) one(ctx context.Context, m *control.Member) (*control.Member, MemberStatus, *Evidence, *control.Worker, error) {
	f, g, w := k.look(ctx, m)
	if f.suspect() {
		if err := k.confirm(ctx); err != nil {
			return m, MemberStatus{}, nil, nil, err
		}
		if now, ok := k.s.Lead.ByInstance(m.Instance); ok {
			m = now
		}
		f, g, w = k.look(ctx, m)
	}
	return m, memberStatus(m, w, f, g), g, w, nil
}

func (y *Why) fromTerminal(t *TerminalEvidence) {
	if t == nil {
		return
	}
	where := "a terminal that waggle attach shows"
	if t.Pane != "" {
		where = "pane " + t.Pane + " of " + t.Server
	}
	y.add("terminal", time.Time{}, "it has %s; whoever holds it is %s", where, t.Holder)
	if t.Ended {
		y.add("terminal", time.Time{}, "the holder saw its process end: %s", t.Exit)
	}
}
