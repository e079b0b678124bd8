package session

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/claude/claudesessions"
	"waggle/journal"
	"waggle/spawn"
)

// States of a row.
const (
	RowIdle         = "idle"
	RowBusy         = "busy"
	RowWaitingHuman = "waiting-human"
	RowUnknown      = "unknown"
)

// Row is one session, or one teammate within a session, as it is now.
type Row struct {
	ID      ID
	Client  Client
	Name    string
	Under   string // the session that a teammate runs in
	PID     int    // of the session; 0 when no process is known that runs it alone
	State   string
	Why     string
	Since   time.Time // of a question, of the registered state, or of the last event that a hook saw; zero: not known
	Pane    string
	Cwd     string
	Version string
	Kind    string
	Socket  string // "": the session takes no words
	Hooked  bool   // a hook of ours has spoken for it
	Open    []Request
	Left    []Request // what its client asks in its own dialog, as far as is known
	// AtLead is what a teammate in another pane asks: it is answered in the lead's dialog.
	AtLead string
	// AtDialog: it waits for its person at a dialog of its own, for which no hook has a request.
	AtDialog bool

	registered bool      // the client's own registry says what it does
	shared     bool      // its process runs other sessions, too
	key        string    // the file with the token of Socket; "": there is none
	statusAt   time.Time // since when the registered status is what it is; zero: not known
}

// View is every session of this user at one moment.
type View struct {
	Rows     []Row
	Problems []error
}

// registered reads the client's registry of sessions; "" has none.
func registered(configDir string) ([]claudesessions.Entry, []error) {
	if configDir == "" {
		return nil, nil
	}
	return claudesessions.List(filepath.Join(configDir, "sessions"))
}

// List lists the running sessions: those that the client registered, and those whose process a hook
// recorded. A session's teammates follow it. It appends nothing.
func (s Store) List(configDir string, live Liveness) View {
	entries, problems := registered(configDir)
	stored, more := s.All()
	v := View{Problems: append(problems, more...)}
	byID := map[ID]*Session{}
	for _, one := range stored {
		byID[one.ID] = one
	}
	seen := map[ID]bool{}
	for _, e := range entries {
		id, err := ParseID(e.SessionID)
		if err != nil || seen[id] {
			continue
		}
		seen[id] = true
		r := Row{ID: id, Client: Claude, Name: nameOf(e.Name, e.Cwd, e.PID), PID: e.PID, State: stateOf(e.Status), Cwd: e.Cwd, Version: e.Version,
			Kind: e.Kind, Socket: e.MessagingSocketPath, registered: true, key: e.KeyPath, statusAt: e.StatusAt, Since: e.StatusAt}
		v.add(r, byID[id], live, s.Now())
	}
	stored = slices.DeleteFunc(stored, func(one *Session) bool { return seen[one.ID] || !one.runs(live) })
	of := map[spawn.Identity]int{} // how many sessions have a process
	for _, one := range stored {
		of[one.Process().Process]++
	}
	for _, one := range stored {
		p := one.Process()
		r := Row{ID: one.ID, Client: p.Client, Name: nameOf("", p.Cwd, p.Process.PID), PID: p.Process.PID, State: RowUnknown, Cwd: p.Cwd}
		if p.Shared || p.Client == Codex && of[p.Process] > 1 { // which of them has the process's pane is not known
			r.PID, r.shared = 0, true
		}
		v.add(r, one, live, s.Now())
	}
	return v
}

