package message

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/json/jsontext"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// NewID makes a request id in the form that real clients use.
func NewID(kind protocol.Kind, name protocol.MemberName, team protocol.TeamName, m record.Mint) protocol.RequestID {
	ms := strconv.FormatInt(m.Now.UnixMilli(), 10)
	switch kind {
	case protocol.KindPlanApprovalRequest:
		// The nonce keeps two plans of one millisecond apart.
		return protocol.RequestID("plan_approval-" + ms + m.Nonce + "@" + string(name) + "@" + string(team))
	case protocol.KindSandboxPermissionRequest:
		return protocol.RequestID("sandbox-" + ms + "-" + m.Nonce)
	case record.KindQuestion:
		return protocol.RequestID("question-" + ms + "-" + m.Nonce)
	}
	return protocol.RequestID("perm-" + ms + "-" + m.Nonce)
}

// Request is the wire form of what a member asks. c is the call as policy sees it, for the rules that
// the message suggests.
func Request(k record.Key, a record.Ask, from protocol.MemberName, color string, c policy.Call, m record.Mint) protocol.Payload {
	switch k.Kind {
	case protocol.KindPlanApprovalRequest:
		return protocol.PlanApprovalRequest{From: string(from), Timestamp: protocol.FormatTime(m.Now), PlanFilePath: a.PlanFile, PlanContent: a.Plan, RequestID: string(k.ID)}
	case protocol.KindSandboxPermissionRequest:
		return protocol.SandboxPermissionRequest{RequestID: string(k.ID), WorkerID: string(from), WorkerName: string(from), WorkerColor: color,
			HostPattern: protocol.HostPattern{Host: a.Hostport()}, CreatedAt: m.Now.UnixMilli()}
	}
	return protocol.PermissionRequest{RequestID: string(k.ID), AgentID: string(from), ToolName: a.Tool, ToolUseID: a.ToolUseID,
		Description: a.Reason, Input: []byte(a.Input), PermissionSuggestions: suggestions(c)}
}

// suggestions are the rules that would have allowed a call, narrowest first (protocol §1.1). They are
// shown and never act.
func suggestions(c policy.Call) []json.RawMessage {
	return append([]json.RawMessage{}, updates(policy.Suggest(c))...)
}

// updates are allowing rules as real clients write and read them (protocol §1.1, §1.2), each by itself.
func updates(rules []policy.Rule) (list []json.RawMessage) {
	for _, r := range rules {
		content := ""
		if r.Pattern != "" {
			content = `,"ruleContent":` + quote(r.Pattern)
		}
		list = append(list, json.RawMessage(`{"type":"addRules","rules":[{"toolName":`+quote(r.Tool)+content+`}],"behavior":"allow","destination":"session"}`))
	}
	return list
}

// Reply is what an answer says to a request.
type Reply struct {
	Allow  bool
	Reason string
	Input  string        // what runs instead of the input that was asked; "": nothing does
	Mode   policy.Mode   // with the approval of a plan: the mode that holds for its member from then on; "": it is not said
	Rules  []policy.Rule // with the allow of a call: the rules that were made with it
	// Session: the allow of a host is for as long as the member is there; else it is for this request.
	Session bool
}

// scope is how far the allow of a host reaches, "" for a denial (protocol §1.4).
func (r Reply) scope() string {
	switch {
	case !r.Allow:
		return ""
	case r.Session:
		return "session"
	}
	return scopeOnce
}

// scopeOnce is the scope of an answer to one request.
const scopeOnce = "one-shot"

// Response is the wire form of an answer to a request.
func Response(k record.Key, a record.Ask, r Reply, now time.Time) protocol.Payload {
	id, ts := string(k.ID), protocol.FormatTime(now)
	switch k.Kind {
	case protocol.KindPlanApprovalRequest:
		p := protocol.PlanApprovalResponse{RequestID: id, Approved: r.Allow, Feedback: r.Reason, Timestamp: ts}
		if r.Allow {
			p.PermissionMode = string(r.Mode)
		}
		return p
	case protocol.KindSandboxPermissionRequest:
		return protocol.SandboxPermissionResponse{RequestID: id, Host: cmp.Or(a.Spelled, a.Hostport()), Allow: r.Allow, Timestamp: ts, Scope: r.scope(), Notes: r.Reason}
	}
	if r.Allow {
		return protocol.PermissionResponse{RequestID: id, ToolUseID: a.ToolUseID, Subtype: protocol.SubtypeSuccess, Notes: r.Reason,
			Response: &protocol.PermissionGranted{UpdatedInput: json.RawMessage(cmp.Or(r.Input, a.Input)), PermissionUpdates: updates(r.Rules)}}
	}
	return protocol.PermissionResponse{RequestID: id, ToolUseID: a.ToolUseID, Subtype: protocol.SubtypeError, Error: cmp.Or(r.Reason, "Permission denied")}
}

// updatedInput and permissionUpdates are what an answer can change beside the decision.
const (
	updatedInput      = "response.updated_input"
	permissionUpdates = "response.permission_updates"
)

// CarriesInput reports whether an answer in a dialect can change the input of a tool call. One that
// could not must not be sent: what was not allowed would run.
func CarriesInput(d protocol.Dialect) bool {
	return d.Carries(protocol.KindPermissionResponse, updatedInput)
}

// In is a payload as it is written to a reader of dialect d, and the dialect: the wire's where the
// document of d has no form for the kind. asked is the input of the request that it answers. An
// answer in a dialect without a place for an input or rules leaves out the input that was asked, and
// rules: less is allowed without them, and its notes say so.
func In(d protocol.Dialect, p protocol.Payload, asked string, now time.Time) (protocol.Payload, protocol.Dialect) {
	d = d.For(p.Kind())
	switch v := p.(type) {
	case protocol.PermissionResponse:
		v.Timestamp = protocol.FormatTime(now)
		if g := v.Response; g != nil && !CarriesInput(d) && SameInput(g.UpdatedInput, asked) {
			if len(g.PermissionUpdates) > 0 && !d.Carries(p.Kind(), permissionUpdates) {
				v.Notes = strings.TrimPrefix(v.Notes+"; the rules that go with it have no place in this answer", "; ")
			}
			v.Response = nil
		}
		return v, d
	case protocol.ModeSetRequest:
		v.Timestamp = protocol.FormatTime(now)
		return v, d
	case protocol.TeamPermissionUpdate:
		v.Timestamp = protocol.FormatTime(now)
		return v, d
	}
	return p, d
}

// Added lists the rules of now that before does not have, as the wire has them.
func Added(before, now []policy.Rule) []protocol.PermissionRule {
	var rs []protocol.PermissionRule
	for _, r := range now {
		if !slices.Contains(before, r) {
			rs = append(rs, protocol.PermissionRule{ToolName: r.Tool, RuleContent: r.Pattern})
		}
	}
	return rs
}

// quote writes s as a JSON string.
func quote(s string) string {
	b, _ := jsontext.Marshal(s) // strings always encode
	return string(b)
}
