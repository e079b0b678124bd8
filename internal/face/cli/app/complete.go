package app

import (
	"context"
	"slices"
	"strconv"
	"strings"

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

// offer is the words that completion offers behind some arguments. It reads files and never fails: on an error it offers
// none.
type offer func(a *App, args []string) []string

// offers are what commands offer for their arguments, by their paths without "waggle".
var offers = []struct {
	offer    offer
	commands string
}{
	{(*App).hosts, "net allow, net deny, net revoke"},
	{(*App).members, "attach, budget set, compare, diff, inbox, logs, merge, net list, open, path, peek, policy list, pr, repair, review, " +
		"sandbox test, send, shell, stop, take, team remove, wait, why"},
	{(*App).memberAndMode, "mode"},
	{(*App).past, "audit export, audit query, audit verify, log, recap"},
	{(*App).plans, "plan approve, plan diff, plan escalate, plan reject, plan show"},
	{(*App).requests, "answer, approve, audit show, deny, policy explain, show"},
	{(*App).rules, "policy rm"},
	{(*App).taskAndMember, "task assign"},
	{(*App).tasks, "task block, task claim, task done, task release, task rm, task show, task start, task unblock"},
	{(*App).teams, "detach, down, gc, resume, status, team backup, team delete, team export, team migrate, team show, team validate"},
}

// flagOffers are what flags offer, unless their command has its own words for them.
var flagOffers = map[string]offer{
	"after": (*App).tasks, "as": (*App).members, "before": (*App).tasks, "for": (*App).members, "owner": (*App).members, "permission-mode": (*App).modes,
	"team": (*App).teams,
}

// Complete gives a command of this path the completion of its arguments and flags.
func (a *App) Complete(cmd *cobra.Command, path string) {
	for _, o := range offers {
		if strings.Contains(", "+o.commands+",", ", "+path+",") {
			cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return o.offer(a, args), cobra.ShellCompDirectiveNoFileComp
			}
		}
	}
	for name, of := range flagOffers {
		if cmd.Flags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
			continue // not cmd.Flag, which collects the flags of all commands above at each call
		}
		if _, has := cmd.GetFlagCompletionFunc(name); !has {
			Must(cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return of(a, nil), cobra.ShellCompDirectiveNoFileComp
			}))
		}
	}
}

// OneOf has a flag of a command complete words.
func OneOf(cmd *cobra.Command, flag string, words ...string) {
	Must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// offered are the words of all things.
func offered[T any](things []T, words func(T) []string) (all []string) {
	for _, t := range things {
		all = append(all, words(t)...)
	}
	return all
}

func (a *App) teams([]string) []string {
	op, err := a.Op()
	if err != nil {
		return nil
	}
	names, _ := op.Root.Names()
	return protocol.Strings(names)
}

func (a *App) members(args []string) []string {
	op, name, err := a.pick()
	if err != nil || len(args) > 0 {
		return nil
	}
	members, _ := inspect.Of(op).Listed(context.Background(), name)
	return offered(members, func(m team.Member) []string { return []string{string(m.Name) + "\t" + m.AgentType} })
}

// tasks are the ids of tasks that are not completed.
func (a *App) tasks(args []string) []string {
	op, name, err := a.pickTasks()
	if err != nil {
		return nil
	}
	tasks, _ := board.Of(op).OpenTasks(context.Background(), name)
	return offered(tasks, func(t task.Task) []string {
		if slices.Contains(args, string(t.ID)) {
			return nil
		}
		return []string{string(t.ID) + "\t" + operator.Visible(t.Subject)}
	})
}

func (a *App) taskAndMember(args []string) []string {
	if len(args) == 1 {
		return a.members(nil)
	}
	return a.tasks(args)
}

// requests are the ids of open questions.
func (a *App) requests([]string) []string {
	return offered(a.openQuestions(), func(q decide.Request) []string {
		return []string{view.RequestID(q) + "\t" + operator.Visible(q.Member+" "+q.Tool)}
	})
}

// plans are the open plans and their members.
func (a *App) plans([]string) []string {
	return offered(a.openQuestions(), func(q decide.Request) []string {
		if q.Plan == "" {
			return nil
		}
		return []string{q.Member + "\trevision " + strconv.Itoa(q.Revision), q.ID + "\t" + q.Member}
	})
}

// hosts are those of open requests.
func (a *App) hosts(args []string) []string {
	return offered(a.openQuestions(), func(q decide.Request) []string {
		if q.Host == "" || len(args) > 0 {
			return nil
		}
		return []string{q.ID + "\t" + operator.Visible(q.Member+" "+decide.ShownHost(q.Host, q.Port))}
	})
}

func (a *App) modes([]string) []string {
	return offered(policy.Modes(), func(m policy.ModeInfo) []string { return []string{string(m.Mode) + "\t" + m.Meaning} })
}

func (a *App) memberAndMode(args []string) []string {
	if len(args) == 0 {
		return a.members(nil)
	}
	return a.modes(nil)
}

// rules are those in force.
func (a *App) rules(args []string) []string {
	op, name, err := a.pick()
	if err != nil || len(args) > 0 {
		return nil
	}
	return decide.Of(op).Rules(context.Background(), name)
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

// past are the present and past teams.
func (a *App) past(args []string) []string {
	op, err := a.Op()
	if err != nil || len(args) > 0 {
		return nil
	}
	names, _ := inspect.Of(op).PastNames()
	return offered(names, func(n inspect.Named) []string {
		of := []string{n.ID + "\tof " + n.Opened, n.Name}
		return slices.DeleteFunc(of, func(word string) bool { return word == "" })
	})
}
