package task

import (
	"fmt"
	"strings"
)

// NotFoundError reports a task that is not there (exit code 9).
type NotFoundError struct{ ID ID }

func (e *NotFoundError) Error() string { return fmt.Sprintf("no task %.40q", string(e.ID)) }

// CorruptError reports a task file that is not a JSON object. The file is left
// as it is.
type CorruptError struct {
	Path   string
	Offset int64 // of the first byte that is wrong
	Why    string
}

func (e *CorruptError) Error() string {
	s := fmt.Sprintf("byte %d: %s", e.Offset, e.Why)
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	return "task: " + s
}

// Reasons of a StateError. Those up to Delisted are why a claim fails in Claude
// Code (protocol §4).
const (
	TaskNotFound    = "task_not_found"
	AlreadyClaimed  = "already_claimed"  // by another member
	AlreadyResolved = "already_resolved" // it is completed
	IsBlocked       = "blocked"
	AgentBusy       = "agent_busy" // the claimant has Tasks in progress
	Delisted        = "delisted"   // the claimant is not on the team's roster; only callers that read the roster use it
	NothingToClaim  = "nothing_to_claim"
	NotOwner        = "not_owner"       // it has no owner
	UnknownBlocker  = "unknown_blocker" // Tasks are not on the list
	Cycle           = "cycle"           // Tasks would wait for each other
	BadStatus       = "bad_status"      // the status in the file is not a known one
	Changed         = "changed_meanwhile"
)

// StateError reports a step that the task's state does not allow (exit code 6).
// With Why task_not_found it is a *NotFoundError too.
type StateError struct {
	ID     ID
	Status Status
	Owner  string
	Why    string // task_not_found, already_claimed, already_resolved, blocked, …
	Tasks  []ID   // those in the way: open or unknown blockers, the cycle
}

func (e *StateError) Error() string {
	s := e.Why
	if e.ID != "" {
		s = fmt.Sprintf("task %s: %s", e.ID, e.Why)
	}
	if len(e.Tasks) > 0 {
		ids := make([]string, len(e.Tasks))
		for i, id := range e.Tasks {
			ids[i] = fmt.Sprintf("%.40q", string(id))
		}
		s += " (" + strings.Join(ids, ", ") + ")"
	}
	if e.Status != "" {
		s += fmt.Sprintf("; status %.40q", string(e.Status))
	}
	if e.Owner != "" {
		s += fmt.Sprintf(", owner %.64q", e.Owner)
	}
	return s
}

// Unwrap makes an unknown task one for errors.As.
func (e *StateError) Unwrap() error {
	if e.Why == TaskNotFound {
		return &NotFoundError{e.ID}
	}
	return nil
}
