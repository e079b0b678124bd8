package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"waggle/internal/view"
	"waggle/operator/board"
)

type taskListFlags struct{ all, tree bool }

func taskListCmd(a *App) *cobra.Command {
	var f taskListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tasks: as a tree on a terminal, one a line elsewhere",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.taskList(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "also the tasks that Claude Code keeps for itself")
	cmd.Flags().BoolVar(&f.tree, "tree", false, "the tree, also where there is no terminal")
	return cmd
}

func (a *App) taskList(ctx context.Context, f taskListFlags) error {
	op, name, err := a.taskTeam()
	if err != nil {
		return err
	}
	l, err := board.Of(op).Tasks(ctx, name, f.all)
	if err != nil {
		return err
	}
	a.notes(l.Problems)
	if l.Hidden > 0 {
		a.notes([]string{fmt.Sprintf("%d tasks that Claude Code keeps for itself are hidden: --all shows them", l.Hidden)})
	}
	if a.flags.json {
		return a.document(view.Tasks(l, stepText))
	}
	if len(l.Tasks) == 0 {
		a.talk("team %s has no tasks", name)
		a.talk("%s waggle task add SUBJECT%s", faint("next:"), a.scope(name))
		return nil
	}
	page := view.TasksPage
	if f.tree || tty(a.Out) {
		page = view.TaskTreePage
	}
	a.show(page(l, stepText), name, nil)
	a.talk("%s", view.TaskCount(l))
	return nil
}

func taskShowCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a task whole",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.taskTeam()
			if err != nil {
				return err
			}
			d, err := board.Of(op).Task(cmd.Context(), name, taskID(args[0]))
			if err != nil {
				return err
			}
			return a.give(view.OneTask(d, stepText), view.TaskPage(d, stepText))
		},
	}
}
