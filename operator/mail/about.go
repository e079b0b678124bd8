package mail

import (
	"waggle/control"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
)

// relate finds what the journals have of each message: that its reader found it unverified, the request that it asks or
// answers, and what a member said to a shutdown request. A request is that of a message only by the entry that the leader's
// journal names for it: another message with the same id is not it. Without a tracer nothing is known.
func (o Operator) relate(t *tracer, in *Inbox) {
	if t == nil {
		return
	}
	lead, member := t.s.Lead, protocol.MemberName(in.Member)
	said := map[protocol.RequestID]string{}
	for _, ord := range lead.Orders() {
		if ord.Reply != nil && ord.Reply.Kind == protocol.KindShutdownRejected {
			said[ord.Reply.ID] = "refused" + operator.Suffix(ord.Reply.Note)
		} else if ord.Reply != nil {
			said[ord.Reply.ID] = "agreed to"
		}
	}
	for i := range in.Entries {
		e := &in.Entries[i]
		for _, state := range t.at(member, e.ID).course() {
			if state.State == Refused && e.Archive == "" { // in an archive an entry may have another's number
				e.Warnings = append(e.Warnings, unverifiedWarning+": "+state.Detail)
			}
		}
		p, ok := e.Payload.(protocol.Payload)
		if !ok {
			continue
		}
		id, _ := protocol.RequestIDOf(p)
		switch kind := p.Kind(); kind {
		case protocol.KindPermissionRequest, protocol.KindSandboxPermissionRequest, protocol.KindPlanApprovalRequest:
			seen := lead.Intake(e.ID)
			for _, r := range lead.Requests {
				if seen != nil && r.Seq == seen.Seq && protocol.SameName(member, protocol.Lead) {
					o.request(t.s, r, e)
				}
			}
		case protocol.KindPermissionResponse, protocol.KindSandboxPermissionResponse, protocol.KindPlanApprovalResponse:
			for _, r := range lead.RequestsByID(id) {
				if m, ok := lead.ByInstance(r.Instance); ok && protocol.SameName(m.Name, member) && answers[kind] == r.Kind {
					o.request(t.s, r, e)
				}
			}
		case protocol.KindShutdownRequest:
			e.Reply = said[id]
		}
	}
}

// answers are the kinds of requests that kinds of messages answer.
var answers = map[protocol.Kind]protocol.Kind{
	protocol.KindPermissionResponse:        protocol.KindPermissionRequest,
	protocol.KindSandboxPermissionResponse: protocol.KindSandboxPermissionRequest,
	protocol.KindPlanApprovalResponse:      protocol.KindPlanApprovalRequest,
}

func (o Operator) request(s *operator.State, r *control.Request, e *InboxEntry) {
	e.Request = NewEntryRequest(decide.Of(o.Operator).Request(s, r))
}
