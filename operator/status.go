package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"waggle"
	"waggle/control"
	"waggle/internal/atomicfile"
	"waggle/team"
)

// Status is a team at a glance (DESIGN, `status`).
type Status struct {
	Team    string         `json:"team"`
	Notice  string         `json:"notice"` // what is wrong with the team's directory; "" when nothing is
	Leader  LeaderStatus   `json:"leader"`
	Members []MemberStatus `json:"members"`
	Pending int            `json:"pending"`
	Unread  int            `json:"unread"` // chat for the operator
	Alarms  int            `json:"unverified"`
	// Ceiling is the user's, that bounds the team's policy; null: there is none.
	Ceiling *CeilingView `json:"ceiling"`
}

// LeaderStatus says whether somebody leads.
type LeaderStatus struct {
	Led     bool   `json:"led"` // a process holds the leader lease
	By      string `json:"by"`  // waggle, or another program
	Sandbox string `json:"sandbox"`
}

// MemberStatus is one member.
type MemberStatus struct {
	Name    string `json:"name"`
	State   string `json:"state"` // starting, working, waiting-human, idle, stopping, dead, unknown
	Since   string `json:"since"`
	Why     string `json:"why"`
	PID     int    `json:"pid"`
	Backend string `json:"backend"`
	Trust   string `json:"trust"`
	Task    string `json:"task"`
	Pending int    `json:"pending"`
	Policy  uint64 `json:"policy_version"`
	Socket  string `json:"socket"` // where its process takes messages; "" when it does not
	// Worktree is the member's own checkout; null: it has none.
	Worktree *WorktreeView `json:"worktree"`
}

// Status tells how every member of a team is, with the evidence.
func (o Operator) Status(ctx context.Context, name waggle.TeamName) (*Status, error) {
	reg, missing := team.Open(o.Root, name, atomicfile.Options{})
	st := &Status{Team: string(name), Members: []MemberStatus{}}
	s, err := o.State(ctx, name)
	if err == nil && s == nil {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	if in, err := o.Inbox(ctx, name, waggle.Lead, true); err == nil {
		for _, e := range in.Entries {
			if !controls(e) {
				st.Unread++
			}
		}
	}
	if s == nil {
		return st, o.foreign(ctx, reg, st)
	}
	if _, err := o.pass(ctx, s); err != nil {
		return nil, err
	}
	st.Notice, st.Ceiling = notice(s.Lead.Noticed), ceilingView(s.Lead.Policy)
	_, led, err := o.Live(s)
	if err != nil {
		return nil, err
	}
	st.Leader = LeaderStatus{Led: led, By: "waggle", Sandbox: "off"}
	st.Pending, st.Alarms = len(s.Lead.Pending()), len(s.Lead.Unverified)
	served, err := s.Dir.Sockets(o.runDir()).Served()
	if err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Members {
		if now, ok := s.Lead.Member(m.Name); !ok || now != m {
			continue // an earlier membership of that name
		}
		if m.Left != nil {
			if m.Left.How == control.LeftDied {
				st.Members = append(st.Members, MemberStatus{Name: string(m.Name), State: "dead", Since: waggle.FormatTime(m.LeftAt),
					Backend: m.Backend, Trust: string(m.Trust), Why: "it ended without a handshake" + suffix(m.Left.Detail)})
			}
			continue
		}
		w, err := s.Worker(m.Instance)
		if err != nil {
			st.Members = append(st.Members, MemberStatus{Name: string(m.Name), State: "unknown", Why: err.Error()})
			continue
		}
		ms := memberStatus(m, w)
		if ms.State != "dead" && slices.Contains(served, ms.Name) {
			ms.Socket = "uds:" + s.Dir.Sockets(o.runDir()).Path(ms.Name)
		}
		st.Members = append(st.Members, ms)
	}
	return st, nil
}

// notice is what a person should know of a team's directory.
func notice(n *control.Noticed) string {
	if !n.Missing() {
		return ""
	}
	s := "its directory " + n.Path + " is gone: nothing can be sent or received"
	if n.Moved != "" {
		s += "; it was renamed to " + n.Moved
	}
	return s
}

// foreign fills in what is known of a team that waggle does not lead.
func (o Operator) foreign(ctx context.Context, reg *team.Team, st *Status) error {
	st.Leader = LeaderStatus{By: "another program", Sandbox: "unknown"}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return err
	}
	for _, m := range cfg.Members {
		ms := MemberStatus{Name: string(m.Name), State: "unknown", Backend: m.BackendType, Trust: string(control.FileTrust), Why: "only files vouch for it"}
		if m.IsActive != nil && !*m.IsActive {
			ms.State, ms.Why = "idle", "isActive is false in config.json"
		}
		if !m.Gone() {
			st.Members = append(st.Members, ms)
		}
	}
	return nil
}

