package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/protocol"
	"waggle/task"
)

func taskCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "The team's shared task list",
		Long: `The team's shared task list: the files that Claude Code's own task tools use.

An assignment to a member that waggle runs is an order in the leader's journal, and the
member does the task. For other programs the list is a board and orders nothing. A task
waits until the tasks that block it are completed. --json is as for task list.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return taskList(cmd.Context(), a, taskListFlags{}) },
	}
	cmd.AddCommand(taskListCmd(a), taskShowCmd(a), taskAddCmd(a), taskAssignCmd(a), taskClaimCmd(a), taskStartCmd(a), taskDoneCmd(a),
		taskReleaseCmd(a), taskBlockCmd(a), taskUnblockCmd(a), taskRmCmd(a), taskArtifactsCmd(a))
	return cmd
}

// taskID reads an id as people write it: 3 or #3.
func taskID(s string) task.ID { return task.ID(strings.TrimPrefix(s, "#")) }

func taskIDs(in []string) []task.ID {
	var out []task.ID
	for _, s := range in {
		out = append(out, taskID(s))
	}
	return out
}

// member reads a member's name.
func member(op, s string) (protocol.MemberName, error) {
	if strings.EqualFold(s, "lead") {
		return protocol.Lead, nil
	}
	m, err := protocol.ParseMember(s)
	if err != nil {
		return "", &operator.Error{Kind: operator.Usage, Op: op, Err: err}
	}
	return m, nil
}

// owner returns --as, "" when it is not given.
func owner(a *app.App, op string) (protocol.MemberName, error) {
	if a.Flags.As == "" {
		return "", nil
	}
	return member(op, a.Flags.As)
}

// told is a document whose steps name the team that --team does.
func told(a *app.App, doc any) page.Told {
	return page.Told{Doc: doc, Spell: a.StepsOf(protocol.TeamName(a.Flags.Team))}
}

// sayTask prints the result of a step on a task.
func sayTask(a *app.App, r *board.TaskResult, err error, did view.TaskStep) error {
	if err != nil {
		return err
	}
	if err := a.Give(told(a, r), view.TaskResultPage(r, did)); err != nil || a.Flags.JSON {
		return err
	}
	if waits := view.TaskWaits(r); waits != "" {
		a.Talk("%s", operator.Visible(waits))
	}
	return nil
}

// terms adds the flags of an order.
func terms(cmd *cobra.Command, t *board.Terms) {
	f := cmd.Flags()
	cmd.Flags().BoolVar(&t.Plan, "require-plan", false, "the owner's plan must be approved first")
	f.DurationVar(&t.Timeout, "timeout", 0, "end the owner's work on it after this time")
	f.StringVar(&t.Cwd, "cwd", "", "directory to work in, from the owner's own")
	f.Var(checkFlag{&t.Check}, "check", "command that must succeed there before the task is done")
}

func taskAddCmd(a *app.App) *cobra.Command {
	var n board.NewTask
	var owner string
	var after, before []string
	cmd := &cobra.Command{
		Use:   "add SUBJECT",
		Short: "Add a task to the list, and assign it with --owner",
		Long: `Add a task to the list. With --owner it is assigned too, as by waggle task assign. For an
exec member without a command of its own, the instructions are the command; '-' reads them
from stdin. --json: {"task","changed","ordered"}; task is as for task list.`,
		RunE: app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) (err error) {
			n.Typed = n.Description != "-"
			n.Subject, n.After, n.Before, n.Terms.As = args[0], taskIDs(after), taskIDs(before), a.Flags.As
			if n.Description == "-" {
				b, err := io.ReadAll(io.LimitReader(a.In, protocol.MaxText+1))
				if err != nil {
					return err
				}
				n.Description = string(b)
			}
			if owner != "" {
				if n.Owner, err = member("task add", owner); err != nil {
					return err
				}
			}
			r, err := board.Of(op).AddTask(ctx, name, n)
			return sayTask(a, r, err, view.TaskAdded)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&n.Description, "instructions", "i", "", "what to do")
	f.StringVar(&n.ActiveForm, "active-form", "", "text to show while it is in progress: Running the tests")
	f.StringVar(&owner, "owner", "", "assign it to this member")
	f.StringSliceVar(&after, "after", nil, "ids of tasks that block it")
	f.StringSliceVar(&before, "before", nil, "ids of tasks that it blocks")
	terms(cmd, &n.Terms)
	return cmd
}

func taskAssignCmd(a *app.App) *cobra.Command {
	var t board.Terms
	cmd := &cobra.Command{
		Use:   "assign ID MEMBER",
		Short: "Assign a task to a member",
		Long: `Assign a task to a member. A member that waggle runs gets an order in the leader's
journal, and does the task when it is idle and nothing blocks the task; any other member
gets a task_assignment in its mailbox. A task that a member is working on keeps its
owner. A failed task runs again when you assign it again. What no flag sets (directory,
timeout, plan, check) stays as it was ordered before. --json is as for task add.`,
		RunE: app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			to, err := member("task assign", args[1])
			if err != nil {
				return err
			}
			t.As = a.Flags.As
			r, err := board.Of(op).AssignTask(ctx, name, taskID(args[0]), to, t)
			return sayTask(a, r, err, view.TaskAssigned)
		}),
	}
	terms(cmd, &t)
	return cmd
}

func taskClaimCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "claim [ID] --as NAME",
		Short: "Claim a task without an owner, in a member's name",
		Long: `Make a member the owner of a task without an owner, and set the task in progress;
