package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/policy"
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
	reg, err := team.Open(op.Root, name, team.Options{})
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
	list, err := task.Open(op.Root.TasksDir(name), name, task.Options{})
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
func (a *App) completeRequests(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, q := range a.openQuestions() {
		out = append(out, idOf(q)+"\t"+operator.Visible(q.Member+" "+q.Tool))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completePlans offers the open plans and those who made them.
func (a *App) completePlans(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, q := range a.openQuestions() {
		if q.Plan != "" {
			out = append(out, q.Member+"\trevision "+strconv.Itoa(q.Revision), q.ID+"\t"+q.Member)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeHosts offers the hosts that are asked for.
func (a *App) completeHosts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, q := range a.openQuestions() {
		if q.Host != "" && len(args) == 0 {
			out = append(out, q.ID+"\t"+operator.Visible(q.Member+" "+decide.ShownHost(q.Host, q.Port)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeModes offers members, then modes.
func (a *App) completeModes(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeMembers(cmd, args, word)
	}
	var out []string
	for _, m := range policy.Modes() {
		out = append(out, string(m.Mode)+"\t"+m.Meaning)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRules offers the rules that hold.
func (a *App) completeRules(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	s := a.openState()
	if s == nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, r := range append(slices.Clone(s.Lead.Policy.Policy.Allow), s.Lead.Policy.Policy.Deny...) {
		out = append(out, r.String())
	}
	for _, r := range s.Lead.Policy.Rules {
		out = append(out, r.Rule.String())
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// openState reads the team's journal, nil when there is none.
func (a *App) openState() *operator.State {
	op, name, err := a.team()
	if err != nil {
		return nil
	}
	s, err := op.State(context.Background(), name)
	if err != nil {
		return nil
	}
	return s
}

func (a *App) openQuestions() []decide.Question {
	op, err := a.op()
	if err != nil {
		return nil
	}
	var qs []decide.Question
	if s := a.openState(); s != nil {
		for _, r := range s.Lead.Pending() {
			qs = append(qs, decide.Of(op).Question(s, r))
		}
	}
	if a.flags.team == "" {
		_, open, _ := decide.Of(op).Sessions() // what cannot be read is offered by nobody
		qs = append(qs, open...)
	}
	return qs
}

// completePast offers the teams that are or were.
func (a *App) completePast(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	op, err := a.op()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	known, err := inspect.Of(op).PastTeams()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, k := range known {
		if k.Broken != nil {
			continue
		}
		out = append(out, k.ID()+"\tof "+k.Opened)
		if k.Root == op.RootURL && !slices.Contains(out, string(k.Team)) {
			out = append(out, string(k.Team))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
