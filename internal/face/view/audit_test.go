package view_test

import (
	"encoding/json"
	"testing"

	"waggle/internal/face/view"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
)

func auditEvents() []operator.AuditEvent {
	one := 1
	return []operator.AuditEvent{
		{ID: "perm-1", Handle: "7KQF", Asks: "Bash make", Kind: "permission_request", Member: "ann", Instance: "0123", Trust: "cooperative", Task: "1", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`),
			Cwd: "/w", Reason: "to build", Digest: "ab", Risk: "low", Asked: at(0), Decision: "allow", By: "rules", Channel: "journal", Via: "gate", Rule: "Bash(make:*)", Said: "it may",
			Version: 2, Decided: at(1), Runs: json.RawMessage(`{"command":"make -n"}`), RunsDigest: "cd", Outcome: "failed", ExitCode: &one},
		{ID: "perm-2", Member: "bob", Tool: "Read", Asked: at(2), Decision: "deny", By: "operator", Via: "deny"},
		{ID: "perm-3", Member: "s-1", Asked: at(3), By: "session", Via: "its own dialog"},
		{ID: "perm-4", Member: "s-1", Asked: at(4), Said: "it went away"},
		{ID: "perm-5", Member: "s-1", Asked: at(5)},
	}
}

func TestAudit(t *testing.T) {
	golden(t, "audit", view.Audit("api-01234567", "api", auditEvents(), nil))
	golden(t, "audit_empty", view.Audit("api-01234567", "api", nil, nil))
	samePage(t, "audit", view.AuditPage(auditEvents(), now))
}

func TestAuditShow(t *testing.T) {
	d := &inspect.AuditDetail{Event: auditEvents()[0], Records: []inspect.AuditRecord{
		{Journal: "leader", Owner: "leader", Seq: 3, Time: at(6), Writer: journal.Writer{Operator: true}, Kind: "decided", Body: json.RawMessage(`{"id":"perm-1"}`)}}}
	golden(t, "audit_show", d)
	golden(t, "audit_show_empty", &inspect.AuditDetail{})
	golden(t, "audit_record", d.Records[0])
	samePage(t, "audit_show", view.AuditShowPage(d, now))
	samePage(t, "audit_show_empty", view.AuditShowPage(&inspect.AuditDetail{}, now))
}

func TestAuditOfSessions(t *testing.T) {
	golden(t, "audit_sessions", view.SessionDigest{Events: auditEvents()[2:], Since: at(0)})
	golden(t, "audit_sessions_empty", view.SessionDigest{Since: at(0)})
	samePage(t, "audit_sessions", view.SessionsRecapPage(auditEvents(), now))
}
