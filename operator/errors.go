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

// Kind is the kind of a failure. A face turns it into what its users see. Its number is the exit code of the command line.
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
	if e, ok := errors.AsType[*Error](err); ok {
		return max(e.Kind, Failed)
	}
	remote, _ := errors.AsType[*transport.RemoteError](err)
	switch {
	case err == nil:
		return None
	case is[*team.LimitError](err), is[*protocol.NameError](err):
		return Usage
	case is[*atomicfile.LockedError](err), errors.Is(err, leader.ErrLeading), errors.Is(err, worker.ErrRunning):
		return Locked
	case remote != nil && (remote.Code == transport.CodeLocked || remote.Code == transport.CodeBusy):
		return Locked
	case is[*transport.SchemeError](err), is[*transport.NotSocketError](err):
		return Usage
	case is[*team.NotFoundError](err), is[*control.UnknownRequestError](err), is[*transport.NotFoundError](err):
		return NotFound
	case is[*control.RefusedError](err), is[*control.DecidedError](err), is[*control.ExpiredError](err), is[*control.DigestError](err), is[*mailbox.LimitError](err),
		is[*record.CeilingError](err), is[*transport.RefusedError](err), errors.Is(err, control.ErrDiverged), errors.Is(err, team.ErrTaken):
		return Refused
	}
	return Failed
}

// is reports an error of a type.
func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
