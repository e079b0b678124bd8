package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"waggle/internal/atomicfile"
	"waggle/operator"
	"waggle/task"
	"waggle/team"
)

// Completion reads files and never fails: no names is a fine answer.

func (a *App) completeTeams(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	op, err := a.op()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := op.Root.Names()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *App) completeMembers(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, name, err := a.team()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	reg, err := team.Open(op.Root, name, atomicfile.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := reg.Load(context.Background())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, m := range cfg.Members {
		if !m.Gone() {
			out = append(out, string(m.Name)+"\t"+m.AgentType)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeTasks offers the ids of tasks that are not completed.
func (a *App) completeTasks(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, name, err := a.taskTeam()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := task.Open(op.Root.TasksDir(name), name, atomicfile.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	tasks, _, err := list.All(context.Background())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, t := range tasks {
		if t.Status != task.Deleted && t.Status != task.Completed && !t.Internal() && !slices.Contains(args, string(t.ID)) {
			out = append(out, string(t.ID)+"\t"+operator.Visible(t.Subject))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRequests offers the ids of open questions.
func (a *App) completeRequests(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, name, err := a.team()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := op.State(context.Background(), name)
	if err != nil || s == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, r := range s.Lead.Pending() {
		out = append(out, string(r.ID)+"\t"+r.Ask.Tool)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
