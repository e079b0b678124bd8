package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
)

// Values of ResumeMember.Do.
const (
	ResumeStart = "start" // its process is gone: it is restarted, with the same session id
	ResumeTake  = "take"  // its process runs, and is supervised without a restart
	ResumeLeave = "leave" // waggle does not run it, or it is being ended
)

// ResumePlan is what a resume of a team would do.
type ResumePlan struct {
	Team    string         `json:"team"`
	Led     bool           `json:"led"` // a process leads it
	PID     int            `json:"pid"` // of that process; 0: none is on record
	Members []ResumeMember `json:"members"`
	Halted  bool           `json:"halted"` // all work is stopped, and would go on
	// Changed says that the team file differs from the accepted one.
	Changed     bool     `json:"file_changed"`
	File        string   `json:"file"`
	Tasks       int      `json:"open_tasks"`
	Undelivered int      `json:"undelivered"` // messages in mailboxes that were not taken
	Pending     []string `json:"pending"`     // ids of open requests: they stay open
	Unknown     []string `json:"unknown"`     // calls that were started and have no recorded end: they are not run again
	// Leftover are running commands of dead processes: their end will not be recorded.
	Leftover []string `json:"leftover"`
}

// ResumeMember is one member of the plan.
type ResumeMember struct {
	Name    string `json:"name"`
	Action  string `json:"action"`
	Session string `json:"session"` // its instance
	PID     int    `json:"pid"`
	Why     string `json:"why"`
}

// Starts counts the members that would be started.
func (p *ResumePlan) Starts() (n int) {
	for _, m := range p.Members {
		if m.Action == ResumeStart {
			n++
		}
	}
	return n
}

// PlanReturn is what a resume of one member would do: of one that has left, or of one that is there.
func (p *ResumePlan) PlanReturn(s *operator.State, name string) {
	if m, ok := operator.Departed(s, name); ok {
		p.Members = []ResumeMember{{Name: string(m.Name), Action: ResumeStart, Session: string(m.Instance), Why: "it left: " + m.Left.How}}
		if why := operator.Unreturning(m); why != "" {
			p.Members[0].Action, p.Members[0].Why = ResumeLeave, "it left, and is not started again: "+why
		}
		return
	}
	p.Members = slices.DeleteFunc(p.Members, func(m ResumeMember) bool {
		return !protocol.SameName(protocol.MemberName(m.Name), protocol.MemberName(name))
	})
}

// PlanResume returns what a resume would do. It changes nothing.
func (o Operator) PlanResume(ctx context.Context, name protocol.TeamName) (*operator.State, *ResumePlan, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, nil, err
	}
	p := &ResumePlan{Team: string(name), Halted: s.Lead.Halt != nil, Members: []ResumeMember{}, Pending: []string{}, Unknown: []string{}, Leftover: []string{}}
	if p.Led, err = process.Of(o.Operator).IsLed(s); err != nil {
		return nil, nil, err
	}
	if l := s.Lead.Led; l != nil && p.Led && l.ID.Alive() {
		p.PID = l.ID.PID
	}
	for _, m := range s.Lead.Live() {
		p.Members = append(p.Members, resumeMember(m))
		w, err := s.Worker(m.Instance)
		if operator.Broken(err) {
			p.Members[len(p.Members)-1].Why = err.Error() // only this member cannot be resumed
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("journal of %s: %w", m.Name, err)
		}
		for _, c := range w.Calls {
			if c.Started && c.Finished == nil && (c.Unknown || c.Epoch < w.Epoch || !running(m)) {
				p.Unknown = append(p.Unknown, fmt.Sprintf("%s %s: %s", m.Name, c.ID, decide.Describe(c.Kind, c.Ask)))
			}
		}
		if p.Undelivered, err = o.countUnread(ctx, s, m.Name, p.Undelivered); err != nil {
			return nil, nil, err
		}
	}
	for _, q := range s.Lead.Pending() {
		p.Pending = append(p.Pending, string(q.ID))
	}
	if p.Tasks, err = o.openTasks(ctx, s); err != nil {
		return nil, nil, err
	}
	left, err := process.Of(o.Operator).GC(ctx, name, false)
	if err != nil {
		return nil, nil, err
	}
	for _, g := range left.Found {
		if g.Kind == process.GarbageCommand {
			p.Leftover = append(p.Leftover, fmt.Sprintf("%s: pid %d (%s)", g.Member, g.PID, g.Argv))
		}
	}
	f, err := o.Accepted(s)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range missing(s, f) {
		p.Members = append(p.Members, ResumeMember{Name: string(m.Name), Action: ResumeStart, Why: "it had not joined"})
	}
	p.File = f.Path
	p.Changed, err = f.Changed()
	return s, p, err
}

