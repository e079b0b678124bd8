package operator

import (
	"encoding/json"
	"strings"
	"time"

	"waggle/record"
)

// AuditEvent is one gated call as the journals have it: the input, the decision with its author,
// and the outcome.
type AuditEvent struct {
	ID       string          `json:"id"`
	Handle   string          `json:"handle"` // what people type for it: of its request, or the beginning of its code (record.HandleCode)
	Kind     string          `json:"kind"`
	Member   string          `json:"member"`
	Instance string          `json:"instance"`
	Trust    string          `json:"trust"`
	Task     string          `json:"task"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"` // as the agent sent it and as it was shown
	Cwd      string          `json:"cwd"`
	Reason   string          `json:"reason"`
	Digest   string          `json:"digest"`
	Risk     string          `json:"risk"`
	Asked    time.Time       `json:"asked_at"`
	Decision string          `json:"decision"` // allow, deny, answer; "": no decision yet
	By       string          `json:"by"`       // operator, leader, rules, system, worker (withdrawn)
	Channel  string          `json:"channel"`
	Via      string          `json:"via"` // which face, or what caused it
	Rule     string          `json:"rule"`
	Said     string          `json:"said"`              // the reason that the decider gave
	Answers  []string        `json:"answers,omitempty"` // to a question, one for each
	Version  uint64          `json:"policy_version"`
	Decided  time.Time       `json:"decided_at"` // zero: no decision is in the journal
	// Runs is the changed input that ran instead of Input, under its own digest.
	Runs       json.RawMessage `json:"updated_input,omitempty"` // the changed input that ran instead
	RunsDigest string          `json:"updated_digest,omitempty"`
	Outcome    string          `json:"outcome"` // done, failed, running, unknown; taken back: its answer was, before it started; "": it did not start
	ExitCode   *int            `json:"exit_code"`
	Asks       string          `json:"-"` // the same in one line, for lists
	Key        record.Key      `json:"-"`
}

// AuditQuery narrows what is listed; its zero value is everything.
type AuditQuery struct {
	Member, Tool, Decision, By, Rule string // exactly; Rule: contained
	Since, Until                     time.Time
}

// Wants reports whether the query selects the event.
func (q AuditQuery) Wants(e AuditEvent) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return is(q.Member, e.Member) && is(q.Tool, e.Tool) && is(q.Decision, e.Decision) && is(q.By, e.By) && strings.Contains(e.Rule, q.Rule) &&
		(q.Since.IsZero() || !e.Asked.Before(q.Since)) && (q.Until.IsZero() || e.Asked.Before(q.Until))
}
