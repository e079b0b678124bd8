// Package transport carries messages to addresses. A Sender serves one scheme; a Router holds one
// for each and is a Sender itself.
//
//	r := transport.Router{protocol.SchemeMember: transport.Mailboxes{Open: open}}
//	receipt, err := r.Send(ctx, to, envelope)
//
// By every transport a message ends in its receiver's mailbox: the mailbox is durable, keeps the
// order, and is what the receiver's journal is compared with. A socket or a URL only carries the
// message there and wakes the receiver. No transport gives a message authority (trust §1).
//
// Delivery: nil from Send means that the message is where Receipt.State says. An error means that
// it may or may not be: sending the same envelope again is harmless for control, which acts on
// journals, and a receiver detects repeated chat by its msg_id.
package transport

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waggle/mailbox"
	"waggle/protocol"
)

// Sender brings envelopes to the addresses of its scheme. Its methods may be
// called from several goroutines.
type Sender interface {
	// Send carries one envelope to an address and returns when the receiver has it, or ctx ends. A
	// receiver that does not exist is an error of type *NotFoundError; one that refuses the
	// message, *RefusedError.
	Send(ctx context.Context, to protocol.Address, env protocol.Envelope) (Receipt, error)
}

// State says how far a message has come.
type State string

// Written: the message is in its receiver's mailbox, as durable as that mailbox
// is. It is what every sender of this package reports.
const Written State = "written"

// Receipt is the answer of the other side to a message.
type Receipt struct {
	MsgID string // the envelope's
	State State
	Ahead int // unread messages that were there before it
	// Detail adds in words what State lacks; may be empty.
	Detail string
}

// SchemeError reports a scheme without a Sender.
type SchemeError struct {
	Scheme protocol.Scheme
	Known  []protocol.Scheme
}

func (e *SchemeError) Error() string {
	return fmt.Sprintf("nothing here sends to %s addresses, only to: %s", e.Scheme, strings.Join(protocol.Strings(e.Known), ", "))
}

// Missing is something that is not there.
type Missing string

// Kinds of missing receivers for which a face can suggest a command.
const (
	MissingEndpoint Missing = "endpoint" // an HTTP endpoint
	MissingSession  Missing = "session"  // a session of an agent that waggle does not run
	MissingEditor   Missing = "editor"   // an editor at a bridge
)

// NotFoundError reports an address without a listener or a member that does not exist.
type NotFoundError struct {
	To   protocol.Address
	Why  string // what was found instead
	Hint string // the next step; may be empty
	// Missing is the kind of the missing receiver, when a face can suggest a command for it.
	Missing Missing
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s: %s", e.To, e.Why) }

// RefusedError says that the receiver refuses the message. Sending the same again does not help.
type RefusedError struct {
	To  protocol.Address
	Why string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s refused the message: %s", e.To, e.Why) }

// Router sends by the scheme of an address. It is not changed once it is used.
type Router map[protocol.Scheme]Sender

var _ Sender = Router{}

// Send gives the envelope to the sender of the address's scheme; a scheme without
// one is a *SchemeError. An address of everyone is not one message: it is resolved
// before.
func (r Router) Send(ctx context.Context, to protocol.Address, env protocol.Envelope) (Receipt, error) {
	s := r[to.Scheme]
	if s == nil {
		return Receipt{}, &SchemeError{Scheme: to.Scheme, Known: slices.Sorted(maps.Keys(r))}
	}
	return s.Send(ctx, to, env)
}

// Mailboxes sends to members: it appends to their mailbox, a file, a memory or a stream. The
// reader's watch wakes it.
type Mailboxes struct {
	// Open returns the mailbox of a member address. It says so when there is no
	// such member: a message must not make a mailbox.
	Open func(ctx context.Context, to protocol.Address) (mailbox.Store, error)
}

var _ Sender = Mailboxes{}

// Send implements Sender. A message with a msg_id that the mailbox has is not added again
// (mailbox.AppendOnce). Errors are those of Open and of mailbox.Store.Append.
func (s Mailboxes) Send(ctx context.Context, to protocol.Address, env protocol.Envelope) (Receipt, error) {
	box, err := s.Open(ctx, to)
	if err != nil {
		return Receipt{}, err
	}
	return deposit(ctx, box, env, func() error { return mailbox.AppendOnce(ctx, box, env) })
}

// Deposit appends a message to a mailbox and counts the unread entries before it. A mailbox that
// cannot be read now but takes the message is no error: Ahead is then 0.
func Deposit(ctx context.Context, box mailbox.Store, env protocol.Envelope) (Receipt, error) {
	return deposit(ctx, box, env, func() error { return box.Append(ctx, env) })
}

func deposit(ctx context.Context, box mailbox.Store, env protocol.Envelope, put func() error) (Receipt, error) {
	r := Receipt{MsgID: env.MsgID, State: Written}
	if unread, err := box.Unread(ctx); err == nil {
		r.Ahead = len(unread)
	}
	if err := put(); err != nil {
		return Receipt{}, err
	}
	return r, nil
}
