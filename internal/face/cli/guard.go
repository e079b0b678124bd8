package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/protocol"
)

// act says in whose name a command acts, and so who may give it from inside of an agent (trust §8).
type act int

const (
	readsOnly     act = iota + 1 // changes nothing of waggle's: free everywhere
	actsAsMember                 // of the member or session that gives it; the command itself says what that one may do
	actsInOwnTeam                // of a member, in its own team
	ofWaggle                     // waggle itself starts it
	operates                     // of the operator alone
)

// acts has every command of the tree.
var acts = rowsOf(map[act]string{
	readsOnly: `
		waggle, audit, audit export, audit query, audit show, audit verify, away, bench, budget, compare, completion,
		completion bash, completion fish, completion zsh,
		demo, diff, doctor, hooks, hooks show, init, log, logs, mode, msg, msg list, msg show, net, net
		list, net pending, notify, path, peek, pending, plan, plan diff, plan list, plan show, policy, policy
		explain, policy list, policy sessions, policy suggest, policy test, protocol, protocol decode,
		protocol encode, protocol kinds, protocol schema, recap, sandbox, sandbox explain, sandbox run, sandbox
		test, show, skill, status, task, task artifacts, task list, task show, team, team backup, team
		export, team list, team show, team validate, top, version, wait, why`,
	actsAsMember: `
		guest, hook, inbox, join, mcp, send`,
	actsInOwnTeam: `
		task add, task assign, task block, task claim, task done, task release, task rm, task start, task
		unblock`,
	ofWaggle: `
		begin, hold, lead, worker`,
	operates: `
		adopt, answer, approve, attach, away off, away on, bridge, budget set, deny,
		detach, doctor agent, down, gc, hooks install, hooks uninstall, merge, msg withdraw, net allow, net
		deny, net revoke, new, notify off, notify on, notify test, plan approve, plan escalate, plan reject,
		open, shell, policy add, policy rm, policy sandboxed, policy sessions add, policy sessions off, policy sessions
		on, policy sessions rm, pr, repair, resume, review, run, serve, spawn, stop, take, team add, team create,
		team delete, team migrate, team remove, team restore, team token, undo, uninstall, up`,
})

// rowsOf makes a table of lists of commands.
func rowsOf(lists map[act]string) map[string]act {
	rows := map[string]act{}
	for act, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			rows[strings.Join(strings.Fields(name), " ")] = act
		}
	}
	return rows
}

// withArguments are commands that read without arguments and are the operator's with some.
var withArguments = map[string]bool{"mode": true}

// guarded makes a command refuse, before it does anything, what it may not do inside of a member or a session.
func guarded(a *app.App, cmd *cobra.Command) {
	name, run := nameOf(cmd), cmd.RunE
	if act := acts[name]; run != nil && (act == operates || act == actsInOwnTeam || withArguments[name]) {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if act == readsOnly && len(args) == 0 {
				return run(cmd, args)
			}
			if on, _ := cmd.Flags().GetBool(proposeFlag); on { // of waggle new: it only puts a task before the operator
				return run(cmd, args)
			}
			if err := guard(cmd.Context(), a, name, args); err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
}

// nameOf is a command's path below the program; the program's own name for the program itself.
func nameOf(cmd *cobra.Command) string {
	_, below, ok := strings.Cut(cmd.CommandPath(), " ")
	if !ok {
		return cmd.Name()
	}
	return below
}

// guard refuses a command that an agent's process gives (operator.Guard). The refusal is on record in the team that the
// command names by --team or in its first argument, else in the default team.
func guard(ctx context.Context, a *app.App, name string, args []string) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	s := about(ctx, op, a.Flags.Team, args)
	if acts[name] == actsInOwnTeam && s != nil {
		if ms, err := op.Callers(s); len(ms) > 0 || err != nil {
			return err
		}
	}
	return op.Guard(ctx, s, name)
}

// about returns the team that a command is about; nil where there is none that can be opened.
func about(ctx context.Context, op operator.Operator, team string, args []string) *operator.State {
	for _, of := range append(slices.Clone(args[:min(len(args), 1)]), team) {
		name, err := op.Pick(of)
		if err != nil || of != "" && name != protocol.TeamName(of) {
			continue
		}
		if s, err := op.Open(ctx, name, operator.Act); err == nil {
			return s
		}
	}
	return nil
}