// add adds a session's row and those of its teammates.
func (v *View) add(r Row, s *Session, live Liveness, now time.Time) {
	if s == nil {
		v.Rows = append(v.Rows, r.atDialog())
		return
	}
	was := r // as it is registered
	seen := s.LastSeen()
	s.View(func(f *Fold) {
		if f.Process != nil && !r.shared {
			r.Pane = f.Process.Pane
		}
		r.Hooked = len(seen) > 0 || f.Process != nil || len(f.Requests) > 0 // a journal may contain only words to the session
	})
	mates := map[string]*Row{}
	of := func(agent, name string) *Row {
		if agent == "" {
			return &r
		}
		if mates[agent] == nil {
			mates[agent] = &Row{ID: r.ID, Client: r.Client, Name: cmp.Or(name, agent), Under: r.Name, PID: r.PID, State: RowUnknown, Cwd: r.Cwd, Pane: r.Pane, Hooked: true}
		}
		return mates[agent]
	}
	for _, q := range s.Live(live) {
		to := of(q.Agent, q.AgentName)
		if len(to.Open) == 0 {
			to.State, to.Since = RowWaitingHuman, q.At
		}
		to.Open = append(to.Open, q)
	}
	for _, q := range s.Requests() {
		if !q.Left() || was.answered(q.EndAt, now) {
			continue
		}
		to := of(q.Agent, q.AgentName)
		if len(to.Open) == 0 && len(to.Left) == 0 {
			to.State, to.Since, to.Why = RowWaitingHuman, q.At, "it asks for "+q.Ask.Tool
		}
		to.Left = append(to.Left, q)
	}
	var turn time.Time // when the last event of the session itself was seen: its turn began
	for _, e := range seen {
		if e.Agent == "" && e.Name != "" {
			continue // a teammate whose id is not known
		}
		of(e.Agent, e.Name).event(e)
		if e.Agent == "" {
			turn = e.At
		}
	}
	if r.State == RowBusy && r.Why == "" {
		if does, since := s.running(turn); does != "" {
			r.Why, r.Since = does, since
		}
	}
	v.Rows = append(v.Rows, r.atDialog())
	for _, a := range slices.Sorted(maps.Keys(mates)) {
		v.Rows = append(v.Rows, mates[a].atDialog())
	}
}

// atDialog is the row with AtDialog, and with where to answer as its reason. A session that is not
// interactive has a host that answers, and a dialog for a teammate in another pane is that teammate's.
func (r Row) atDialog() Row {
	if r.State != RowWaitingHuman || len(r.Open) > 0 || r.AtLead != "" || r.registered && r.Kind != "interactive" {
		return r
	}
	r.AtDialog = true
	if r.Why == "" {
		r.Why = "a dialog without a hook"
	}
	r.Why += "; " + r.Where()
	return r
}

// Where says where a dialog of a row is answered.
func (r Row) Where() string {
	where := "answer in its own terminal"
	if r.Pane != "" {
		where += " (" + r.Pane + ")"
	}
	return where
}

// registers is how long a client may take to register that its session waits: Claude Code takes 40 ms.
const registers = time.Second

// answered reports whether the client's registry says that the session does not wait at a dialog that was left to
// it at a time.
func (r Row) answered(left, now time.Time) bool {
	return r.registered && (r.State == RowIdle || r.State == RowBusy) && (r.statusAt.After(left) || now.Sub(left) > registers)
}

// event applies the last event that a hook saw to a row without an open request. The newer of a
// notification and the registered state counts: a dialog that is answered in its terminal runs no hook.
func (r *Row) event(e Seen) {
	if len(r.Open) > 0 || len(r.Left) > 0 {
		return
	}
	if r.Since.IsZero() {
		r.Since = e.At
	}
	stands := r.registered && r.State != RowUnknown && !r.statusAt.IsZero()
	switch {
	case e.Event == "Notification" && stands && r.State != RowWaitingHuman && r.statusAt.After(e.At):
	case e.Event == "Notification" && e.Note == "worker_permission_prompt":
		r.AtLead = e.Message
	case e.Event == "Notification" && e.Note == "permission_prompt" && (stands || r.State != RowIdle), e.Event == "Notification" && e.Note == "ToolPermission":
		if r.State != RowWaitingHuman {
			r.State, r.Since = RowWaitingHuman, e.At
		}
		r.Why = e.Message
	case e.Event == "Notification":
		r.Why = e.Message
	case !r.registered && (e.Event == "Stop" || e.Event == "SubagentStop" || e.Event == "TeammateIdle"):
		r.State = RowIdle
	case !r.registered:
		r.State = RowBusy
	}
}

