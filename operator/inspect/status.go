package inspect

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// Status is a team at a glance (commands §4).
type Status struct {
	Team string `json:"-"`
	// Gone records that the team's directory is missing; nil: it exists.
	Gone *record.Noticed `json:"-"`
	// Broken is the error of the leader's journal when it cannot be read to its end: then the team
	// can only be ended by force. Nil: the journal is whole.
	Broken error `json:"-"`
	// Room is the reason why STATE takes no record now. The team continues by itself when STATE
	// takes records again. Nil: it does.
	Room error `json:"-"`
	// Damage lists other errors of the team's files.
	Damage  []string       `json:"-"`
	Leader  LeaderStatus   `json:"-"`
	Members []MemberStatus `json:"members"`
	// Halt says that the operator has stopped all work; null: it goes on.
	Halt *Halt `json:"halted"`
	// Merges are the interrupted merges of members that have left, by name.
	Merges []OpenMerge `json:"-"`
	// Interrupted says that members have died and no process leads that would restart them; null
	// otherwise.
	Interrupted *Interrupted `json:"interrupted"`
	// Overlaps are files that more than one member edited.
	Overlaps []Overlap `json:"overlaps"`
	Pending  int       `json:"pending"`
	Failed   int       `json:"failed"`  // tasks of the board whose last turn failed
	Blocked  int       `json:"blocked"` // tasks that wait for one that failed
	Unread   int       `json:"unread"`  // chat for the operator
	Alarms   int       `json:"unverified"`
	// Unanswerable are requests of members of other programs without an id of their own, which nobody can answer; their senders were told.
	Unanswerable int `json:"unanswerable,omitempty"`
	// Ceiling is the user's ceiling over the team's policy; null: there is none.
	Ceiling *decide.CeilingView `json:"ceiling"`
	// Budgets are those of the team and of its run.
	Budgets []Budget `json:"budgets,omitempty"`
}

// Halt is the operator's stop of all work.
type Halt struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Budget is a budget as it holds now, and what was used of it.
type Budget struct {
	Scope  record.BudgetScope `json:"scope"`
	Member string             `json:"member,omitempty"` // of scope member, in a list of those of a team
	BudgetLimit
	Used record.Usage `json:"used"`
	BudgetRaise
	Set record.Limit `json:"-"` // as it was set; in a status it is not known
}

// BudgetLimit is a limit as far as it was raised. A bound of 0 is none.
type BudgetLimit struct {
	CostMicros int64 `json:"limit_usd_micros"`
	Tokens     int64 `json:"limit_tokens"`
	Turns      int64 `json:"limit_turns"`
}

// BudgetRaise is how much a limit is above what was set; zero in a status.
type BudgetRaise struct {
	CostMicros int64 `json:"raised_usd_micros,omitempty"`
	Tokens     int64 `json:"raised_tokens,omitempty"`
	Turns      int64 `json:"raised_turns,omitempty"`
}

// LeaderStatus says whether a process leads the team.
type LeaderStatus struct {
	Led     bool `json:"-"` // a process holds the leader lease
	Foreign bool `json:"-"` // another program leads the team
	// Sandbox is what confines the commands of the least confined member.
	Sandbox record.HeldLevel `json:"-"`
	// PID is the process that leads, 0 when no record names it.
	PID      int    `json:"pid"`
	Detached bool   `json:"detached"`          // it leads without a terminal
	Stopped  string `json:"stopped,omitempty"` // that it is stopped, and how it goes on; "": it is not
	// Untaken are the ids of the open requests that it has not recorded, each with its handle before it. An answer
	// records them.
	Untaken []string `json:"untaken,omitempty"`
	// Slept is the last time that the machine was suspended while the team was led, and SleptAt its end; 0 when
	// that is longer ago than an hour.
	Slept   time.Duration `json:"-"`
	SleptAt time.Time     `json:"-"`
}

// recently is how long status says that the machine was asleep.
const recently = time.Hour

// OpenMerge is an interrupted merge of a member's work.
type OpenMerge struct {
	Member string
	process.RefusedMerge
}