without ID the first available one. When several members claim a task, one gets
it. A claim is refused with the reason: task_not_found, already_claimed, already_resolved,
blocked, agent_busy (a member has one task in progress at a time), delisted (it has left
the team). A member that runs only orders cannot claim: assign the task. --json is as for
task add.`,
		RunE: app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			as, err := owner(a, "task claim")
			if err == nil && as == "" {
				err = &operator.Error{Kind: operator.Usage, Op: "task claim", Msg: "a claim needs the name of a member", Advice: "--as NAME"}
			}
			if err != nil {
				return err
			}
			id := task.ID("")
			if len(args) > 0 {
				id = taskID(args[0])
			}
			r, err := board.Of(op).ClaimTask(ctx, name, id, as)
			return sayTask(a, r, err, view.TaskClaimed)
		}),
	}
}

func taskStartCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "start ID",
		Short: "Set a task in progress, for its owner or --as",
		Long:  `Set a task in progress, for its owner or --as. --json is as for task add.`,
		RunE:  taskStep(a, "task start", board.Operator.StartTask),
	}
}

func taskDoneCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "done ID",
		Short: "Set a task completed, for its owner or --as",
		Long: `Set a task completed, for its owner or --as. This changes only the list: a run counts a
task as completed when its owner's journal says so. --json is as for task add.`,
		RunE: taskStep(a, "task done", board.Operator.FinishTask),
	}
}

func taskBlockCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "block ID BLOCKER...",
		Short: "Make a task wait for others",
		Long: `Make a task wait for others. Tasks that would wait for each other are refused. --json is
as for task add.`,
		RunE: app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			r, err := board.Of(op).BlockTask(ctx, name, taskID(args[0]), taskIDs(args[1:]), nil, false)
			return sayLinks(a, r, err)
		}),
	}
}

func taskUnblockCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "unblock ID [BLOCKER...]",
		Short: "Remove blockers of a task, or all of them",
		Long: `Remove the named blockers of a task, or without names all of them. --json is as for task
add.`,
		RunE: app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			r, err := board.Of(op).BlockTask(ctx, name, taskID(args[0]), nil, taskIDs(args[1:]), len(args) == 1)
			return sayLinks(a, r, err)
		}),
	}
}

func sayLinks(a *app.App, r *board.TaskResult, err error) error {
	if err != nil {
		return err
	}
	return a.Give(told(a, r), view.TaskLinksPage(r))
}

func taskReleaseCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release ID... | NAME",
		Short: "Release tasks: pending, without an owner",
		Long: `Release tasks: set them pending, without an owner. With NAME, release every unfinished
task of that member, which has ended; waggle does that itself for members that it runs,
when their process is gone. A task that a member is working on keeps its owner. --json:
{"released":[ID]}.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("name tasks, or a member")
			}
			return nil
		},
		RunE: app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			if len(args) == 1 && strings.Trim(args[0], "#0123456789") != "" {
				return taskReleaseOf(ctx, a, board.Of(op), name, args[0])
			}
			return taskRelease(ctx, a, board.Of(op), name, args)
		}),
	}
	return cmd
}

func taskReleaseOf(ctx context.Context, a *app.App, b board.Operator, name protocol.TeamName, of string) error {
	who, err := member("task release", of)
	if err != nil {
		return err
	}
	ids, err := b.ReleaseAll(ctx, name, who)
	if err != nil {
		return err
	}
	if len(ids) == 0 && !a.Flags.JSON {
		a.Talk("%s has no unfinished task", operator.Visible(string(who)))
	}
	return a.Give(map[string]any{"released": ids}, view.ReleasedPage(ids))
}

func taskRmCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "rm ID...",
		Aliases: []string{"remove"},
		Short:   "Remove tasks; their ids are not used again",
		Long: `Remove tasks. Their ids are not used again, and the tasks that they blocked are not
blocked by them any more. A task that a member is working on is not removed. --json:
{"removed":[ID]}.`,
		RunE: app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) (err error) {
			var gone []task.ID
			for _, s := range args {
				if err = board.Of(op).RemoveTask(ctx, name, taskID(s)); err != nil {
					break
				}
				gone = append(gone, taskID(s))
			}
			if len(gone) == 0 {
				return err
			}
			return errors.Join(err, a.Give(map[string]any{"removed": gone}, view.RemovedPage(gone)))
		}),
	}
}

// taskStep is a command that takes a step of a task's owner.
func taskStep(a *app.App, name string,
	do func(board.Operator, context.Context, protocol.TeamName, task.ID, protocol.MemberName) (*board.TaskResult, error)) func(*cobra.Command, []string) error {
	return app.InTeam(a.TaskTeam, func(ctx context.Context, op operator.Operator, team protocol.TeamName, args []string) error {
		as, err := owner(a, name)
		if err != nil {
			return err
		}
		r, err := do(board.Of(op), ctx, team, taskID(args[0]), as)
		return sayTask(a, r, err, view.TaskMoved)
	})
}

// taskRelease releases several tasks, up to the first error.
func taskRelease(ctx context.Context, a *app.App, b board.Operator, name protocol.TeamName, args []string) (err error) {
	var results []*board.TaskResult
	for _, s := range args {
		var r *board.TaskResult
		if r, err = b.ReleaseTask(ctx, name, taskID(s)); err != nil {
			break
		}
		results = append(results, r)
	}
	if a.Flags.JSON && len(results) > 0 {
		return errors.Join(err, a.Document(told(a, map[string]any{"results": results})))
	}
	for _, r := range results {
		if serr := sayTask(a, r, nil, view.TaskReleased); serr != nil {
			return serr
		}
	}
	return err
}