func running(m *control.Member) bool { return m.Process != nil && m.Process.ID.Alive() }

func resumeMember(m *control.Member) ResumeMember {
	r := ResumeMember{Name: string(m.Name), Session: string(m.Instance)}
	if m.Process != nil {
		r.PID = m.Process.ID.PID
	}
	switch {
	case m.Trust == record.FileTrust:
		r.Action, r.Why = ResumeLeave, "waggle does not run it"
	case m.Stopping != nil || m.Approved:
		r.Action, r.Why = ResumeLeave, "it was being ended"
	case m.InQueue():
		r.Action, r.Why = ResumeLeave, "it is in the queue"
	case running(m):
		r.Action, r.Why = ResumeTake, fmt.Sprintf("process %d runs", r.PID)
	case m.Died != nil && m.Died.Detail != "":
		r.Action, r.Why = ResumeStart, m.Died.Detail
	case m.Process == nil:
		r.Action, r.Why = ResumeStart, "it had not come up"
	default:
		r.Action, r.Why = ResumeStart, fmt.Sprintf("process %d is gone", r.PID)
	}
	return r
}

// countUnread adds the unread messages of a member to n; an unreadable mailbox counts as empty.
func (o Operator) countUnread(ctx context.Context, s *operator.State, name protocol.MemberName, n int) (int, error) {
	in, err := mail.Of(o.Operator).Inbox(ctx, s.Team, name, true)
	if err != nil {
		return n, ctx.Err()
	}
	return n + len(in.Entries), nil
}

func (o Operator) openTasks(ctx context.Context, s *operator.State) (n int, err error) {
	list, err := board.Of(o.Operator).Tasks(ctx, s.Team, false)
	if err != nil {
		return 0, ctx.Err() // a resume does not need the board
	}
	for _, t := range list.Tasks {
		if t.Status == task.Pending || t.Status == task.InProgress {
			n++
		}
	}
	return n, nil
}

// Absent returns an error that names the members of a resumed team that do not run; nil when all
// run.
func Absent(s *operator.State) error {
	var names []string
	for _, m := range restartable(s) {
		names = append(names, string(m.Name))
	}
	if len(names) == 0 {
		return nil
	}
	return &operator.Error{Kind: operator.Died, Op: "resume", Msg: "did not start: " + strings.Join(names, ", "), Next: operator.Next{Step: operator.NextWhyRestart, Member: protocol.MemberName(names[0])}}
}

// ErrNotLed: the process that led a team is gone.
var ErrNotLed = errors.New("the process that led the team has just ended")

// Restart starts the members of a team that do not run, beside the process that leads it. It asks that process before
// and after (process.AskLeader); ErrNotLed: the team is to be planned again.
func (o Operator) Restart(ctx context.Context, s *operator.State, lo LeadOptions) error {
	if err := o.Guard(ctx, s, "resume"); err != nil {
		return err
	}
	if err := o.askLeader(ctx, s); err != nil {
		return err
	}
	ms := restartable(s)
	if len(ms) == 0 {
		return nil
	}
	return cmp.Or(o.Bring(ctx, s, ms, lo), o.askLeader(ctx, s))
}

// askLeader returns nil when the process that leads says so.
func (o Operator) askLeader(ctx context.Context, s *operator.State) error {
	leads, err := process.Of(o.Operator).AskLeader(ctx, s)
	if err == nil && !leads {
		err = ErrNotLed
	}
	return err
}