// stateOf is a row's state from the status that the client registers.
func stateOf(status string) string {
	return cmp.Or(map[string]string{"idle": RowIdle, "busy": RowBusy, "waiting": RowWaitingHuman}[status], RowUnknown)
}

// nameOf is a session's name: its own, else its directory's, else its process's.
func nameOf(name, cwd string, pid int) string {
	switch {
	case name != "":
		return name
	case cwd != "" && cwd != "/":
		return filepath.Base(cwd)
	}
	return strconv.Itoa(pid)
}

// RegisteredIn lists the session processes that a client's registry names with their start times, which alone proves that
// a process is the one that the client has registered.
func RegisteredIn(configDir string) []Registered {
	return registeredIn(configDir, claudesessions.Entry.Verified)
}

func registeredIn(configDir string, counts func(claudesessions.Entry) (bool, error)) []Registered {
	entries, _ := registered(configDir) // without a readable registry there are no names
	var out []Registered
	for _, e := range entries {
		id, err := ParseID(e.SessionID)
		if ok, verr := counts(e); err != nil || verr != nil || !ok {
			continue
		}
		p, err := spawn.Identify(e.PID)
		if err != nil {
			continue
		}
		out = append(out, Registered{id, p})
	}
	return out
}

// TidyAll closes the requests that nobody can answer any more, in every session. It is for commands
// that act.
func (s Store) TidyAll(ctx context.Context, w journal.Writer, live Liveness) error {
	all, problems := s.All()
	for _, one := range all {
		if one.any(func(r *Request) bool {
			return (r.State == StateOpen || r.State == StateDecided) && one.gone(live, r) != ""
		}) {
			problems = append(problems, one.Tidy(ctx, w, live))
		}
	}
	return errors.Join(problems...)
}

// Over lists the sessions that have ended, with all their hooks, and have no write since a time.
// The error names those that cannot be read; they are not over.
func (s Store) Over(before time.Time, live Liveness) ([]ID, error) {
	all, problems := s.All()
	var ids []ID
	for _, one := range all {
		switch over, err := one.over(before, live); {
		case err != nil:
			problems = append(problems, err)
		case over:
			ids = append(ids, one.ID)
		}
	}
	return ids, errors.Join(problems...)
}

// IsOver is Over of one session, as it is now.
func (s Store) IsOver(id ID, before time.Time, live Liveness) bool {
	one, err := s.Open(id)
	if err != nil {
		return false
	}
	over, err := one.over(before, live)
	return over && err == nil
}

// Remove deletes all that is kept of a session.
func (s Store) Remove(id ID) error {
	if _, err := ParseID(string(id)); err != nil {
		return err
	}
	return os.RemoveAll(s.Path(id))
}

func (s *Session) over(before time.Time, live Liveness) (bool, error) {
	if s.runs(live) || len(s.Live(live)) > 0 {
		return false, nil
	}
	last := time.Time{}
	err := filepath.WalkDir(s.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && fi.ModTime().After(last) {
			last = fi.ModTime()
		}
		return err
	})
	return last.Before(before), err
}

// Find finds requests by handle, id, or an unambiguous beginning of an id, in every
// session. Handles go first, then whole ids.
func (s Store) Find(what string) (found []Found, err error) {
	all, problems := s.All()
	var handles, exact, begun []Found
	for _, one := range all {
		for _, r := range one.Requests() {
			switch {
			case strings.EqualFold(r.Handle, strings.TrimSpace(what)):
				handles = append(handles, Found{one, r})
			case string(r.ID) == what:
				exact = append(exact, Found{one, r})
			case len(what) > 3 && strings.HasPrefix(string(r.ID), what):
				begun = append(begun, Found{one, r})
			}
		}
	}
	for _, f := range [][]Found{handles, exact, begun} {
		if len(f) > 0 {
			return f, nil
		}
	}
	return nil, errors.Join(problems...)
}

// Found is a request and the session that it belongs to.
type Found struct {
	Session *Session
	Request Request
}
