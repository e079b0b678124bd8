package supervise

import (
	"waggle/control"
	"waggle/operator"
)

// The functions that tests call with a table.
var (
	Contract  = contract
	ExitText  = exitText
	ReadyText = readyText
	FirstLine = firstLine
	PlanOf    = resumeMember
)

// StartedPID is the pid that Spawn reports for a member.
func StartedPID(s *operator.State, m *control.Member) (int, error) {
	var sp Spawned
	err := sp.started(s, m)
	return sp.PID, err
}
