package protocol

import "encoding/json"

// The fields of the kinds about a member's end (protocol §1.9 to §1.11, §1.16) and of the
// legacy kinds (protocol §1.17).

var shutdownRequestTable = table[ShutdownRequest]{
	rows: []*fieldOf[ShutdownRequest]{
		shutdownID,
		{name: "from", in: "wire:from!", need: true, as: sender, doc: "Who asks."},
		{name: "reason", in: "wire:reason catalog:3:reason", as: text, doc: "Why."},
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp!", as: clock, doc: "When it was asked."},
	},
	outside: true,
}.build()

var shutdownID = &fieldOf[ShutdownRequest]{name: "requestId", in: "wire:requestId! catalog:1:requestId! also:requestID", as: pairID, doc: "Pairs the answer with it."}

var shutdownApprovedTable = table[ShutdownApproved]{
	rows:    shutdownYes,
	types:   map[Dialect]string{DialectLegacy: typeShutdownResponse},
	instead: (*frame).shutdownAnswer,
}.build()

// shutdownYes are the fields of a yes, and what is read of every answer.
var shutdownYes = []*fieldOf[ShutdownApproved]{
	{name: "requestId", in: "wire:requestId! catalog:1:requestId! api:1:requestId! legacy:1:requestId! also:requestID", as: pairID, doc: "The id of the request."},
	{name: "from", in: "wire:from!", need: true, as: sender, doc: "Who ends."},
	{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp! api:4:timestamp", as: clock, doc: "When it was answered."},
	{name: "paneId", in: "wire:paneId api:2:paneId!? also:tmuxPaneId", as: text, doc: "Its pane; shown, nothing is ended by it."},
	{name: "backendType", in: "wire:backendType api:3:backendType!?", as: text, doc: "What it runs in; shown."},
	{name: "approved", in: "legacy:2:approved!", hidden: true, decides: true,
		codec: always[ShutdownApproved](true), doc: "The decision, where the type says none."},
}

var shutdownRejectedTable = table[ShutdownRejected]{
	rows: []*fieldOf[ShutdownRejected]{
		{name: "requestId", in: "wire:requestId! catalog:1:requestId! legacy:1:requestId! also:requestID", as: pairID, doc: "The id of the request."},
		{name: "from", in: "wire:from!", need: true, as: sender, doc: "Who goes on."},
		shutdownReason,
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp!", as: clock, doc: "When it was answered."},
		{name: "approved", in: "legacy:2:approved!", hidden: true, decides: true,
			codec: always[ShutdownRejected](false), doc: "The decision, where the type says none."},
	},
	types:   map[Dialect]string{DialectLegacy: typeShutdownResponse},
	instead: (*frame).shutdownAnswer,
}.build()

var shutdownReason = &fieldOf[ShutdownRejected]{name: "reason", in: "wire:reason! catalog:3:reason legacy:3:content also:feedback,notes,error,message", as: text, doc: "Why."}

var teammateTerminatedTable = table[TeammateTerminated]{
	rows: []*fieldOf[TeammateTerminated]{
		{name: "message", in: "wire:message!", as: text, doc: "What the harness says of it."},
	},
}.build()

var joinRequestTable = table[JoinRequest]{
	rows: []*fieldOf[JoinRequest]{
		{name: "proposedName", in: "wire:proposedName!", need: true, as: text, doc: "The name that was wanted."},
		{name: "requestId", in: "wire:requestId!", as: joinID, doc: "Paired the answer with it."},
		{name: "capabilities", in: "wire:capabilities", turn: 1, codec: rawValue(func(p *JoinRequest) *json.RawMessage { return &p.Capabilities }),
			check: func(c *checks, p *JoinRequest) {
				if p.Capabilities != nil {
					c.value("capabilities", p.Capabilities)
				}
			}, doc: "What the stranger could do."},
		{name: "timestamp", in: "wire:timestamp", as: spokenTime, doc: "When it was asked."},
	},
	finish: legacy[JoinRequest],
}.build()

var joinApprovedTable = table[JoinApproved]{
	rows: []*fieldOf[JoinApproved]{
		{name: "requestId", in: "wire:requestId!", as: joinID, doc: "The id of the request."},
		{name: "timestamp", in: "wire:timestamp", as: spokenTime, doc: "When it was answered."},
	},
	finish: legacy[JoinApproved],
}.build()

var joinRejectedTable = table[JoinRejected]{
	rows: []*fieldOf[JoinRejected]{
		{name: "requestId", in: "wire:requestId!", as: joinID, doc: "The id of the request."},
		{name: "reason", in: "wire:reason", as: text, doc: "Why."},
		{name: "timestamp", in: "wire:timestamp", as: spokenTime, doc: "When it was answered."},
	},
	finish: legacy[JoinRejected],
}.build()
