package control

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"waggle"
	"waggle/journal"
	"waggle/record"
)

// Incoming is one entry of a mailbox as a machine judges it.
type Incoming struct {
	Entry    string            // mailbox id
	Box      waggle.MemberName // whose mailbox
	Envelope waggle.Envelope
	Decoded  waggle.Decoded
}

// SHA256 is the hash by which the entry is paired with a record.
func (in Incoming) SHA256() string { return record.HashText(in.Envelope.Text) }

// IsControl reports whether an entry claims to be more than words: a known kind,
// or something that tries to be one. Unknown types are words.
func (in Incoming) IsControl() bool {
	switch in.Decoded.Kind {
	case waggle.KindText, waggle.KindUnknown, waggle.KindSystemInit:
		return false
	case waggle.KindInvalid:
		return in.Decoded.Type != ""
	}
	return true
}

// deny is the audit record of an entry that has no effect.
func (in Incoming) deny(why string) []journal.Draft {
	d := in.Decoded
	var id waggle.RequestID
	if d.Payload != nil {
		id, _ = waggle.RequestIDOf(d.Payload)
	}
	kind := d.Kind
	if kind == waggle.KindInvalid {
		kind = waggle.Kind(d.Type)
	}
	return []journal.Draft{{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: in.Entry, Box: string(in.Box),
		From: clip(in.Envelope.From), Kind: waggle.Kind(clip(string(kind))), ID: waggle.RequestID(clip(string(id))),
		Text: in.SHA256(), Why: clip(why)}}}
}

// clip shortens a text of another process so that it fits into a line of the journal.
func clip(s string) string {
	const most = 512
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// first is the first of a decoder's warnings.
func first(warnings []string) string {
	if len(warnings) == 0 {
		return "malformed"
	}
	return warnings[0]
}

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
	return fmt.Sprintf("request %s was already decided: %s by %s at %s", e.Request.ID, d.Decision, d.By, waggle.FormatTime(e.Request.At))
}

// ExpiredError: the deadline passed, which denied it.
type ExpiredError struct{ Request *Request }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("request %s expired at %s and is denied; the worker may ask again", e.Request.ID, waggle.FormatTime(*e.Request.Expires))
}

// DigestError: the digest in the answer is not the request's.
type DigestError struct {
	ID         waggle.RequestID
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
	ID   waggle.RequestID
	Near []string
}

func (e *UnknownRequestError) Error() string {
	s := fmt.Sprintf("no request %q", string(e.ID))
	if len(e.Near) > 0 {
		s += "; did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return s
}
