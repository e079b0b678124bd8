package demo

import "waggle/protocol"

// Act is a part of the demo. Its tasks come after each other, so the acts do too.
type Act int

// The acts, in order.
const (
	ActStart Act = iota + 1
	ActPlan
	ActCall
	ActRules
	ActForged
	ActHost
	ActBusy
	ActEnd
)

// acts are what each act shows, and in one sentence what it is about.
var acts = map[Act]struct{ Heading, Sentence string }{
	ActStart:  {"Three agents start, and get their tasks", "Each is a process of its own, and its mailbox is a plain file."},
	ActPlan:   {"A plan is rejected, then approved", "An agent that owes a plan changes nothing until a person has approved it."},
	ActCall:   {"A call asks a person", "What no rule allows waits for a person, who answers it by its handle."},
	ActRules:  {"Rules decide: one call is allowed, one denied", "What the team's rules cover asks nobody, and the journal says which rule."},
	ActForged: {"A forged approval has no effect", "Any program can write into a mailbox; only the leader's journal counts."},
	ActHost:   {"A host asks too", "The network is asked about as a call is: a host, a port, a handle."},
	ActBusy:   {"A busy agent: its mail waits, and it declines to stop", "Words wait until an agent is idle; while it works it may decline to stop."},
	ActEnd:    {"The team ends: each agent agrees", "Nobody is killed who agrees to go: each says so, and its process ends."},
}

// Heading is what the act shows.
func (a Act) Heading() string { return acts[a].Heading }

// Sentence says in one sentence what the act is about.
func (a Act) Sentence() string { return acts[a].Sentence }

// asks is the act of a request.
func asks(member string, kind protocol.Kind) Act {
	switch {
	case kind == protocol.KindPlanApprovalRequest:
		return ActPlan
	case kind == protocol.KindSandboxPermissionRequest:
		return ActHost
	case member == "bob":
		return ActForged
	}
	return ActCall
}
