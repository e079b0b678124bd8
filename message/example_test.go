package message_test

import (
	"fmt"

	"waggle/message"
	"waggle/protocol"
	"waggle/record"
)

// A response that another program has put into a mailbox is read: whom it answers, and what it says.
func ExampleAnswerOf() {
	d := protocol.Decode(protocol.Envelope{From: "team-lead", Text: `{"type":"permission_response","request_id":"perm-1","subtype":"error","error":"not today"}`})
	a := message.AnswerOf(d.Payload)
	fmt.Println(a.Of, a.ID, a.Allow, a.Reason)
	fmt.Println(message.SameInput([]byte(`{ "command": "make" }`), (record.Ask{Input: `{"command":"make"}`}).Input))
	// Output:
	// permission_request perm-1 false not today
	// true
}
