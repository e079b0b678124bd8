package operator

import (
	"encoding/json"
	"strings"
	"time"

	"waggle/control"
)

// AuditEvent is one gated call as the journals have it: what was asked and shown,
// who or which rule decided it by which way, and what came of it.
type AuditEvent struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	Member   string          `json:"member"`
	Instance string          `json:"instance"`
	Trust    string          `json:"trust"`
	Task     string          `json:"task"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"` // as it was asked and shown
	Cwd      string          `json:"cwd"`
	Reason   string          `json:"reason"`
	Digest   string          `json:"digest"`
	Risk     string          `json:"risk"`
	Asked    string          `json:"asked_at"`
	Decision string          `json:"decision"` // allow, deny; "": nobody has decided
	By       string          `json:"by"`       // operator, leader, rules, system, worker (withdrawn)
	Channel  string          `json:"channel"`
	Via      string          `json:"via"` // which face, or what caused it
	Rule     string          `json:"rule"`
	Said     string          `json:"said"` // the reason that was given
	Version  uint64          `json:"policy_version"`
	Decided  string          `json:"decided_at"`
	// Runs is the changed input that ran instead, under its own digest.
	Runs       json.RawMessage `json:"updated_input,omitempty"`
	RunsDigest string          `json:"updated_digest,omitempty"`
	Outcome    string          `json:"outcome"` // done, failed, running, unknown; "": it did not start
	ExitCode   *int            `json:"exit_code"`
	Key        control.Key     `json:"-"`
	AskedAt    time.Time       `json:"-"`
}

// AuditQuery narrows what is listed; its zero value is everything.
type AuditQuery struct {
	Member, Tool, Decision, By, Rule string // exactly; Rule: contained
	Since, Until                     time.Time
}

// Wants reports that an event is asked for.
func (q AuditQuery) Wants(e AuditEvent) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.Member, e.Member) && is(q.Tool, e.Tool) && is(q.Decision, e.Decision) && is(q.By, e.By) && strings.Contains(e.Rule, q.Rule) &&
		(q.Since.IsZero() || !e.AskedAt.Before(q.Since)) && (q.Until.IsZero() || e.AskedAt.Before(q.Until))
}
