package session

import (
	"context"

	"waggle/journal"
	"waggle/spawn"
)

// Liveness asks the system about processes.
type Liveness struct {
	// Check reports whether exactly this process runs; with an error it is unknown, and nothing
	// follows from it.
	Check func(spawn.Identity) (bool, error)
	// Ancestors are the processes above one.
	Ancestors func(pid int) ([]spawn.Identity, error)
}

// Looking is the Liveness of this machine, with another way to find a process's ancestors; nil: the
// machine's.
func Looking(ancestors func(pid int) ([]spawn.Identity, error)) Liveness {
	l := Liveness{Check: spawn.Identity.Check, Ancestors: spawn.Ancestors}
	if ancestors != nil {
		l.Ancestors = ancestors
	}
	return l
}

// dead reports whether a process has certainly ended.
func (l Liveness) dead(id spawn.Identity) bool {
	alive, err := l.Check(id)
	return !alive && err == nil
}

// gone returns why an open request of this session can be answered no more, "" when it can.
func (s *Session) gone(l Liveness, r *Request) string {
	switch {
	case l.dead(r.Hook) && r.Client.serial(): // its client shows its own dialog only where it still asks
		return goneTerminal
	case l.dead(r.Hook):
		return "its hook has ended: answer it in the session's own dialog"
	case r.Why == "" && l.dead(r.Session):
		return "its session has ended"
	case r.Client.serial() && s.terminalGone(l):
		return goneTerminal
	}
	return ""
}

// Live lists the requests of a session that take an answer now, or would if they were verified,
// oldest first. It appends nothing.
func (s *Session) Live(l Liveness) []Request {
	var open []Request
	for _, r := range s.Requests() {
		if r.State == StateOpen && s.gone(l, &r) == "" {
			open = append(open, r)
		}
	}
	return open
}

// Tidy closes the requests whose hook process or session has ended.
func (s *Session) Tidy(ctx context.Context, w journal.Writer, l Liveness) error {
	return s.append(ctx, w, func(f *Fold) ([]journal.Draft, error) {
		var ds []journal.Draft
		for _, r := range f.Requests {
			if r.State == StateClosed || r.State == StateAnswered {
				continue
			}
			if why := s.gone(l, r); why != "" {
				ds = append(ds, closing(r, why, false))
			}
		}
		return ds, nil
	})
}

func closing(r *Request, evidence string, inDialog bool) journal.Draft {
	return journal.Draft{Kind: recClosed, Must: true, Body: Closed{Key: r.Key, Evidence: evidence, InDialog: inDialog}}
}
