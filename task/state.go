package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/fs/logfile"
	"waggle/internal/json/jsonobj"
	"waggle/protocol"
)

// The states of a member (seed 002).
const (
	MemberRunning  = "running"  // it has a turn
	MemberIdle     = "idle"     // it waits for work
	MemberComplete = "complete" // it ended by handshake
	MemberError    = "error"    // it ended otherwise
)

// State is tasks/<team>/<member>/task-status.json (seed 002).
type State struct {
	AgentID      protocol.AgentID `json:"agentId"`
	Status       string           `json:"status"` // MemberRunning, …
	StartedAt    string           `json:"startedAt"`
	LastActiveAt string           `json:"lastActiveAt"`
	CompletedAt  string           `json:"completedAt,omitempty"`
	ErrorMessage string           `json:"errorMessage,omitempty"`
	Metrics      *Metrics         `json:"metrics,omitempty"`
}

// Metrics are a member's running totals.
type Metrics struct {
	TokensUsed      int64   `json:"tokens_used"`
	TasksCompleted  int     `json:"tasks_completed"`
	AvgResponseTime float64 `json:"avg_response_time"` // seconds
}

const (
	stateName = "task-status.json"
	maxState  = 1 << 20
)

var stateFields = []jsonobj.Field[State]{
	jsonobj.Text("agentId", jsonobj.Write, func(s *State) *protocol.AgentID { return &s.AgentID }),
	jsonobj.Text("status", jsonobj.Write, func(s *State) *string { return &s.Status }),
	jsonobj.Text("startedAt", jsonobj.Write, func(s *State) *string { return &s.StartedAt }),
	jsonobj.Text("lastActiveAt", jsonobj.Write, func(s *State) *string { return &s.LastActiveAt }),
	jsonobj.Text("completedAt", jsonobj.Omit, func(s *State) *string { return &s.CompletedAt }),
	jsonobj.Text("errorMessage", jsonobj.Omit, func(s *State) *string { return &s.ErrorMessage }),
}

// WriteState replaces dir/task-status.json (0600), and makes dir (0700) when it
// is not there; the directory above must be. It follows no link to dir or the file. A reader sees the old file or the
// new one. The caller is the file's only writer.
func WriteState(dir string, s State) error {
	raw, err := jsonobj.Marshal(s)
	if err != nil {
		return fmt.Errorf("task: state: %w", err)
	}
	object, err := jsonobj.Parse(raw)
	if err != nil {
		return fmt.Errorf("task: state: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("task: state: %w", err)
	}
	root, err := logfile.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("task: state: %w", err)
	}
	defer root.Close()
	if err := atomicfile.WriteWithin(root, stateName, object.Append(nil, 0), atomicfile.Options{Perm: 0o600}); err != nil {
		return fmt.Errorf("task: state: %w", err)
	}
	return nil
}

// ReadState reads dir/task-status.json, of at most 1 MiB. Keys are compared
// exactly; unknown ones are ignored. A value of the wrong type and a file that
// is not a JSON object are a *CorruptError; no file is fs.ErrNotExist.
func ReadState(dir string) (State, error) {
	path := filepath.Join(dir, stateName)
	data, err := atomicfile.ReadFile(path, atomicfile.Options{MaxSize: maxState})
	if err != nil {
		return State{}, fmt.Errorf("task: state: %w", err)
	}
	object, err := jsonobj.Parse(data)
	if err != nil {
		if bad, ok := errors.AsType[*jsonobj.Error](err); ok {
			return State{}, &CorruptError{Path: path, Offset: bad.Offset, Why: bad.Why}
		}
		return State{}, fmt.Errorf("task: state: %w", err)
	}
	var s State
	if wrong := jsonobj.Read(object, stateFields, &s); len(wrong) > 0 {
		return State{}, &CorruptError{Path: path, Why: wrong[0].Key + " " + wrong[0].Why}
	}
	if s.Metrics, err = readMetrics(object); err != nil {
		return State{}, &CorruptError{Path: path, Why: err.Error()}
	}
	return s, nil
}

func readMetrics(state *jsonobj.Object) (*Metrics, error) {
	raw, ok := state.Get("metrics")
	if !ok || jsonobj.TypeOf(raw) == "null" {
		return nil, nil
	}
	object, err := jsonobj.Parse(raw)
	if err != nil {
		return nil, errors.New("metrics is " + jsonobj.TypeOf(raw) + ", want object")
	}
	var m Metrics
	for key, into := range map[string]any{
		"tokens_used": &m.TokensUsed, "tasks_completed": &m.TasksCompleted, "avg_response_time": &m.AvgResponseTime,
	} {
		if raw, ok := object.Get(key); ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return nil, errors.New("metrics." + key + " is " + string(jsonobj.TypeOf(raw)) + ", want number")
			}
		}
	}
	return &m, nil
}
