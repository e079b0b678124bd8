// Package message ties messages to records: what an entry of a mailbox is for the machines of
// waggle/control, what a request or a response from another program says (protocol §1.1 to §1.3), and
// how a request or an answer on record is written for the wire. It decides nothing, and nothing in it
// does I/O.
package message
