package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/protocol"
)

type taskListFlags struct{ all, tree bool }

func taskListCmd(a *app.App) *cobra.Command {
	var f taskListFlags
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the tasks: as a tree on a terminal, one a line elsewhere",
		Long: `List the tasks, on a terminal as a tree of what blocks what; of several teams, of which
none is chosen, those of each. --json: {"tasks":[{"team","id","subject","owner","status",
"state","blocked_by","blocked","waits_for","note"}]}; waits_for has the open tasks of
blocked_by.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return taskList(cmd.Context(), a, f) },
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "also the tasks that Claude Code keeps for itself")
	cmd.Flags().BoolVar(&f.tree, "tree", false, "print the tree also without a terminal")
	return cmd
}

func taskList(ctx context.Context, a *app.App, f taskListFlags) error {
	op, of, err := a.TeamsOf(ctx, a.TaskTeamRead)
	if err != nil {
		return err
	}
	var ls []*board.TaskList
	var errs error // a team that cannot be read does not hide the others
	for _, name := range of {
		l, err := board.Of(op).Tasks(ctx, name, f.all)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("team %s: %w", name, err))
			continue
		}
		a.Notes(l.Problems)
		if l.Hidden > 0 {
			a.Notes([]string{fmt.Sprintf("%d tasks that Claude Code keeps for itself are hidden: --all shows them", l.Hidden)})
		}
		ls = append(ls, l)
	}
	if a.Flags.JSON && len(ls) > 0 {
		return errors.Join(errs, a.Document(view.Tasks(a.StepsOf, ls...)))
	}
	for i, l := range ls {
		if len(of) > 1 {
			a.Say("%s%s", strings.Repeat("\n", min(i, 1)), app.Bold(string(l.Team)))
		}
		sayTasks(a, l, f)
	}
	return errs
}

// sayTasks prints the list of one team.
func sayTasks(a *app.App, l *board.TaskList, f taskListFlags) {
	name := l.Team
	if len(l.Tasks) == 0 {
		a.Talk("team %s has no tasks", name)
		a.Talk("%s waggle task add SUBJECT%s", app.Faint("next:"), a.Scope(name))
		return
	}
	page := view.TasksPage
	if f.tree || app.Tty(a.Out) {
		page = view.TaskTreePage
	}
	a.ShowPage(page(l, a.StepsOf(name)), name, nil)
	a.Talk("%s", view.TaskCount(l))
}

func taskShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a task whole",
		Long: `Show a task whole. --json: {"task"} with the fields of task list and "description",
"active_form","blocks","metadata","order":{"member","seq","at","by","sent","sha256"};
order is null when no member has an order of waggle for it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.EachTeam(cmd.Context(), a.TaskTeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				d, err := board.Of(op).Task(cmd.Context(), name, taskID(args[0]))
				if err != nil {
					return app.Output{}, err
				}
				return app.Output{Doc: page.Told{Doc: map[string]any{"task": d}, Spell: a.StepsOf(name)}, Page: view.TaskPage(d, a.Clock(), a.StepsOf(name))}, nil
			})
		},
	}
}
