package decide

import (
	"context"
	"errors"

	"waggle/internal/claude/session"
	"waggle/journal"
	"waggle/operator"
)

// Values of SessionHalt.How.
const (
	SessionStops = "stops" // what it asked is denied, and its calls are refused
	SessionIdle  = "idle"  // no turn of it runs
	SessionRuns  = "runs"  // it goes on
)

// SessionHalt is what became of the work of a session that waggle does not run.
type SessionHalt struct {
	Session string   `json:"session"`
	Name    string   `json:"name"`
	Client  string   `json:"client"`
	PID     int      `json:"pid"`
	How     string   `json:"how"`   // stops: what it asks is denied, and its calls are refused; idle; runs: it goes on
	Asked   []string `json:"asked"` // handles of what it asked
	Why     string   `json:"why"`   // of SessionRuns: why it goes on
}

// HaltSessions stops the turns of the user's own sessions, as far as their hooks can: what a session asks is denied,
// and its calls are refused, until its person types there. With act false it only says which
// sessions work.
func (o Operator) HaltSessions(ctx context.Context, reason string, act bool) ([]SessionHalt, error) {
	if act {
		if err := o.Guard(ctx, nil, "stop"); err != nil {
			return nil, err
		}
	}
	live := session.Looking(o.Ancestors)
	store := o.sessionStore()
	v := o.running()
	halts, errs := []SessionHalt{}, v.Problems
	at := map[session.ID]int{}
	for _, r := range v.Rows {
		if len(r.Open) == 0 && o.ofOwn(r.PID) {
			continue // a member's client: its team is stopped
		}
		i, known := at[r.ID]
		if !known {
			i, at[r.ID] = len(halts), len(halts)
			halts = append(halts, SessionHalt{Session: string(r.ID), Name: r.Name, Client: string(r.Client), PID: r.PID, How: SessionIdle, Asked: []string{}})
		}
		h := &halts[i]
		for _, q := range r.Open {
			h.Asked = append(h.Asked, q.Handle)
		}
		switch {
		case r.State == session.RowIdle:
		case !r.Hooked || !r.Client.Answers():
			h.How, h.Why = SessionRuns, "no hook of waggle's can stop it"
		case !act:
			h.How, h.Why = SessionRuns, "it is yours, and --sessions was not said"
		default:
			h.How = SessionStops
		}
	}
	for i := range halts {
		if h := &halts[i]; h.How == SessionStops {
			if err := o.haltSession(ctx, store, session.ID(h.Session), reason, live); err != nil {
				h.How, h.Why = SessionRuns, err.Error()
			}
		}
	}
	return halts, errors.Join(errs...)
}

// haltSession marks a session as stopped, and then denies what it asks: nothing that it asks later waits.
func (o Operator) haltSession(ctx context.Context, store session.Store, id session.ID, reason string, live session.Liveness) error {
	if err := store.Halt(id, reason); err != nil {
		return err
	}
	s, err := store.Open(id)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range s.Live(live) {
		if r.Why != "" {
			continue // nobody can answer it: its own dialog asks
		}
		_, err := s.Decide(ctx, journal.Writer{Operator: true, PID: o.PID}, Answer{Via: "stop",
			Reason: "your user has stopped all work" + operator.Suffix(reason)}.to(r.Key, r.Digest), live)
		if refused := (*session.RefusedError)(nil); !errors.As(err, &refused) { // it was answered meanwhile
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
