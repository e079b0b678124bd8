package app

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/protocol"
	"waggle/task"
	"waggle/team"
)

// Completion reads files and never fails: on an error it offers no names.

// offered are the words of all things.
func offered[T any](things []T, words func(T) []string) (all []string, _ cobra.ShellCompDirective) {
	for _, t := range things {
		all = append(all, words(t)...)
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func (a *App) CompleteTeams(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	op, err := a.Op()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := op.Root.Names()
	return protocol.Strings(names), cobra.ShellCompDirectiveNoFileComp
}

func (a *App) CompleteMembers(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, name, err := a.pick()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	members, _ := inspect.Of(op).Listed(context.Background(), name)
	return offered(members, func(m team.Member) []string { return []string{string(m.Name) + "\t" + m.AgentType} })
}

// CompleteTasks offers the ids of tasks that are not completed.
func (a *App) CompleteTasks(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, name, err := a.pickTasks()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	tasks, _ := board.Of(op).OpenTasks(context.Background(), name)
	return offered(tasks, func(t task.Task) []string {
		if slices.Contains(args, string(t.ID)) {
			return nil
		}
		return []string{string(t.ID) + "\t" + operator.Visible(t.Subject)}
	})
}

// CompleteRequests offers the ids of open questions.
func (a *App) CompleteRequests(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return offered(a.openQuestions(), func(q decide.Request) []string {
		return []string{view.RequestID(q) + "\t" + operator.Visible(q.Member+" "+q.Tool)}
	})
}

// CompletePlans offers the open plans and their members.
func (a *App) CompletePlans(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return offered(a.openQuestions(), func(q decide.Request) []string {
		if q.Plan == "" {
			return nil
		}
		return []string{q.Member + "\trevision " + strconv.Itoa(q.Revision), q.ID + "\t" + q.Member}
	})
}

// CompleteHosts offers the hosts of open requests.
func (a *App) CompleteHosts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return offered(a.openQuestions(), func(q decide.Request) []string {
		if q.Host == "" || len(args) > 0 {
			return nil
		}
		return []string{q.ID + "\t" + operator.Visible(q.Member+" "+decide.ShownHost(q.Host, q.Port))}
	})
}

// CompleteModes offers members, then modes.
func (a *App) CompleteModes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.CompleteMembers(cmd, args, word)
	}
	return offered(policy.Modes(), func(m policy.ModeInfo) []string { return []string{string(m.Mode) + "\t" + m.Meaning} })
}

// CompleteRules offers the rules in force.
func (a *App) CompleteRules(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, name, err := a.pick()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return decide.Of(op).Rules(context.Background(), name), cobra.ShellCompDirectiveNoFileComp
}

func (a *App) openQuestions() []decide.Request {
	op, err := a.Op()
	if err != nil {
		return nil
	}
	name, err := op.Pick(a.Flags.Team)
	if err != nil {
		name = "" // sessions can be read without a team
	}
	return decide.Of(op).OpenRequests(context.Background(), name, a.Flags.Team == "")
}

// CompletePast offers the present and past teams.
func (a *App) CompletePast(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, err := a.Op()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := inspect.Of(op).PastNames()
	var out []string
	for _, n := range names {
		out = append(out, n.ID+"\tof "+n.Opened)
		if n.Name != "" {
			out = append(out, n.Name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
