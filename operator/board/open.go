package board

import (
	"context"

	"waggle/protocol"
	"waggle/task"
)

// OpenTasks returns the unfinished tasks of a list, without those that another program keeps for itself.
// A list may exist without its team.
func (o Operator) OpenTasks(ctx context.Context, name protocol.TeamName) ([]task.Task, error) {
	list, err := task.Open(o.Root.TasksDir(name), name, task.Options{})
	if err != nil {
		return nil, err
	}
	all, _, err := list.All(ctx)
	if err != nil {
		return nil, err
	}
	var out []task.Task
	for _, t := range all {
		if t.Status != task.Deleted && t.Status != task.Completed && !t.Internal() {
			out = append(out, t)
		}
	}
	return out, nil
}
