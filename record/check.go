package record

import "time"

// KindChecked is the kind of a Checked, in a worker's journal.
const KindChecked = "checked"

// Check decides whether a task is done, where its agent says so: a shell text that must succeed. The
// operator has accepted it, so it runs without a question, as the member's commands do.
type Check struct {
	Command string `json:"command"`
	// Dir is where it runs, an absolute path; "": where the task is done.
	Dir string `json:"dir,omitempty"`
	// Returns is how often its output goes back to the agent, which goes on with it. After that a
	// check that fails makes the task fail.
	Returns int `json:"returns,omitempty"`
	// TimeoutMS is how long one run may take; 0: CheckTimeout.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// Limits of a Check that its file does not say.
const (
	CheckReturns = 2
	CheckTimeout = 10 * time.Minute
)

// MaxCheckReturns is the most that a file may say.
const MaxCheckReturns = 20

// Timeout is how long one run may take.
func (c Check) Timeout() time.Duration {
	if c.TimeoutMS > 0 {
		return time.Duration(c.TimeoutMS) * time.Millisecond
	}
	return CheckTimeout
}

// Checked is one run of a task's check.
type Checked struct {
	Task    string `json:"task"`
	Command string `json:"command"`
	Passed  bool   `json:"passed"`
	// Why says how it failed, for people: its exit status, its time.
	Why  string `json:"why,omitempty"`
	Tail string `json:"output_tail,omitempty"` // the end of its output
}