// RestartMember starts one member of a team that is led, when its process does not run. One that has left
// is a member again, in its session and worktree (teams.Return).
func (o Operator) RestartMember(ctx context.Context, s *operator.State, name string, lo LeadOptions) (started bool, err error) {
	if err := o.Guard(ctx, s, "resume"); err != nil {
		return false, err
	}
	switch err := o.askLeader(ctx, s); {
	case errors.Is(err, ErrNotLed):
		return false, &operator.Error{Kind: operator.Refused, Op: "resume", Msg: fmt.Sprintf("no process leads team %s, so no member is started alone", s.Team),
			Next: operator.Next{Step: operator.NextResumeTeam, Team: s.Team}}
	case err != nil:
		return false, err
	}
	if m, ok := operator.Departed(s, name); ok {
		return true, o.bringBack(ctx, s, m, lo)
	}
	m, err := decide.Member(s, name)
	if err == nil && m.InQueue() { // a person lets it begin before its turn
		taken, uerr := o.unqueue(ctx, s, m)
		if uerr != nil || !taken {
			return false, uerr
		}
		m, err = decide.Member(s, name)
	}
	if err != nil || !slices.Contains(restartable(s), m) {
		return false, err
	}
	return true, o.Bring(ctx, s, []*control.Member{m}, lo)
}

// bringBack makes a member that has left a member again, and starts it. When it does not become ready, it
// leaves again.
func (o Operator) bringBack(ctx context.Context, s *operator.State, was *control.Member, lo LeadOptions) error {
	if s.Lead.Closing != nil {
		return &operator.Error{Kind: operator.Refused, Op: "resume", Msg: fmt.Sprintf("team %s is being ended", s.Team)}
	}
	if o.Leading == nil { // the ceiling is the operator's to set
		if _, err := decide.Of(o.Operator).Adopt(ctx, s); err != nil {
			return err
		}
	}
	i, err := teams.Of(o.Operator).Return(ctx, s, was)
	if err != nil {
		return err
	}
	m, ok := s.Lead.ByInstance(i)
	if !ok {
		return fmt.Errorf("%s has just left again", was.Name)
	}
	if m.Joined.Mode != "" {
		err = o.setMode(ctx, s, i, m.Joined.Mode)
	}
	if err == nil {
		if m, ok = s.Lead.ByInstance(i); ok {
			err = o.Bring(ctx, s, []*control.Member{m}, lo)
		}
	}
	var setup *process.SetupError
	if err == nil || errors.As(err, &setup) {
		return err
	}
	return errors.Join(err, o.dismiss(ctx, &Spawned{Team: string(s.Team), Name: string(was.Name)}))
}

// Bring starts members without leading, and waits until they are ready.
func (o Operator) Bring(ctx context.Context, s *operator.State, ms []*control.Member, lo LeadOptions) error {
	note := lo.Note
	if note == nil {
		note = func(operator.Note) {}
	}
	list, err := o.startAll(ctx, nil, s, ms, lo.Ready, note)
	for _, st := range list {
		note(st.note(st.member.Backend))
	}
	return errors.Join(err, o.readiness(s).await(ctx, list, lo.Accept, note))
}

// NewMember is a member to start in a team that is up.
type NewMember struct {
	teamfile.FileMember
	Prompt  string // its first task; "": it waits for work
	Subject string // of that task; "": its first line
	// Quoted: the prompt has words of others than the operator, and so is not on record as the operator's.
	Quoted bool
	// Unchecked keeps the check of the team's file from deciding its tasks.
	Unchecked bool
}

// Spawned is a member that was started.
type Spawned struct {
	Team    string        `json:"team"`
	Name    string        `json:"name"`
	Session string        `json:"session"`
	PID     int           `json:"pid"`
	Backend string        `json:"backend"`
	Task    string        `json:"task"`
	Ready   *record.Ready `json:"ready"` // as its journal has it
	// Queue is its place in the queue when it joined: the process that leads starts it. 0: it is not queued.
	Queue int `json:"-"`
	// Worktree is its own git worktree; nil: it has none.
	Worktree *record.Worktree    `json:"-"`
	Prepare  *record.Preparation `json:"-"` // of that worktree; nil: it has none
}