func memberStatus(m *control.Member, w *control.Worker) MemberStatus {
	ms := MemberStatus{Name: string(m.Name), Since: waggle.FormatTime(m.Since), Backend: m.Backend, Trust: string(m.Trust), Policy: w.PolicyVersion, Worktree: worktreeView(m.Worktree)}
	if t := w.Turn(); t != nil {
		ms.Task = t.Task
	}
	for _, c := range w.Calls {
		if c.Open() {
			ms.Pending++
		}
	}
	if m.Process == nil {
		ms.State, ms.Why = "starting", "its process has not written to the journal yet"
		return ms
	}
	ms.PID = m.Process.ID.PID
	if !m.Process.ID.Alive() {
		ms.State, ms.Why = "dead", fmt.Sprintf("process %d is gone", ms.PID)
		return ms
	}
	ms.State, ms.Why = describeState(w)
	return ms
}

func describeState(w *control.Worker) (state, why string) {
	switch w.State() {
	case control.BlockedPermission, control.BlockedSandbox:
		return "waiting-human", "waits for an answer to " + string(w.Blocking()[0].ID)
	case control.PlanProposed:
		if b := w.Blocking(); len(b) > 0 {
			return "waiting-human", "waits for a verdict on plan " + string(b[0].ID)
		}
		return "working", "is planning"
	case control.Executing:
		for i := len(w.Calls) - 1; i >= 0; i-- {
			if c := w.Calls[i]; c.Started && c.Finished == nil {
				return "working", "runs " + c.Ask.Tool
			}
		}
		return "working", "has a turn"
	case control.ShuttingDown:
		return "stopping", "was asked to end"
	case control.Terminated:
		return "stopping", "approved its shutdown"
	case control.Booting:
		return "starting", "opens its journal"
	}
	if todo := w.Waiting(); len(todo) > 0 {
		return "idle", "has task " + todo[0].ID + " to do, which waits for another"
	}
	return "idle", "waits for work"
}

// Down ends a team's members by handshake within the grace, then by signal. It
// refuses a team that a process leads: that process ends it.
func (o Operator) Down(ctx context.Context, name waggle.TeamName, grace time.Duration, tell func(Note)) error {
	s, err := o.led(ctx, name)
	if err != nil {
		return err
	}
	if err := o.guard(ctx, s, "down"); err != nil {
		return err
	}
	if err := o.endAll(ctx, s, grace, tell); err != nil {
		return err
	}
	_, err = o.archive(ctx, s, endedDown)
	return err
}

// endAll ends a team's processes: by handshake within the grace, then by signal.
func (o Operator) endAll(ctx context.Context, s *State, grace time.Duration, tell func(Note)) error {
	l, err := o.Lead(ctx, s)
	if err != nil {
		return fmt.Errorf("team %s: %w: end that run instead (Ctrl-C, or its --timeout)", s.Team, err)
	}
	r := &run{o: o, s: s, l: l, ro: RunOptions{Note: tell}, told: map[string]bool{}}
	r.mute()
	if grace == 0 {
		grace = 10 * time.Second
	}
	err = o.EndMembers(ctx, l, s, "the operator ends the team", grace, r.tell)
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	return errors.Join(err, r.settle(ctx))
}

// mute marks what is on record already as told.
func (r *run) mute() {
	note := r.ro.Note
	r.ro.Note = nil
	r.tell()
	r.ro.Note = note
}
