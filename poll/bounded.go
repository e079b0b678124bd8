package poll

import "waggle/message"

// Bounded is a Machine that takes a part of the chat at a time. Chat that it does not want stays
// unread, for a later pass.
type Bounded interface {
	Machine
	// Wants reports whether chat is to be delivered, when so many bytes of text before it
	// in the mailbox are. It is asked after Refresh, in file order.
	Wants(in message.Incoming, before int) bool
}