// Spawn starts a new member of a running team. Its prompt is in its mailbox before its process
// starts. When it does not become ready, or differs from what was asked for, it is ended again, and
// the error has the reason.
func (o Operator) Spawn(ctx context.Context, name protocol.TeamName, m NewMember, lo LeadOptions) (*Spawned, error) {
	s, jm, sp, err := o.recruit(ctx, name, m, lo.Attended)
	if err != nil {
		return nil, err
	}
	if err = o.Bring(ctx, s, []*control.Member{jm}, lo); err == nil {
		err = sp.started(s, jm)
	}
	if err != nil {
		return nil, errors.Join(err, o.dismiss(ctx, sp))
	}
	return sp, nil
}

// Recruit is Spawn without the start of the process: the member has joined, and its prompt is
// ordered. Begin starts it.
func (o Operator) Recruit(ctx context.Context, name protocol.TeamName, m NewMember, attended bool) (*Spawned, error) {
	_, _, sp, err := o.recruit(ctx, name, m, attended)
	return sp, err
}

// Begin starts a member that Recruit has joined, and waits until it is ready. A member whose setup
// failed stays in the team, blocked; one whose process ended is restarted by the process that leads;
// one that differs from what was asked for is ended again.
func (o Operator) Begin(ctx context.Context, name protocol.TeamName, member protocol.MemberName, lo LeadOptions) error {
	s, err := o.Open(ctx, name, operator.Lead("begin"))
	if err != nil {
		return err
	}
	m, err := decide.Member(s, string(member))
	if err != nil {
		return err
	}
	if s.Lead.Closing != nil || m.Stopping != nil || running(m) {
		return nil // it is being ended, or another process has started it
	}
	err = o.Bring(ctx, s, []*control.Member{m}, lo)
	var differs *ContractError
	if errors.As(err, &differs) {
		sp := &Spawned{Team: string(name), Name: string(m.Name)}
		for _, order := range s.Lead.Assignments() {
			if order.Instance == m.Instance {
				sp.Task = order.Commanded.Task.ID
			}
		}
		return errors.Join(err, o.dismiss(ctx, sp))
	}
	return err
}

// recruit joins a member and orders its prompt.
func (o Operator) recruit(ctx context.Context, name protocol.TeamName, m NewMember, attended bool) (*operator.State, *control.Member, *Spawned, error) {
	s, err := o.Open(ctx, name, operator.Lead("spawn"))
	if err != nil {
		return nil, nil, nil, err
	}
	if s.Lead.Closing != nil {
		return nil, nil, nil, &operator.Error{Kind: operator.Refused, Op: "spawn", Msg: fmt.Sprintf("team %s is being ended", name)}
	}
	if m.Backend == operator.BackendInProcess {
		return nil, nil, nil, &operator.Error{Kind: operator.Usage, Op: "spawn", Msg: "this command ends, and a member inside it would end with it", Next: operator.NextSpawnProcess.With()}
	}
	if o.Leading == nil { // the ceiling is the operator's to set
		if _, err := decide.Of(o.Operator).Adopt(ctx, s); err != nil {
			return nil, nil, nil, err
		}
	}
	if top := s.Lead.Policy.Ceiling; m.Mode != "" && top.Meet(m.Mode) != m.Mode {
		return nil, nil, nil, &record.CeilingError{Ceiling: top, Over: []string{"mode " + string(m.Mode)}}
	}
	if m.Worktree && m.Prepare == nil {
		if m.Prepare, err = o.Preparation(s); err != nil {
			return nil, nil, nil, err
		}
	}
	if m.Check == nil && m.Checks() && !m.Unchecked {
		if m.Check, err = o.check(s); err != nil {
			return nil, nil, nil, err
		}
	}
	m.FileMember.Prompt = cmp.Or(m.FileMember.Prompt, m.Prompt)
	if err := o.enlist(ctx, s, m.FileMember, attended); err != nil {
		return nil, nil, nil, err
	}
	jm, err := decide.Member(s, string(m.Name))
	if err != nil {
		return nil, nil, nil, err
	}
	sp := &Spawned{Team: string(name), Name: string(jm.Name), Session: string(jm.Instance), Backend: jm.Backend, Worktree: jm.Worktree, Prepare: jm.Prepare}
	if jm.Joined.Queued {
		sp.Queue = max(1, s.Lead.Place(jm))
	}
	if err := o.orderFirst(ctx, s, jm, m, sp); err != nil {
		return nil, nil, nil, errors.Join(err, o.dismiss(ctx, sp))
	}
	return s, jm, sp, nil
}

