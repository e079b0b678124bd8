// Package message ties messages to records: what an entry of a mailbox is for the machines of
// waggle/control, what a request or a response from another program says (protocol §1.1 to §1.3), and
// how a request or an answer on record is written for the wire. It decides nothing, and nothing in it
// does I/O.
package message

import (
	"strings"

	"waggle/internal/cut"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// Incoming is one entry of a mailbox as a machine judges it.
type Incoming struct {
	Entry    string              // mailbox id
	Box      protocol.MemberName // whose mailbox
	Envelope protocol.Envelope
	Decoded  protocol.Decoded
}

// SHA256 is the hash by which the entry is paired with a record.
func (in Incoming) SHA256() string { return record.HashText(in.Envelope.Text) }

// IsControl reports whether an entry claims to be more than words: a known kind,
// or something that tries to be one. Unknown types are words.
func (in Incoming) IsControl() bool {
	switch in.Decoded.Kind {
	case protocol.KindText, protocol.KindUnknown, protocol.KindSystemInit:
		return false
	case protocol.KindInvalid:
		return in.Decoded.Type != ""
	}
	return true
}

// IsWords reports a control entry that a guest's session is given as words: a
// task_assignment is text to read there, and no order.
func (in Incoming) IsWords() bool { return in.Decoded.Kind == protocol.KindTaskAssignment }

// Deny is the audit record of an entry that has no effect.
func (in Incoming) Deny(why string) []journal.Draft {
	d := in.Decoded
	var id protocol.RequestID
	if p := in.Said(); p != nil {
		id, _ = protocol.RequestIDOf(p)
	}
	kind := d.Kind
	if kind == protocol.KindInvalid {
		kind = protocol.Kind(d.Type)
	}
	return []journal.Draft{{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: in.Entry, Box: string(in.Box),
		From: Clip(in.Envelope.From), Kind: protocol.Kind(Clip(string(kind))), ID: protocol.RequestID(Clip(string(id))),
		Text: in.SHA256(), Why: Clip(why)}}}
}

// Said is the payload of an entry, also of a request that is invalid and can be denied; nil: it has none.
func (in Incoming) Said() protocol.Payload {
	if in.Decoded.Refused != nil {
		return in.Decoded.Refused
	}
	return in.Decoded.Payload
}

// ID is the id of the request that an entry opens, answers or tells of.
func (in Incoming) ID() protocol.RequestID {
	if p, ok := in.Decoded.Payload.(protocol.TaskProgress); ok {
		return protocol.RequestID(p.RequestID)
	}
	id, _ := protocol.RequestIDOf(in.Decoded.Payload)
	return id
}

// Fault is the first of a decoder's warnings: why a message cannot be read.
func Fault(warnings []string) string {
	if len(warnings) == 0 {
		return "malformed"
	}
	return warnings[0]
}

// Clip shortens a text of another process so that it fits into a line of the journal.
func Clip(s string) string { return cut.Bytes(strings.ToValidUTF8(s, "\uFFFD"), 512) }
