package mail

import (
	"waggle"
	"waggle/control"
	"waggle/operator"
	"waggle/operator/decide"
)

// relate finds what the journals have of each message: that its reader found it unverified, the request that it asks or
// answers, and what a member said to a shutdown request. A request is that of a message only by the entry that the leader's
// journal names for it: another message with the same id is not it. Without a tracer nothing is known.
func (o Operator) relate(t *tracer, in *Inbox) {
	if t == nil {
		return
	}
	lead, member := t.s.Lead, waggle.MemberName(in.Member)
	said := map[waggle.RequestID]string{}
	for _, ord := range lead.Orders() {
		if ord.Reply != nil && ord.Reply.Kind == waggle.KindShutdownRejected {
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
		p, ok := e.Payload.(waggle.Payload)
		if !ok {
			continue
		}
		id, _ := waggle.RequestIDOf(p)
		switch kind := p.Kind(); kind {
		case waggle.KindPermissionRequest, waggle.KindSandboxPermissionRequest, waggle.KindPlanApprovalRequest:
			seen := lead.Intake(e.ID)
			for _, r := range lead.Requests {
				if seen != nil && r.Seq == seen.Seq && waggle.SameName(member, waggle.Lead) {
					o.request(t.s, r, e)
				}
			}
		case waggle.KindPermissionResponse, waggle.KindSandboxPermissionResponse, waggle.KindPlanApprovalResponse:
			for _, r := range lead.RequestsByID(id) {
				if m, ok := lead.ByInstance(r.Instance); ok && waggle.SameName(m.Name, member) && answers[kind] == r.Kind {
					o.request(t.s, r, e)
				}
			}
		case waggle.KindShutdownRequest:
			e.Reply = said[id]
		}
	}
}

// answers are the kinds of requests that kinds of messages answer.
var answers = map[waggle.Kind]waggle.Kind{
	waggle.KindPermissionResponse:        waggle.KindPermissionRequest,
	waggle.KindSandboxPermissionResponse: waggle.KindSandboxPermissionRequest,
	waggle.KindPlanApprovalResponse:      waggle.KindPlanApprovalRequest,
}

func (o Operator) request(s *operator.State, r *control.Request, e *InboxEntry) {
	q := decide.Of(o.Operator).Request(s, r)
	e.Request = &q
}
