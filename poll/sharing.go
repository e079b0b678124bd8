package poll

import "waggle/message"

// Sharing is a Machine whose mailbox another machine reads too. Each entry is for one of
// them: the other never judges, delivers or marks it.
type Sharing interface {
	Machine
	// Mine reports whether a new entry is for this machine. It is asked after Refresh.
	Mine(in message.Incoming) bool
}

// Reader is a Machine whose session is given some control messages as words.
type Reader interface {
	Machine
	// Words reports a control message that has no effect here and is delivered as chat.
	Words(in message.Incoming) bool
}

// chats reports an entry that is for the session, and not for the machine.
func (p *Poller) chats(in message.Incoming) bool {
	r, ok := p.Machine.(Reader)
	return !in.IsControl() || ok && r.Words(in)
}
