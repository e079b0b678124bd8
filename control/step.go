package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"waggle"
	"waggle/journal"
)

// Mint gives a step the time and fresh ids, which it must not make itself.
type Mint struct {
	Now   time.Time
	MsgID string // UUID v4 for the message the step composes
	Nonce string // seven base-36 characters for a request id
}

// nth is a mint for one more message of the same step: its names are made from
// the first's, so that they are as hard to guess and never the same.
func (m Mint) nth(n int) Mint {
	sum := sha256.Sum256([]byte(fmt.Sprintf("waggle/mint/1 %s %s %d", m.MsgID, m.Nonce, n)))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // UUID v4
	h := hex.EncodeToString(sum[:16])
	m.MsgID = h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	nonce := make([]byte, 7)
	for i := range nonce {
		nonce[i] = digits[int(sum[16+i])%len(digits)]
	}
	m.Nonce = string(nonce)
	return m
}

// Incoming is one entry of a mailbox as a machine judges it.
type Incoming struct {
	Entry    string            // mailbox id
	Box      waggle.MemberName // whose mailbox
	Envelope waggle.Envelope
	Decoded  waggle.Decoded
}

// SHA256 is the hash by which the entry is paired with a record.
func (in Incoming) SHA256() string { return HashText(in.Envelope.Text) }

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
	return []journal.Draft{{Kind: RecUnverified, Must: true, Body: Unverified{Entry: in.Entry, Box: string(in.Box),
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

// compose encodes a payload as the exact envelope that a record will hold. Encode refuses what its
// receiver could not decode, because that would never be answered.
func compose(from waggle.MemberName, color string, to waggle.MemberName, p waggle.Payload, m Mint) (*Mail, error) {
	text, err := waggle.Encode(p, waggle.DialectWire)
	if err != nil {
		return nil, fmt.Errorf("compose %s: %w", p.Kind(), err)
	}
	env := waggle.Envelope{From: string(from), Text: text, Timestamp: waggle.FormatTime(m.Now), Color: color,
		MsgV: 1, MsgID: m.MsgID, Type: "message"}
	env, err = env.WithMessageID()
	if err != nil {
		return nil, fmt.Errorf("compose %s: %w", p.Kind(), err)
	}
	raw, err := env.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("compose %s: %w", p.Kind(), err)
	}
	return &Mail{To: to, Kind: p.Kind(), SHA256: HashText(text), Envelope: raw}, nil
}

// composeText is compose for plain words.
func composeText(from waggle.MemberName, color string, to waggle.MemberName, text, summary string, m Mint) (*Mail, error) {
	mail, err := compose(from, color, to, waggle.Text{Text: text}, m)
	if err != nil {
		return nil, err
	}
	env, err := mail.Open()
	if err != nil {
		return nil, err
	}
	env.Summary = summary
	mail.Envelope, err = env.MarshalJSON()
	return mail, err
}

// Open returns the envelope.
func (m *Mail) Open() (waggle.Envelope, error) { return waggle.ParseEnvelope(m.Envelope) }

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
	Want, Have Digest
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
