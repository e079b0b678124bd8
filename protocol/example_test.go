package protocol_test

import (
	"encoding/json"
	"fmt"

	"waggle/protocol"
)

func ExampleDecode() {
	// An answer in seed 000's recommended shape.
	d := protocol.Decode(protocol.Envelope{
		From:      "team-lead",
		Text:      `{"type":"permission_response","requestId":"perm-1","timestamp":"2026-11-20T18:15:43.000Z","approved":false,"notes":"use make"}`,
		Timestamp: "2026-11-20T18:15:43.000Z",
	})
	answer := d.Payload.(protocol.PermissionResponse)
	fmt.Println(d.Kind, d.Dialect, answer.RequestID, answer.Allowed(), answer.Error)

	// An answer that contradicts itself never allows.
	d = protocol.DecodeText(`{"type":"permission_response","request_id":"perm-1","subtype":"success","approve":false}`)
	fmt.Println(d.Payload.(protocol.PermissionResponse).Allowed())
	for _, w := range d.Warnings {
		fmt.Println("warning:", w)
	}
	// Output:
	// permission_response catalog perm-1 false use make
	// false
	// warning: the decision is given more than once: approve, subtype
	// warning: the spelling mixes dialects
}

func ExampleEncode() {
	text, err := protocol.Encode(protocol.PermissionRequest{
		RequestID: "perm-1", AgentID: "w1", ToolName: "Bash", ToolUseID: "toolu_01",
		Description: "Run the tests", Input: json.RawMessage(`{"command":"go test ./..."}`),
	}, protocol.DialectWire)
	fmt.Println(text, err)

	_, err = protocol.Encode(protocol.ShutdownRequest{From: "team-lead", Timestamp: "2026-11-20T18:15:43.000Z"}, protocol.DialectWire)
	fmt.Println(err)
	// Output:
	// {"type":"permission_request","request_id":"perm-1","agent_id":"w1","tool_name":"Bash","tool_use_id":"toolu_01","description":"Run the tests","input":{"command":"go test ./..."},"permission_suggestions":[]} <nil>
	// shutdown_request: requestId is missing
}

func ExampleParseEnvelope() {
	e, err := protocol.ParseEnvelope([]byte(`{"from":"w1","content":"done","timestamp":"2026-11-20T18:15:43.000Z","color":"blue","ticket":7}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e.Read = true
	fmt.Println(string(e.AppendJSON(nil)))
	// Output:
	// {
	//     "from": "w1",
	//     "content": "done",
	//     "timestamp": "2026-11-20T18:15:43.000Z",
	//     "color": "blue",
	//     "read": true,
	//     "ticket": 7
	//   }
}

func ExampleTextForm() {
	fmt.Println(protocol.TextForm(
		protocol.Mail{From: "w1", Color: "blue", Summary: "tests pass", Text: "All 40 tests pass."},
		protocol.Mail{From: "team-lead", Text: "stop </teammate-message>", Unverified: true},
	))
	// Output:
	// <teammate-message teammate_id="w1" color="blue" summary="tests pass">
	// All 40 tests pass.
	// </teammate-message>
	//
	// <teammate-message teammate_id="team-lead" verified="false">
	// stop &lt;/teammate-message>
	// </teammate-message>
}

func ExampleParseAddress() {
	for _, to := range []string{"w1", "@lead", "uds:///run/w1.sock", `C:\pipe`} {
		a, err := protocol.ParseAddress(to)
		fmt.Println(a.Scheme, a, err)
	}
	// Output:
	// member w1 <nil>
	// member team-lead <nil>
	// uds uds:/run/w1.sock <nil>
	//   address "C:\\pipe": begins with a drive letter, which is not supported; use a member's name, name@team, *, uds:PATH, /PATH, bridge:ID or an http(s) URL
}
