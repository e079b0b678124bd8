package operator

import (
	"errors"

	"waggle/control"
	"waggle/internal/fs/atomicfile"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/transport"
	"waggle/worker"
)

// Kind is the kind of a failure. A face turns it into what its users see: the command line
// has an exit code for each.
type Kind uint8

// The kinds of failures.
const (
	None       Kind = iota // there is no failure
	Failed                 // a failure of no other kind
	Usage                  // the command line or the input is wrong
	Question               // a person has to decide first
	Timeout                // the time limit has passed
	Died                   // the process of a member, or of a leader, has died
	Refused                // a rule, a person or the present state forbids it
	Incomplete             // required tasks are open
	Locked                 // another process holds the lock or lease
	NotFound               // there is no such team, member, task or request
	UsedUp                 // a budget is used up, and nobody raised it
)

// String returns the kind as logs show it.
func (k Kind) String() string {
	names := [...]string{"none", "failed", "usage", "question", "timeout", "died", "refused", "incomplete", "locked", "not found", "used up"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Error is a failure: its kind, what went wrong, and what to do next.
type Error struct {
	Kind   Kind
	Op     string
	Msg    string
	Next   Next
	Advice string // what to do next in words for people, where Next has no step for it
	Near   []string
	Err    error
}

// Error returns Msg, or the message of the cause.
func (e *Error) Error() string {
	s := e.Msg
	if s == "" && e.Err != nil {
		s = e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, of those below it, and of the
// packages that they call. An error that none of them made is Failed, nil is None.
func KindOf(err error) Kind {
	var e *Error
	var locked *atomicfile.LockedError
	var missing *team.NotFoundError
	var limit *team.LimitError
	var name *protocol.NameError
	var unknown *control.UnknownRequestError
	var refused *control.RefusedError
	var decided *control.DecidedError
	var expired *control.ExpiredError
	var digest *control.DigestError
	var ceiling *record.CeilingError
	var full *mailbox.LimitError
	var scheme *transport.SchemeError
	var nobody *transport.NotFoundError
	var taken *transport.RefusedError
	var other *transport.NotSocketError
	var remote *transport.RemoteError
	switch {
	case err == nil:
		return None
	case errors.As(err, &e):
		return max(e.Kind, Failed)
	case errors.As(err, &limit), errors.As(err, &name):
		return Usage
	case errors.As(err, &locked), errors.Is(err, leader.ErrLeading), errors.Is(err, worker.ErrRunning):
		return Locked
	case errors.As(err, &remote) && (remote.Code == transport.CodeLocked || remote.Code == transport.CodeBusy):
		return Locked
	case errors.As(err, &scheme), errors.As(err, &other):
		return Usage
	case errors.As(err, &missing), errors.As(err, &unknown), errors.As(err, &nobody):
		return NotFound
	case errors.As(err, &refused), errors.As(err, &decided), errors.As(err, &expired), errors.As(err, &digest), errors.As(err, &full), errors.As(err, &ceiling),
		errors.As(err, &taken), errors.Is(err, control.ErrDiverged), errors.Is(err, team.ErrTaken):
		return Refused
	}
	return Failed
}
