package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/policy"
)

// Words are plain text that a person, or a program in a member's name, sent through the operator's
// own process: the leader's journal records them before they are sent, so that an erased message is
// noticed. They never carry authority; the record has their Priority, no string in a file does.
type Words struct {
	// Instance is the recipient; "" for the lead itself and for a member that
	// waggle does not run.
	Instance Instance `json:"instance,omitempty"`
	Priority Priority `json:"priority,omitempty"`
	// Supersedes is the seq of the words that these replace.
	Supersedes uint64      `json:"supersedes,omitempty"`
	Expires    *time.Time  `json:"expires_at,omitempty"` // after it they are not delivered
	By         policy.Role `json:"by"`
	Mail       *Mail       `json:"mail"`
}

// Heard records words that a session was given in the middle of a turn.
type Heard struct {
	Entries []string `json:"entries"` // mailbox ids
}

// KindHeard is the record of Heard, in a worker's journal. The record of Words is KindSaid, in the
// leader's.
const KindHeard = "heard"

// Priority says when words reach a busy session.
type Priority string

// The priorities. Normal words wait for the end of the turn.
const (
	PriorityNormal    Priority = "normal"
	PriorityNextTool  Priority = "next-tool" // before the next tool call, where the agent can
	PriorityInterrupt Priority = "interrupt" // at once: the turn that runs is stopped
)

// Priorities lists them.
func Priorities() []Priority { return []Priority{PriorityNormal, PriorityNextTool, PriorityInterrupt} }

// ParsePriority reads a priority; "" is normal.
func ParsePriority(s string) (Priority, error) {
	if s == "" {
		return PriorityNormal, nil
	}
	if slices.Contains(Priorities(), Priority(s)) {
		return Priority(s), nil
	}
	return "", fmt.Errorf("priority %q is not one of normal, next-tool, interrupt", s)
}

// Evidence of orders and words that will not be delivered any more.
const (
	Withdrawn  = "withdrawn"
	Superseded = "superseded" // of words followed by " by " and a msg_id
	Replaced   = "replaced by a newer one"
	Expired    = "expired"
	Failed     = "failed" // followed by ": " and why
)

// Reason splits the evidence into one of the words above, of ReaderMarked and its kind, or the kind of record that shows the
// effect, and what follows that word: a msg_id, or why it failed. No program has written other evidence of orders and words.
func (c Closed) Reason() (word, detail string) {
	for word, sep := range map[string]string{Superseded: " by ", Failed: ": "} {
		if detail, ok := strings.CutPrefix(c.Evidence, word+sep); ok {
			return word, detail
		}
	}
	return c.Evidence, ""
}