// MemberStatus is the status of one member.
type MemberStatus struct {
	Name  string      `json:"name"`
	Lead  string      `json:"lead"` // the team file's name of the agent behind the lead; "" of a member
	State MemberState `json:"state"`
	Stand
	Since    time.Time         `json:"since"` // zero: not known
	Why      string            `json:"why"`
	PID      int               `json:"pid"`
	Backend  string            `json:"backend"`
	Trust    record.Level      `json:"trust"`
	From     record.Provenance `json:"provenance"` // spawned, token, adopted, registered, mcp, guest; "": another program's member, which nothing here made
	Sandbox  record.HeldLevel  `json:"sandbox"`    // what confines its commands: enforced, files only, each maybe with (shell only); off, unknown
	Task     string            `json:"task"`
	Pending  int               `json:"pending"`
	Policy   uint64            `json:"policy_version"`
	Socket   string            `json:"socket"`   // the socket at which its process takes messages; "" for none
	Restarts uint64            `json:"restarts"` // starts of it after the first
	Ready    *record.Ready     `json:"ready"`    // the report of its present start; null: it takes no work yet
	Log      string            `json:"log"`      // its output; "" when waggle does not run it
	// Worktree is the member's own checkout; null: it has none.
	Worktree *process.WorktreeView `json:"worktree"`
	// Refused is the last merge of its work, when that changed nothing; nil: none, or its branch has
	// changed since.
	Refused *process.RefusedMerge `json:"merge_refused,omitempty"`
	// Resolved says that it has done the task that handed the conflict of that merge back.
	Resolved bool `json:"merge_resolved,omitempty"`
	// Usage is that of its process and the processes below; null: it has none, or the system does
	// not report it.
	Usage *MemberUsage `json:"usage"`
	// Conversation, Spent and Steps are what its agent says of itself: nil without.
	Conversation *record.Conversation `json:"conversation,omitempty"`
	Spent        *record.Usage        `json:"spent,omitempty"`
	Steps        []record.Step        `json:"steps,omitempty"`
	// Budget is the member's own; nil: it has none.
	Budget   *Budget   `json:"budget,omitempty"`
	Evidence *Evidence `json:"evidence"`
	Stays    bool      `json:"-"` // it is dead, and only a resume starts it again
	Asks     string    `json:"-"` // what a dead member asks: its request stays open; "": nothing
	Unheard  bool      `json:"-"` // only the registry of a team of waggle has it: what it asks and reports has no effect
	// Unsettled is what a person has to settle about a task that it has and that is not done, in words; "": nothing.
	Unsettled string `json:"-"`
	// Checked is the last check of its newest task; nil: that has none, or it did not run.
	Checked *record.Checked `json:"-"`
}

// MemberUsage is what a member's processes use.
type MemberUsage struct {
	CPU       operator.Seconds `json:"cpu_s"`     // since its process started
	RSS       uint64           `json:"rss_bytes"` // in memory
	Processes int              `json:"processes"`
}

// Interrupted is a team with dead members and no process that leads it.
type Interrupted struct {
	At      time.Time `json:"at"`      // of the last record or output
	Members int       `json:"members"` // that a resume restarts
	Pending int       `json:"pending"` // open requests
}

