package transport

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/mailbox"
	"waggle/protocol"
)

// Host receives the messages of an endpoint: the runtime of a member or of a leader, or a command.
// Its methods are called from several goroutines.
type Host interface {
	// Take puts a message into the mailbox of its address and wakes its reader. The peer's identity
	// does not prove who the message is from.
	Take(ctx context.Context, from Peer, to protocol.Address, env protocol.Envelope) (Receipt, error)
	// Refused gets each connection or message that was refused, for the record.
	Refused(ctx context.Context, r Refusal)
}

// Pinged is implemented by a Host whose pings are answered by more than its socket. An error is the answer.
type Pinged interface {
	Pinged(ctx context.Context) error
}

// Peer is the process at the other end of a connection.
type Peer struct {
	Channel string // uds or http
	UID     int    // of its process; -1 when unknown
	PID     int    // 0 when unknown
	Remote  string // http: its address
}

func (p Peer) String() string {
	switch {
	case p.Remote != "":
		return p.Remote
	case p.PID > 0:
		return fmt.Sprintf("pid %d of uid %d", p.PID, p.UID)
	}
	return fmt.Sprintf("uid %d", p.UID)
}

// Refusal is an attempt to use an endpoint without the right to.
type Refusal struct {
	Peer Peer
	Team protocol.TeamName // whose endpoint it is, or which the URL named; "" when that was none
	At   string            // the socket's path or the URL's
	Why  string
	More int // refusals before this one that went unrecorded because there were too many
}

func (r Refusal) String() string {
	s := fmt.Sprintf("%s at %s: %s", r.Peer, r.At, r.Why)
	if r.More > 0 {
		s += fmt.Sprintf(" (and %d more before it)", r.More)
	}
	return s
}

// RemoteError is an answer of the other side after which the same may be tried
// again: CodeLocked, CodeBusy or CodeFailed.
type RemoteError struct {
	To      protocol.Address
	Code    Code
	Message string
}

func (e *RemoteError) Error() string { return fmt.Sprintf("%s: %s", e.To, e.Message) }

// answer makes an error of what the other side said.
func answer(to protocol.Address, code Code, message string) error {
	switch code {
	case CodeNotFound:
		return &NotFoundError{To: to, Why: message}
	case CodeLocked, CodeBusy, CodeFailed:
		return &RemoteError{To: to, Code: code, Message: message}
	}
	return &RefusedError{To: to, Why: message}
}

// codeOf returns the code for an error of Take.
func codeOf(err error) Code {
	var remote *RemoteError
	var call *CallError
	switch {
	case errors.As(err, &call):
		return call.Code
	case errors.As(err, new(*atomicfile.LockedError)):
		return CodeLocked
	case errors.As(err, new(*NotFoundError)), errors.Is(err, fs.ErrNotExist):
		return CodeNotFound
	case errors.As(err, new(*RefusedError)), errors.As(err, new(*mailbox.LimitError)):
		return CodeRefused
	case errors.Is(err, mailbox.ErrTooLarge):
		return CodeTooLarge
	case errors.As(err, &remote):
		return remote.Code
	}
	return CodeFailed
}

// maxFrom is the longest sender's name that is taken, in bytes.
const maxFrom = 256

// arrival is a message as it came in.
type arrival struct {
	env protocol.Envelope
	sum [sha256.Size]byte // of its bytes
}

// parseMessage decodes an envelope that an endpoint received. One without a time gets now.
func parseMessage(raw []byte, now time.Time) (arrival, error) {
	a := arrival{sum: sha256.Sum256(raw)}
	o, err := jsonobj.Parse(raw)
	if err != nil {
		return a, &CallError{CodeInvalid, "envelope: " + err.Error()}
	}
	if _, ok := o.Get("timestamp"); !ok {
		o.Set("timestamp", jsonobj.AppendString(nil, protocol.FormatTime(now)))
	}
	a.env, err = protocol.ParseEnvelope(o.Append(nil, 0))
	a.env.Read = false
	return a, a.check(err)
}

// check says what is wrong with a message; err is what parsing it said.
func (a arrival) check(err error) error {
	env := a.env
	switch {
	case err != nil:
		return &CallError{CodeInvalid, "envelope: " + err.Error()}
	case len(env.Text) > protocol.MaxText: // before what it says
		return &CallError{CodeTooLarge, fmt.Sprintf("the text has %d bytes, at most %d are allowed", len(env.Text), protocol.MaxText)}
	case env.From == "" || len(env.From) > maxFrom:
		return &CallError{CodeInvalid, fmt.Sprintf("envelope: from must have 1 to %d bytes", maxFrom)}
	case env.Text == "":
		return &CallError{CodeInvalid, "envelope: there is no text"}
	case env.MsgID == "" || len(env.MsgID) > maxFrom:
		return &CallError{CodeInvalid, fmt.Sprintf("envelope: msg_id must have 1 to %d bytes: it is what makes trying again safe", maxFrom)}
	}
	return nil
}

// sameToken compares in a time that does not depend on where they differ.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return a != "" && subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// once makes trying again safe: a message whose msg_id was taken here before gets
// the receipt of then. It remembers the last maxRemembered.
type once struct {
	mu    sync.Mutex
	known map[string]*taking
	order []string
}

type taking struct {
	sum     [sha256.Size]byte
	done    chan struct{}
	receipt Receipt
	err     error
}

const maxRemembered = 1024

// take gives the host a message that was not taken before, and returns the earlier receipt for one
// that was. The same msg_id on another message is refused.
func (o *once) take(ctx context.Context, h Host, from Peer, to protocol.Address, a arrival) (Receipt, error) {
	id := to.String() + " " + a.env.MsgID
	o.mu.Lock()
	if o.known == nil {
		o.known = map[string]*taking{}
	}
	t := o.known[id]
	mine := t == nil
	if mine {
		t = &taking{sum: a.sum, done: make(chan struct{})}
		o.known[id] = t
		o.order = append(o.order, id)
		if len(o.order) > maxRemembered {
			delete(o.known, o.order[0])
			o.order = o.order[1:]
		}
	}
	o.mu.Unlock()
	if !mine {
		if t.sum != a.sum {
			return Receipt{}, &RefusedError{To: to, Why: "its msg_id was used for another message"}
		}
		select {
		case <-t.done:
			return t.receipt, t.err
		case <-ctx.Done():
			return Receipt{}, ctx.Err()
		}
	}
	t.receipt, t.err = h.Take(ctx, from, to, a.env)
	if t.err != nil {
		o.forget(id, t)
	}
	close(t.done)
	return t.receipt, t.err
}

func (o *once) forget(id string, t *taking) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known[id] == t {
		delete(o.known, id)
	}
}

// recorder records refusals, a limited number a minute, so that repeated connections cannot fill a
// journal.
type recorder struct {
	host Host
	now  func() time.Time

	mu    sync.Mutex
	since time.Time
	n     int
	more  int
}

const maxRefusals = 60 // a minute

func (r *recorder) refused(ctx context.Context, f Refusal) {
	r.mu.Lock()
	now := r.now()
	if now.Sub(r.since) >= time.Minute {
		r.since, r.n = now, 0
	}
	r.n++
	if r.n > maxRefusals {
		r.more++
		r.mu.Unlock()
		return
	}
	f.More, r.more = r.more, 0
	r.mu.Unlock()
	r.host.Refused(ctx, f)
}