// orderFirst orders the prompt of a new member.
func (o Operator) orderFirst(ctx context.Context, s *operator.State, jm *control.Member, m NewMember, sp *Spawned) error {
	if m.Prompt == "" {
		return nil
	}
	r, err := board.Of(o.Operator).AddTask(ctx, s.Team, board.NewTask{Subject: cmp.Or(m.Subject, firstLine(m.Prompt)), Description: m.Prompt, Owner: jm.Name, Typed: !m.Quoted})
	if err != nil {
		return err
	}
	if sp.Task = string(r.Task.ID); sp.Queue > 0 {
		return nil // it is there long before the member starts
	}
	return o.awaitOrder(ctx, s, sp.Task)
}

// dismiss ends a member that could not be brought up, and removes its task: it does not stay in the
// team.
func (o Operator) dismiss(ctx context.Context, sp *Spawned) (err error) {
	ctx = context.WithoutCancel(ctx)
	if _, serr := process.Of(o.Operator).Stop(ctx, protocol.TeamName(sp.Team), sp.Name, process.StopOptions{Force: true}); serr != nil {
		err = fmt.Errorf("end it again: %w", serr)
	}
	if sp.Task != "" {
		if terr := board.Of(o.Operator).RemoveTask(ctx, protocol.TeamName(sp.Team), task.ID(sp.Task)); terr != nil {
			err = errors.Join(err, fmt.Errorf("take its task off the board: %w", terr))
		}
	}
	return err
}

// started reads the process of a member that is ready. m may be from before a rebuild of the fold,
// which another writer of the journal can cause.
func (sp *Spawned) started(s *operator.State, m *control.Member) error {
	if now, ok := s.Lead.ByInstance(m.Instance); ok {
		m = now
	}
	w, err := s.Worker(m.Instance)
	if err != nil {
		return err
	}
	if m.Process != nil {
		sp.PID = m.Process.ID.PID
	}
	sp.Ready = w.Ready
	return nil
}

// orderWait is how long a start waits for its order to be in the mailbox.
const orderWait = 2 * time.Second

// awaitOrder waits until the order of a task is in its owner's mailbox, where the process that
// leads puts it. When a lock delays that, the member gets its order while it runs.
func (o Operator) awaitOrder(ctx context.Context, s *operator.State, id string) (err error) {
	process.Of(o.Operator).Await(ctx, orderWait, func() bool {
		if err = s.Journal.Refresh(ctx); err != nil {
			return true
		}
		order, ok := s.Lead.Assignment(id)
		return ok && order.Sent
	})
	return err
}

// firstLine returns a subject for a prompt.
func firstLine(s string) string {
	for i, r := range s {
		if r == '\n' || i >= 80 {
			return s[:i]
		}
	}
	return s
}

// Detach asks the process that leads a team to hand it to one without a terminal, and waits until
// that leads.
func (o Operator) Detach(ctx context.Context, name protocol.TeamName) (*operator.State, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	if err := o.Guard(ctx, s, "detach"); err != nil {
		return nil, err
	}
	led, err := process.Of(o.Operator).IsLed(s)
	if err != nil {
		return nil, err
	}
	l := s.Lead.Led
	switch {
	case !led || l == nil || !l.ID.Alive():
		return nil, &operator.Error{Kind: operator.NotFound, Op: "detach", Msg: fmt.Sprintf("no process leads team %s", name), Next: operator.Next{Step: operator.NextResume, Team: name}}
	case l.Run:
		return nil, &operator.Error{Kind: operator.Refused, Op: "detach", Msg: "that process runs a job to completion and stays with it", Next: operator.NextUp.With()}
	case l.Detached:
		return s, nil
	}
	if name, inside := inside(s); inside {
		return nil, &operator.Error{Kind: operator.Refused, Op: "detach", Msg: fmt.Sprintf("%s lives inside the process that leads, and would end with it", name), Advice: "backend: process gives it a process of its own"}
	}
	return s, o.handOver(ctx, s, func() bool { return s.Lead.Led.ID != l.ID && s.Lead.Led.Detached && s.Lead.Led.ID.Alive() })
}

