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
	ID       string
	Handle   string // what people type for it: of its request, or the beginning of its code (record.HandleCode)
	Kind     string
	Member   string
	Instance string
	Trust    string
	Task     string
	Tool     string
	Input    json.RawMessage // as the agent sent it and as it was shown
	Asks     string          // the same in one line, for lists
	Cwd      string
	Reason   string
	Digest   string
	Risk     string
	Asked    time.Time
	Decision string // allow, deny, answer; "": no decision yet
	By       string // operator, leader, rules, system, worker (withdrawn)
	Channel  string
	Via      string // which face, or what caused it
	Rule     string
	Said     string   // the reason that the decider gave
	Answers  []string // to a question, one for each
	Version  uint64
	Decided  time.Time // zero: no decision is in the journal
	// Runs is the changed input that ran instead of Input, under its own digest.
	Runs       json.RawMessage
	RunsDigest string
	Outcome    string // done, failed, running, unknown; taken back: its answer was, before it started; "": it did not start
	ExitCode   *int
	Key        record.Key
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
