package mail

import (
	"encoding/json"

	"waggle"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/record"
)

// relate finds what the journals have of each message: the request that it asks or answers, and what a member said to a
// shutdown request. A request is that of a message only by the entry that the leader's journal names for it: another
// message with the same id is not it. Of a team that waggle does not lead, s is nil and nothing is known.
func (o Operator) relate(s *operator.State, recs []operator.LogRecord, in *Inbox) {
	if s == nil {
		return
	}
	asked, said := map[string]record.Key{}, map[string]string{}
	for _, r := range recs {
		if r.Kind != record.KindSeen || r.Journal != s.JournalName {
			continue
		}
		var b record.Seen
		if json.Unmarshal(r.Body, &b) != nil { // of another version: nothing is known of it
			continue
		}
		switch {
		case b.Ask != nil:
			asked[b.Entry] = record.Key{Instance: b.Instance, Kind: b.Kind, ID: b.ID}
		case b.Kind == waggle.KindShutdownApproved:
			said[string(b.ID)] = "agreed to"
		case b.Kind == waggle.KindShutdownRejected:
			said[string(b.ID)] = "refused" + operator.Suffix(b.Note)
		}
	}
	for i := range in.Entries {
		e := &in.Entries[i]
		p, ok := e.Payload.(waggle.Payload)
		if !ok {
			continue
		}
		id, _ := waggle.RequestIDOf(p)
		switch kind := p.Kind(); kind {
		case waggle.KindPermissionRequest, waggle.KindSandboxPermissionRequest, waggle.KindPlanApprovalRequest:
			if key, ok := asked[e.ID]; ok && waggle.SameName(waggle.MemberName(in.Member), waggle.Lead) {
				o.request(s, key, e)
			}
		case waggle.KindPermissionResponse, waggle.KindSandboxPermissionResponse, waggle.KindPlanApprovalResponse:
			for _, r := range s.Lead.RequestsByID(id) {
				if m, ok := s.Lead.ByInstance(r.Instance); ok && waggle.SameName(m.Name, waggle.MemberName(in.Member)) && answers[kind] == r.Kind {
					o.request(s, r.Key, e)
				}
			}
		case waggle.KindShutdownRequest:
			e.Reply = said[string(id)]
		}
	}
}

// answers are the kinds of requests that kinds of messages answer.
var answers = map[waggle.Kind]waggle.Kind{
	waggle.KindPermissionResponse:        waggle.KindPermissionRequest,
	waggle.KindSandboxPermissionResponse: waggle.KindSandboxPermissionRequest,
	waggle.KindPlanApprovalResponse:      waggle.KindPlanApprovalRequest,
}

func (o Operator) request(s *operator.State, key record.Key, e *InboxEntry) {
	if r, ok := s.Lead.Request(key); ok {
		q := decide.Of(o.Operator).Request(s, r)
		e.Request = &q
	}
}
