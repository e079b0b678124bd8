package control

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"waggle/protocol"
	"waggle/record"
)

// Errors of the steps. Callers branch on them; each text says what is so and
// what to do next.
var (
	// ErrShuttingDown: no call starts and none is asked now. The gate waits: a rejected shutdown
	// reopens it.
	ErrShuttingDown = errors.New("the worker is shutting down")
	// ErrUnsaid: words were withdrawn before they were delivered.
	ErrUnsaid = errors.New("the words were taken back")
	// ErrDiverged: a worker's journal proves a decision that the leader's lacks.
	ErrDiverged = errors.New("the journals disagree and nothing is decided until the operator has looked")
)

// DecidedError: the question already has another answer.
type DecidedError struct {
	Request *Request
}

func (e *DecidedError) Error() string {
	d := e.Request.Decided
	return fmt.Sprintf("request %s was already decided: %s by %s at %s", cmp.Or(e.Request.Handle, string(e.Request.ID)), d.Decision, d.By, protocol.FormatTime(e.Request.At))
}

// ExpiredError: the deadline passed, which denied it.
type ExpiredError struct{ Request *Request }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("request %s expired at %s and is denied; the worker may ask again", cmp.Or(e.Request.Handle, string(e.Request.ID)), protocol.FormatTime(*e.Request.Expires))
}

// DigestError: the digest in the answer is not the request's.
type DigestError struct {
	ID         protocol.RequestID
	Want, Have record.Digest
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("request %s has digest %.16s, not %s: look at it again before you decide", e.ID, e.Have, e.Want)
}

// RefusedError: the policy does not allow this principal this decision.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// UnknownRequestError: no such question.
type UnknownRequestError struct {
	ID   protocol.RequestID
	Near []string
}

func (e *UnknownRequestError) Error() string {
	s := fmt.Sprintf("no request %q", string(e.ID))
	if len(e.Near) > 0 {
		s += "; did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return s
}