// Status returns the state of every member of a team, with the evidence. Where the leader's journal
// is broken it returns what the records before the break say and which processes run.
//
// It records nothing and sends nothing; when no process leads it shows what a leader pass would
// find (operator.Preview). It may take two seconds when a member has an old order: it watches the
// member before it reports it as stalled.
func (o Operator) Status(ctx context.Context, name protocol.TeamName) (*Status, error) {
	reg, missing := team.Open(o.Root, name, team.Options{})
	st := &Status{Team: string(name), Members: []MemberStatus{}, Overlaps: []Overlap{}}
	s, err := o.readable(ctx, name)
	if err == nil && s == nil {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	if s == nil { // another program's lead reads its mailbox itself
		_, err := o.foreign(ctx, reg, st)
		return st, err
	}
	if n, err := mail.Of(o.Operator).UnreadChat(ctx, name, protocol.Lead); err == nil && !operator.AgentLeads(s) {
		st.Unread = n
	}
	var untaken []string
	if s.Damaged == nil {
		led, err := o.Preview(ctx, s)
		if operator.Unpassing(err) != nil {
			return nil, err
		}
		for _, r := range s.Untaken() {
			if led {
				untaken = append(untaken, r.Handle+" "+string(r.ID))
			}
		}
	}
	if st.Ceiling = decide.ViewCeiling(s.Lead.Policy); s.Lead.Noticed.Missing() {
		st.Gone = s.Lead.Noticed
	}
	if err := s.Room(); operator.Passing(err) {
		st.Room = err
	}
	st.Broken, st.Damage = s.Damaged, o.damage(ctx, s)
	k, err := o.probe(ctx, s)
	if err != nil {
		return nil, err
	}
	st.Leader = LeaderStatus{Led: k.led}
	if k.led {
		st.Leader.Stopped, st.Leader.Untaken = s.LeaderStopped(), untaken
	}
	if l := s.Lead; l.Slept != nil && o.Minter.Now().Sub(l.SleptAt) < recently {
		st.Leader.Slept, st.Leader.SleptAt = l.Slept.For(), l.SleptAt
	}
	if p := s.Lead.Led; p != nil && k.led {
		st.Leader.PID, st.Leader.Detached = p.ID.PID, p.Detached || s.Lead.Detached
	} else if k.led { // the record of it is behind a break of the journal, or not written yet
		st.Leader.PID = s.Dir.Leading()
	}
	if h := s.Lead.Halt; h != nil {
		st.Halt = &Halt{At: h.At, Reason: h.Reason}
	}
	st.Pending, st.Alarms = len(s.Lead.Pending()), Unverified(s)
	for _, u := range s.Lead.Unverified {
		if u.Told {
			st.Unanswerable++
		}
	}
	for _, scope := range []record.BudgetScope{record.ScopeTeam, record.ScopeRun} {
		if limit, used, ok := s.Lead.BudgetNow(scope, "", nil); ok {
			st.Budgets = append(st.Budgets, Budget{Scope: scope, BudgetLimit: BudgetLimit(limit), Used: used})
		}
	}
	for _, state := range board.States(s.Lead, k.tasks) {
		switch state {
		case board.StateFailed:
			st.Failed++
		case board.StateBlocked:
			st.Blocked++
		}
	}
	if err := k.members(ctx, st); err != nil {
		return nil, err
	}
	if st.Merges, err = o.OpenMerges(s, st.Members); err != nil {
		st.Damage = append(st.Damage, err.Error())
	}
	var levels []record.HeldLevel
	for _, m := range st.Members {
		levels = append(levels, m.Sandbox)
	}
	st.Leader.Sandbox = Least(levels)
	st.Overlaps = o.overlaps(ctx, k.edits)
	for _, m := range o.Unheard(ctx, s) {
		st.Members = append(st.Members, o.unheard(m))
	}
	return st, nil
}

// readable opens a team's state; where the leader's journal is broken, with the records before the
// break.
func (o Operator) readable(ctx context.Context, name protocol.TeamName) (*operator.State, error) {
	s, err := o.Open(ctx, name, operator.Act)
	var b *journal.BrokenError
	var f *journal.FutureError
	switch {
	case operator.Unled(err):
		if cfg, lerr := o.Listing(ctx, name); lerr == nil {
			return nil, o.Begun(cfg)
		}
		return nil, nil
	case !errors.As(err, &b) && !errors.As(err, &f):
		return s, err
	}
	r, rerr := o.Open(ctx, name, operator.Read)
	if rerr == nil && r.Damaged != nil && r.Lead.Instance == "" && b != nil {
		return process.Of(o.Operator).OpenDamaged(ctx, name) // not even the first record can be read; other files name the members
	}
	if rerr != nil || r.Damaged == nil {
		return nil, err
	}
	return r, nil
}

// members examines every member, and those with old orders once more.
func (k *probe) members(ctx context.Context, st *Status) error {
	served, err := k.s.Dir.Sockets(k.o.RunPath()).Served()
	if err != nil {
		return err
	}
	of := process.Of(k.o.Operator).Merging(k.s)
	seen := false // no member is watched twice
	for again := true; again; {
		again, st.Interrupted = false, nil
		st.Members, k.edits = st.Members[:0], k.edits[:0]
		for _, m := range k.s.Lead.Members {
			if now, ok := k.s.Lead.Member(m.Name); !ok || now != m || m.Left != nil && m.Left.How != record.LeftDied {
				continue // an earlier membership of that name, or one that has ended
			}
			f, g, w := k.look(ctx, m)
			again = again || !seen && f.suspect()
			ms := memberStatus(m, w, f, g)
			ms.Refused, _ = of.Refused(ctx, m) // the next merge says what cannot be read
			ms.Resolved = of.Resolved(ctx, m)
			ms.Unsettled = board.Unsettled(k.s, k.tasks, m)
			if limit, used, ok := k.s.Lead.BudgetNow(record.ScopeMember, m.Name, w); ok {
				ms.Budget = &Budget{Scope: record.ScopeMember, BudgetLimit: BudgetLimit(limit), Used: used}
			}
			if ms.State != StateDead && slices.Contains(served, ms.Name) {
				ms.Socket = "uds:" + k.s.Dir.Sockets(k.o.RunPath()).Path(ms.Name)
			}
			st.Members = append(st.Members, ms)
			if m.Left == nil {
				k.edits = append(k.edits, edits{m.Name, m.Worktree, written(w)})
			}
			k.interrupted(m, f, ms, st)
		}
		if again {
			seen = true
			if err := k.confirm(ctx); err != nil {
				return err
			}
		}
	}
	k.usage(st)
	return nil
}

// OpenMerges are the interrupted merges of members that are not among those.
func (o Operator) OpenMerges(s *operator.State, members []MemberStatus) (found []OpenMerge, err error) {
	open, err := process.Of(o.Operator).OpenMerges(s)
	for _, m := range members {
		delete(open, m.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		found = append(found, OpenMerge{name, *open[name]})
	}
	return found, err
}

// usage fills in what the processes of all members use.
func (k *probe) usage(st *Status) {
	var ids []spawn.Identity
	var whose []int
	for i, ms := range st.Members {
		if m, ok := k.s.Lead.Member(protocol.MemberName(ms.Name)); ok && m.Process != nil && ms.State != StateDead {
			ids, whose = append(ids, m.Process.ID), append(whose, i)
		}
	}
	used, err := spawn.UsageOf(ids...)
	if err != nil {
		return
	}
	for n, u := range used {
		if u.Processes > 0 {
			st.Members[whose[n]].Usage = &MemberUsage{CPU: operator.Seconds(u.CPU), RSS: u.RSS, Processes: u.Processes}
		}
	}
}

// interrupted counts a dead member that a resume could restart.
func (k *probe) interrupted(m *control.Member, f MemberFacts, ms MemberStatus, st *Status) {
	if k.led || k.s.Damaged != nil || ms.State != StateDead || f.Ending != "" || f.Files {
		return
	}
	if st.Interrupted == nil {
		st.Interrupted = &Interrupted{Pending: st.Pending}
	}
	in := st.Interrupted
	in.Members++
	sign := f.LastSign
	if sign.IsZero() || f.Death != nil && sign.After(f.Death.At) {
		sign = m.Since
	}
	if sign.After(in.At) {
		in.At = sign
	}
}

// memberStatus returns a member's status from the facts. w is nil without a journal.
func memberStatus(m *control.Member, w *control.Worker, f MemberFacts, g *Evidence) MemberStatus {
	ms := f.Status()
	ms.Name, ms.Lead, ms.Backend, ms.Trust, ms.From = string(m.Name), m.Joined.Lead, m.Backend, m.Trust, m.Origin()
	ms.Log, ms.Sandbox, ms.Worktree, ms.Evidence = g.Output.Path, operator.HeldOf(m, nil), process.ViewWorktree(m.Worktree), g
	if m.Left != nil { // a member that has left is shown as long as its end was its death
		ms.Is = ConditionFailed
	}
	if len(g.Tools) > 0 {
		ms.Why += "; " + process.ToolsText(g.Tools)
	}
	if m.Process != nil && m.Process.Epoch > 1 {
		ms.Restarts = m.Process.Epoch - 1
	}
	if f.Files {
		ms.Log = ""
	}
	if w == nil {
		return ms
	}
	ms.Policy = w.PolicyVersion
	if t := w.Turn(); t != nil {
		ms.Task = t.Task
	}
	for _, c := range w.Calls {
		if c.Open() {
			ms.Pending++
		}
	}
	if n := len(w.Tasks); n > 0 {
		ms.Checked = w.Tasks[n-1].Checked
	}
	if f.Up {
		ms.Ready, ms.Conversation, ms.Steps = w.Ready, w.Conversation, w.Steps
		ms.Sandbox = operator.HeldOf(m, w.Ready)
		if w.Usage.Source != "" {
			ms.Spent = new(w.Usage)
		}
	}
	return ms
}

// foreign fills in what is known of a team that waggle does not lead, and returns its registry.
func (o Operator) foreign(ctx context.Context, reg *team.Team, st *Status) (*team.Config, error) {
	st.Leader = LeaderStatus{Foreign: true, Sandbox: operator.HeldUnknown}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return nil, err
	}
	st.Damage = unnamed(cfg)
	lead := ForeignProcess(cfg)
	st.Leader.PID = lead.PID
	ours, _, err := mail.Of(o.Operator).JournalOf(ctx, cfg)
	if err != nil {
		ours = nil // whose the members are is not known then
	}
	for _, m := range cfg.Members {
		if m.Gone() {
			continue
		}
		f := MemberFacts{Now: o.Minter.Now(), Files: true, Active: m.IsActive, Source: "config.json"}
		// A member in the lead's own process lives and ends with it. A pane's id is used again, and
		// does not identify the process that was in it.
		inside := m.BackendType == "in-process"
		switch {
		case protocol.SameName(m.Name, protocol.Lead) || inside:
			f.PID, f.Process, f.Unseen, f.Inside = lead.PID, lead.Process, lead.Unseen, inside && !protocol.SameName(m.Name, protocol.Lead)
		case lead.PID != 0 && lead.Process == spawn.Gone:
			f.Doubt = "the lead that it worked for is gone, and its own process is not on record"
		}
		from := f.byGuest(ours, m.Name)
		ms := fileMember(m, f)
		ms.From = from
		st.Members = append(st.Members, ms)
	}
	return cfg, nil
}

// byGuest returns the provenance of a member of another program's team that is of ours, "" of another. Of a guest it
// takes the facts: its process and its journal are on record here. s is the operator's own journal of that team, nil
// without one.
func (f *MemberFacts) byGuest(s *operator.State, name protocol.MemberName) record.Provenance {
	if s == nil {
		return ""
	}
	m, ok := s.Lead.Member(name)
	if !ok || m.Left != nil {
		return ""
	}
	w, err := s.Worker(m.Instance)
	switch {
	case err != nil || !w.Guest:
		return m.Origin()
	case m.Process == nil:
		return record.AsGuest
	}
	f.PID, f.StartedAt, f.Inside, f.Doubt, f.LastSign = m.Process.ID.PID, m.ProcAt, false, "", w.Last.At
	if f.Process, err = m.Process.ID.State(); err != nil {
		f.Unseen = err.Error()
	}
	f.Session = &Health{State: StateIdle, Since: w.Last.At, Why: "waits for words"}
	if w.Turn() != nil {
		f.Session = &Health{State: StateWorking, Since: w.TurnAt, Why: "has a turn"}
	}
	if b := w.Blocking(); len(b) > 0 {
		f.Session = &Health{State: StatePeer, Since: b[0].Asked, Why: "asks its lead: " + brief(decide.Gist(b[0].Kind, b[0].Ask))}
	}
	return record.AsGuest
}

// idleHint interprets isActive in a team of waggle. waggle writes true when a member joins, so true
// says only that it has not left; false was written by the member.
func idleHint(m team.Member) *bool {
	if m.IsActive != nil && *m.IsActive {
		return nil
	}
	return m.IsActive
}

// fileMember is a member that no journal of waggle has.
func fileMember(m team.Member, f MemberFacts) MemberStatus {
	ms := f.Status()
	g := &Evidence{Tools: []process.LeftTool{}, Process: ProcessEvidence{PID: f.PID, State: string(f.Process)}}
	switch {
	case f.PID == 0:
		g.Process.State = "none"
	case f.Process == "":
		g.Process.State, g.Process.Problem = "unknown", f.Unseen
	}
	ms.Name, ms.Backend, ms.Trust, ms.Evidence = string(m.Name), m.BackendType, record.FileTrust, g
	return ms
}

// Unverified counts the messages that the team's journals have as unverified: the leader's journal,
// and those of its members, which judge their own mailboxes. status and doctor show this
// number. An edit of the registry is no message: status shows it as one (damage). So are Unanswerable ones. It leaves out a member's journal that cannot be read; why NAME reports it.
func Unverified(s *operator.State) int {
	n := 0
	for _, u := range s.Lead.Unverified {
		if u.Box != leader.RegistryBox && !u.Told {
			n++
		}
	}
	for _, m := range s.Lead.Members {
		if w, err := s.Worker(m.Instance); err == nil {
			n += w.Unverified
		}
	}
	return n
}
