package session

import (
	"time"

	"waggle/internal/claude/claudesessions"
)

// sureAfter is how long a dialog must be closed to count as answered: between two dialogs a session
// is busy for a moment.
const sureAfter = 500 * time.Millisecond

// dialog is the state of one request's dialog in the client's own registry. A call that was allowed
// there may run for hours before PostToolUse reports it, and for one that was denied there some
// clients run no hook at all.
type dialog struct {
	dir, file string
	of        Request
	waited    bool      // the registry said, while the hook ran, that the session waits for its person
	left      time.Time // when the session was first seen to wait no more
}

// dialog begins to watch the dialog of a request. A teammate has none as long as its
// hook runs.
func (h Hook) dialog(r Request) *dialog {
	d := &dialog{of: r}
	if h.Registry != "" && r.Why == "" && r.Agent == "" {
		d.dir, d.file = h.Registry, claudesessions.File(h.Registry, r.Session.PID)
	}
	return d
}

// gone reports whether the session waited after it asked and waits no more, or is idle. The
// registry may say that it waits a moment before its hook asks; an entry that cannot be read proves
// nothing.
func (d *dialog) gone() bool {
	if d.file == "" {
		return false
	}
	e, err := claudesessions.Read(d.dir, d.of.Session.PID)
	if err != nil || e.SessionID != string(d.of.Instance) || e.Kind != "interactive" { // others have hosts that answer
		return false
	}
	d.waited = d.waited || e.Status == "waiting"
	after := e.StatusAt.After(d.of.At)
	if !after || e.Status != "idle" && (e.Status != "busy" || !d.waited) {
		d.left = time.Time{}
		return false
	}
	if d.left.IsZero() {
		d.left = e.StatusAt
	}
	return true
}