// LeaveTerminal is Detach for the process that leads, after its terminal is gone: its Keep ends
// with LedDetached as soon as the team is up. A team with members inside of this process cannot be
// handed over.
func (o Operator) LeaveTerminal(ctx context.Context, s *operator.State) error {
	now, err := o.Open(ctx, s.Team, operator.Act) // Keep uses the other State
	if err != nil {
		return err
	}
	if name, inside := inside(now); inside {
		return &operator.Error{Kind: operator.Refused, Op: "detach", Msg: fmt.Sprintf("%s lives inside the process that leads, and would end with it", name), Advice: "backend: process gives it a process of its own"}
	}
	_, err = now.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindDetached, Must: true, Body: record.Detached{}}}, nil
	})
	return err
}

// handOverWait is how long the process that leads may take to hand over.
const handOverWait = readyWait

// handOver asks the leading process to release the lease, and waits for done.
func (o Operator) handOver(ctx context.Context, s *operator.State, done func() bool) error {
	_, err := s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindDetached, Must: true, Body: record.Detached{}}}, nil
	})
	if err != nil {
		return err
	}
	if process.Of(o.Operator).Await(ctx, handOverWait, func() bool { err = s.Journal.Refresh(ctx); return err != nil || done() }) {
		return err
	}
	return &operator.Error{Kind: operator.Timeout, Op: "detach", Msg: "the process that leads has not handed over", Next: operator.Next{Step: operator.NextStatusTeam, Team: s.Team}}
}

// TakeLead lets this process lead: a process in the background that leads is asked to release the
// lease, and leaves the members running. One with a terminal keeps it.
func (o Operator) TakeLead(ctx context.Context, s *operator.State) error {
	if err := o.Guard(ctx, s, "attach"); err != nil {
		return err
	}
	l := s.Lead.Led
	led, err := process.Of(o.Operator).IsLed(s)
	if err != nil || !led {
		return err
	}
	if l == nil || !l.ID.Alive() || !l.Detached {
		return &operator.Error{Kind: operator.Locked, Op: "attach", Msg: fmt.Sprintf("team %s is led in another terminal%s", s.Team, pidOf(l)), Next: operator.Next{Step: operator.NextDetach, Team: s.Team}}
	}
	if name, inside := inside(s); inside {
		return &operator.Error{Kind: operator.Refused, Op: "attach", Msg: fmt.Sprintf("%s lives inside the process that leads, and would end with it", name)}
	}
	if _, err := spawn.Stop(ctx, l.ID, spawn.Grace{Term: handOverWait}); err != nil {
		return fmt.Errorf("the process that leads: %w", err)
	}
	return s.Journal.Refresh(ctx)
}

func pidOf(l *record.LeadingProcess) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", by process %d", l.ID.PID)
}

// inside returns a member that runs inside the process that leads.
func inside(s *operator.State) (protocol.MemberName, bool) {
	for _, m := range s.Lead.Live() {
		if m.Process != nil && m.Process.ID.Inside && m.Process.ID.Alive() {
			return m.Name, true
		}
	}
	return "", false
}

// FileChange is how a team file differs from the accepted one.
type FileChange struct {
	Accepted *teamfile.File
	Now      *teamfile.File // nil: the file is invalid now
	Data     []byte         // the present content; nil: it is too large to be read
	Broken   error          // why the file is invalid; nil: it is valid
}

// FileChange compares the present team file with the accepted one.
func (o Operator) FileChange(s *operator.State) (FileChange, error) {
	f, err := o.Accepted(s)
	if err != nil {
		return FileChange{}, err
	}
	c := FileChange{Accepted: f}
	c.Data, err = teamfile.ReadBounded(f.Path)
	if errors.Is(err, atomicfile.ErrTooLarge) {
		c.Data, c.Broken = nil, teamfile.TooLarge("team file", f.Path)
		return c, nil
	}
	if err != nil {
		return FileChange{}, err
	}
	if c.Now, c.Broken = teamfile.ParseFile(f.Path, c.Data, process.Of(o.Operator).OwnWords()...); c.Broken != nil {
		c.Now = nil
		return c, nil
	}
	if c.Broken = c.Now.Define(f.Definitions.User); c.Broken != nil {
		c.Now = nil
	}
	return c, nil
}
