package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/atomicfile"
	"waggle/operator"
	"waggle/task"
)

// taskRow is one task as `task list` shows it (DESIGN).
type taskRow struct {
	ID        task.ID     `json:"id"`
	Subject   string      `json:"subject"`
	Owner     string      `json:"owner"`
	Status    task.Status `json:"status"`
	BlockedBy []task.ID   `json:"blocked_by"`
	Blocked   bool        `json:"blocked"`
}

func taskCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "The team's shared task list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.taskList(cmd) }}
	cmd.AddCommand(&cobra.Command{Use: "list", Short: "List the tasks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.taskList(cmd) }})
	return cmd
}

func (a *App) taskList(cmd *cobra.Command) error {
	op, name, err := a.team()
	if err != nil {
		return err
	}
	list, err := task.Open(op.Root.TasksDir(name), name, atomicfile.Options{})
	if err != nil {
		return err
	}
	tasks, problems, err := list.All(cmd.Context())
	if err != nil {
		return err
	}
	for _, p := range problems {
		a.talk("%s %s", yellow("note:"), operator.Visible(p))
	}
	rows := []taskRow{}
	var cells [][]string
	for _, t := range tasks {
		blockers := task.Blocked(t, tasks)
		r := taskRow{ID: t.ID, Subject: t.Subject, Owner: t.Owner, Status: t.Status, BlockedBy: append([]task.ID{}, blockers...), Blocked: len(blockers) > 0}
		rows = append(rows, r)
		by := make([]string, len(blockers))
		for i, b := range blockers {
			by[i] = string(b)
		}
		cells = append(cells, []string{string(r.ID), string(r.Status), r.Owner, r.Subject, strings.Join(by, " ")})
	}
	if a.flags.json {
		return a.document(map[string]any{"tasks": rows})
	}
	if len(rows) == 0 {
		a.talk("team %s has no tasks", name)
		return nil
	}
	a.table([]string{"ID", "STATUS", "OWNER", "SUBJECT", "BLOCKED BY"}, cells)
	return nil
}
